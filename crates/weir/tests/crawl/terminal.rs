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

    let story = collection.why(&web.world.url(PageRef { site: 0, page: 0 }));
    let found = (story["stage"].as_str(), story["fetches"][0]["status"].as_u64());
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
    insta::assert_snapshot!(help("crawl"), @r"
    Fetch pages, politely, and follow their links

    Usage: weir crawl [OPTIONS] <DIR>

    Arguments:
      <DIR>  The collection

    Options:
          --cycles <N>          Stop after so many batches of pages
          --pages <N>           Stop after so many pages
          --for <TIME>          Stop after this time: 90s, 30m, 2h
          --continuous          Never stop by itself: wait when nothing is due, and visit pages again to
                                keep the collection fresh
          --contact <URL|MAIL>  Your web page or mail address, instead of that in weir.toml
          --progress            Show progress on stderr even with --json
          --workers <local:N>   Let other processes fetch: local:4 starts four on this machine, local:0
                                leaves it to you to start `weir worker`
          --index               Keep the text index up to date meanwhile, for `weir search`
          --serve <ADDR>        Show it in a browser at this address while it goes on; port 0 takes one
                                that is free
          --token-file <FILE>   A file with the token that everybody must know who asks; needed to
                                listen for other machines
          --tls-cert <FILE>     A file with a certificate, and those that lead to its authority (PEM):
                                to be asked over TLS
          --tls-key <FILE>      A file with the key of the certificate (PEM)
          --json                Write one JSON object per line instead of text for people
      -h, --help                Print help

    Other machines:
          --broker <URL>                 The broker that batches go by: nats://HOST:PORT, or
                                         tls://HOST:PORT
          --store <URL>                  The store that harvests go by: s3://BUCKET/PREFIX, or
                                         file:///FOLDER
          --broker-token-file <FILE>     A file with the token for the broker
          --broker-user <NAME>           A user whom the broker knows
          --broker-password-file <FILE>  A file with the password of this user
          --broker-credentials <FILE>    A file with credentials for the broker, as `nsc` writes them
          --broker-ca-file <FILE>        A file with certificates of authorities to trust for the
                                         broker, in PEM
          --collection <NAME>            The name of the collection at the broker; a crawl takes its
                                         folder's by default
          --lease <TIME>                 Batches of a worker of which nothing is heard for so long go to
                                         another [default: 30s]
          --replicas <N>                 On how many servers of the broker's cluster everything is kept
                                         [default: 1]

    Examples:
      weir crawl web                 until nothing is left
      weir crawl web --for 2h        a part of it; the next start goes on from there
      weir crawl web --pages 1000 --json
      weir crawl web --continuous    for months; see crawl.requests_per_day in weir.toml
      weir crawl web --workers local:4    other processes fetch; for other machines see docs/cluster.md
      weir crawl web --index --serve 127.0.0.1:9347    search it and steer it in a browser meanwhile

    Ctrl-C (or SIGTERM) stops in order: requests under way are waited for, and everything is kept.
    A second one stops at once. Either way nothing that was committed is lost, and the exit code
    is 130. SIGHUP lets it read weir.toml again.
    ");
    insta::assert_snapshot!(help("why"), @r"
    Tell why a page was fetched, or why not

    Usage: weir why [OPTIONS] <DIR> <URL>

    Arguments:
      <DIR>  The collection
      <URL>  The page; it need not be written as the crawl writes it

    Options:
          --snapshot <NAME>  A snapshot by its name or generation, instead of the last commit
          --json             Write one JSON object per line instead of text for people
      -h, --help             Print help

    Examples:
      weir why web https://example.org/news/
      weir why web https://example.org/news/ --json | jq .reason

    A URL that the crawl does not know is judged by the settings, and looked for among the links
    that were not followed.
    ");
}
