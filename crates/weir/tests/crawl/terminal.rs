//! Output of `weir crawl` and `weir demo`, and help texts.

use std::fs;

use simweb::{Endpoints, PageRef, Settings, SimWeb};

use crate::process::{Collection, run};

#[test]
fn a_crawl_prints_a_json_summary() {
    let settings = Settings { sites: 10, pages: 200, ..Settings::plain() };
    let web = SimWeb::start(settings, &Endpoints::default()).unwrap();
    let collection = Collection::of_web(&web, "[politeness]\ndelay = '1ms'\nlarge_site_delay = '1ms'\n");
    let output = run(&["crawl", &collection.dir(), "--json"]);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.status.code(), err.as_ref()), (Some(0), ""), "{out}");
    let summary: serde_json::Value = serde_json::from_str(&out).unwrap();
    for name in ["pages_known", "pages_fetched", "sites_known", "warc_bytes", "links", "last_batch"] {
        assert!(summary[name].as_u64().unwrap() > 0, "{name}: {summary}");
    }
    for name in ["seconds", "cpu_seconds", "pages_per_second"] {
        assert!(summary[name].as_f64().unwrap() > 0.0, "{name}: {summary}");
    }
    assert!(summary["pages_fetched"].as_u64().unwrap() > 100, "{summary}");
    assert_eq!(
        (&summary["pages_queued"], &summary["stopped_early"]),
        (&0.into(), &false.into()),
        "{summary}"
    );

    let report = collection.why(&web.world.url(PageRef { site: 0, page: 0 }));
    let found = (report["stage"].as_str(), report["fetches"][0]["status"].as_u64());
    assert_eq!(found, (Some("fetched"), Some(200)));
}

#[test]
fn the_demo_creates_a_collection_and_replaces_only_a_demo() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("c").into_os_string().into_string().unwrap();
    let arguments = ["demo", &dir, "--sites", "10", "--pages", "100"];
    let first = run(&arguments);
    let out = String::from_utf8_lossy(&first.stdout);
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    assert!(out.contains("in the text index") && out.contains(" results in "), "{out}");
    let err = String::from_utf8_lossy(&first.stderr);
    assert!(err.starts_with("dashboard: http://127.0.0.1:"), "{err}");
    assert!(out.contains("next steps:") && out.contains(&format!("weir status {dir}")), "{out}");
    let second = run(&[&arguments[..], &["--json"]].concat());
    let summary: serde_json::Value = serde_json::from_slice(&second.stdout).unwrap();
    assert!(summary["pages_fetched"].as_u64().unwrap() > 20, "{summary}");
    fs::remove_file(temp.path().join("c/demo")).unwrap();
    let third = run(&arguments);
    assert_eq!(third.status.code(), Some(2));
    let message = format!("weir: {dir} is not a demo; use an empty or new directory\n");
    assert_eq!(String::from_utf8_lossy(&third.stderr), message);
}

#[test]
fn help_lists_all_options() {
    let help = |command: &str| String::from_utf8(run(&[command, "-h"]).stdout).unwrap();
    insta::assert_snapshot!(help("crawl"), @r#"
    Fetch pages politely and follow their links

    Usage: weir crawl [OPTIONS] <DIR>

    Arguments:
      <DIR>  Collection directory

    Options:
          --max-batches <N>     Stop after N batches
          --max-pages <N>       Stop after N fetched pages
          --max-time <TIME>     Stop after this time: 90s, 30m, 2h
          --continuous          Run until stopped; revisit pages when they are due
          --contact <URL|MAIL>  Contact URL or e-mail address, sent in the User-Agent (default:
                                crawl.contact)
          --progress            Show progress on stderr also with --json
          --set <NAME=VALUE>    Use another value of a setting, such as politeness.delay=5s or
                                scope.accept=.example.org,.example.net; repeatable
          --workers <local:N>   Fetch in N worker processes on this machine; local:0 waits for workers
                                started by hand
          --i-have-permission   Confirm the permission to ignore robots.txt for the sites with robots =
                                "ignore"; needed once
          --index               Update the text index during the crawl
          --serve <ADDR>        Serve the dashboard and API at this address; port 0 picks a free port
          --token-file <FILE>   File with the access token that clients must send; required when
                                listening off loopback
          --tls-cert <FILE>     Certificate chain (PEM) to serve HTTPS
          --tls-key <FILE>      Private key of the certificate (PEM)
          --json                Print JSON, one object per line
      -h, --help                Print help

    Distributed crawl:
          --broker <URL>                 NATS server for batches: nats://HOST:PORT or tls://HOST:PORT
          --store <URL>                  Object store for harvested pages: s3://BUCKET/PREFIX or
                                         file:///DIR
          --broker-token-file <FILE>     File with the NATS token
          --broker-user <NAME>           NATS user name
          --broker-password-file <FILE>  File with the password of the NATS user
          --broker-credentials <FILE>    NATS credentials file written by nsc
          --broker-ca-file <FILE>        PEM file with CA certificates for the broker
          --collection <NAME>            Collection name at the broker (default: directory name)
          --lease <TIME>                 Lease of a batch: reassigned to another worker after this time
                                         without a heartbeat [default: 30s]
          --replicas <N>                 Number of NATS replicas [default: 1]

    Examples:
      weir crawl web                         until all pages are fetched
      weir crawl web --max-time 2h           for two hours; the next run continues
      weir crawl web --max-pages 1000 --json
      weir crawl web --continuous            until stopped; see crawl.max_requests_per_day in weir.toml
      weir crawl web --workers local:4       in four processes; other machines: docs/cluster.md
      weir crawl web --index --serve 127.0.0.1:9347    with text index and dashboard

    Ctrl-C or SIGTERM: finish requests in flight, commit and exit with code 130. Second signal: stop
    immediately. SIGHUP: reload weir.toml.
    "#);
    insta::assert_snapshot!(help("why"), @r"
    Explain why a URL was fetched or not

    Usage: weir why [OPTIONS] <DIR> <URL>

    Arguments:
      <DIR>  Collection directory
      <URL>  URL of the page; canonicalised before lookup

    Options:
          --snapshot <NAME>   Snapshot name or generation (default: last commit)
          --set <NAME=VALUE>  Use another value of a setting, such as politeness.delay=5s or
                              scope.accept=.example.org,.example.net; repeatable
          --json              Print JSON, one object per line
      -h, --help              Print help

    Examples:
      weir why web https://example.org/news/
      weir why web https://example.org/news/ --json | jq .reason

    A URL that is not in the collection is checked against the settings and searched in the rejected
    links.
    ");
}
