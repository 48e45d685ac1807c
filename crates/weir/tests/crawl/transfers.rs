//! Bodies that arrive in part: broken transfers are retried, bodies cut at a limit are kept and counted.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use serde_json::Value;

use crate::process::{Collection, run};
use crate::servers::{Peer, Server, hosts};

const SETTINGS: &str = "\
[fetch]
max_body_size = '20 kB'
[politeness]
delay = '1ms'
back_off = '1ms'
retry_delay = '1s'
max_attempts = 2
[crawl]
max_idle = '20s'
[sitemaps]
robots_rdf = false
";

/// Sends the first 3,000 of 10,000 bytes and closes the connection.
fn break_off(peer: &mut Peer, page: &str) {
    let head =
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\nContent-Length: 10000\r\n\r\n";
    peer.send(format!("{head}{}", &page[..3_000]));
}

fn outcomes(why: &Value) -> Vec<(&str, Option<&str>)> {
    let fetches = why["fetches"].as_array().unwrap();
    fetches.iter().map(|fetch| (fetch["outcome"].as_str().unwrap(), fetch["reason"].as_str())).collect()
}

#[test]
fn broken_transfers_are_retried_and_truncated_bodies_are_counted() {
    let page = format!("<a href=/early>early</a>{:9960}<a href=/late>", "text");
    let attempts = AtomicU32::new(0);
    let server = Server::site("transfers", [127, 77, 30, 1], move |path, peer| match path {
        "/" => peer.page("<a href=/once><a href=/always><a href=/large>"),
        "/once" if attempts.fetch_add(1, Relaxed) == 0 => break_off(peer, &page),
        "/once" => peer.page(&page),
        "/always" => break_off(peer, &page.replace("early", "first")),
        "/large" => peer.page(&format!("<a href=/start>{:30000}", "text")),
        _ => peer.page(path),
    });
    let collection = Collection::new(&[server.url("/")], &(hosts(&[&server]) + SETTINGS));
    let summary = collection.crawl(&[]);

    let broken = ("incomplete", Some("connection-closed"));
    let once = collection.why(&server.url("/once"));
    assert_eq!(outcomes(&once), [broken, ("ok", None)]);
    assert_eq!((once["stage"].as_str(), once["reason"].as_str()), (Some("fetched"), None));
    // The last attempt is accepted as it is, with the links that it has.
    let always = collection.why(&server.url("/always"));
    assert_eq!(outcomes(&always), [broken, ("ok", Some("connection-closed"))]);
    assert_eq!(
        (always["stage"].as_str(), always["reason"].as_str()),
        (Some("fetched"), Some("connection-closed"))
    );
    let large = collection.why(&server.url("/large"));
    assert_eq!((outcomes(&large), large["reason"].as_str()), (vec![("ok", None)], Some("body-truncated")));
    for path in ["/early", "/late", "/first", "/start"] {
        assert_eq!(collection.why(&server.url(path))["stage"], "fetched", "{path}");
    }

    assert_eq!((&summary["pages_truncated_this_run"], &summary["pages_truncated"]), (&1.into(), &1.into()));
    let status = run(&["status", &collection.dir()]);
    let status = String::from_utf8(status.stdout).unwrap();
    assert!(status.contains("1 of the fetched truncated"), "{status}");
}
