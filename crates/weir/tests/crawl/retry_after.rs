//! Retry-After is obeyed by a crawl that was killed after it and before its first commit.

use crate::process::Collection;
use crate::servers::{Server, hosts};

const RETRY_AFTER_S: u64 = 3;

#[test]
fn retry_after_survives_a_kill_before_the_first_commit() {
    let busy = Server::start("busy", [127, 77, 2, 2], |path, peer| match path {
        "/robots.txt" => peer.content("text/plain", "", "User-agent: *\nAllow: /\n"),
        _ => peer.status("429 Too Many Requests", &format!("Retry-After: {RETRY_AFTER_S}\r\n")),
    });
    let link = format!("<a href={}>busy</a>", busy.url("/"));
    let first = Server::site("first", [127, 77, 2, 1], move |_, peer| peer.page(&link));
    // The busy site is discovered by a link and not in the last commit.
    let settings = "[commit]\ninterval = '1h'\n[politeness]\ndelay = '10ms'\nback_off = '10ms'\nretry_delay = '1s'\nmax_attempts = 2\n\
                    [crawl]\nmax_idle = '20s'\n[sitemaps]\nrobots_rdf = false\n";
    let collection = Collection::new(&[first.url("/")], &(hosts(&[&first, &busy]) + settings));
    let mut crawl = collection.start(&[]);
    crawl.until(|| collection.journals().is_some_and(|text| text.contains("site_backed_off")));
    crawl.kill();
    assert_eq!(busy.paths(), ["/robots.txt", "/"]);

    collection.crawl(&[]);
    let log = busy.log();
    assert_eq!(busy.paths()[..3], ["/robots.txt", "/", "/"], "{log:?}");
    for pair in log[1..].windows(2) {
        let gap = pair[1].began.duration_since(pair[0].ended.unwrap());
        assert!(gap.as_secs() >= RETRY_AFTER_S, "{gap:?}: {log:?}");
    }
}
