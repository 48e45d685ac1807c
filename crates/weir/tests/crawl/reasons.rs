//! Does `weir why` tell the true reason why a page was not fetched, where something was full?

use crate::process::Collection;
use crate::servers::{Server, hosts};

const QUICK: &str =
    "[politeness]\nwait = '1ms'\n[crawl]\nlongest_pause = '100ms'\n[sitemaps]\nrobots_rdf = false\n";

/// A front page that links to some pages, which have a link each.
fn site(name: &str, ip: [u8; 4], other: &str) -> Server {
    let other = other.to_owned();
    Server::site(name, ip, move |path, peer| match path {
        "/" => {
            peer.page(&format!("<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a><a href={other}>other</a>"));
        }
        _ => peer.page(&format!("<a href={path}/next>next</a> {path}")),
    })
}

fn crawled(server: &Server, settings: &str) -> Collection {
    let collection = Collection::new(&[server.url("/")], &(hosts(&[server]) + QUICK + settings));
    collection.crawl(&[]);
    collection
}

#[test]
fn a_site_and_a_collection_can_be_full() {
    let server = site("one", [127, 77, 6, 1], "/4");
    let reason =
        |settings: &str, path: &str| crawled(&server, settings).why(&server.url(path))["reason"].clone();
    assert_eq!(reason("[limits]\npages_per_site = 5\n", "/1/next"), "site-full");
    assert_eq!(reason("[limits]\npages = 5\n", "/1/next"), "collection-full");
    // Nobody knows the page, but the link to it says why.
    let far = site("two", [127, 77, 6, 2], "http://far.example/");
    let collection = crawled(&far, "[limits]\nsites = 1\n");
    let story = collection.why("http://far.example/");
    assert_eq!(
        (&story["reason"], &story["state"]),
        (&"collection-full".into(), &"unknown".into()),
        "{story}"
    );
}

#[test]
fn a_domain_can_be_over_its_budget() {
    let server = site("three", [127, 77, 6, 3], "/4");
    let settings = QUICK.replace("[crawl]\n", "[crawl]\nbatch_pages = 1\n") + "[limits]\ndomain_pages = 3\n";
    let collection = Collection::new(&[server.url("/")], &(hosts(&[&server]) + &settings));
    collection.crawl(&[]);
    let waits = ["/1", "/2", "/3", "/4"].map(|path| collection.why(&server.url(path)));
    let held = waits.iter().find(|story| story["state"] == "new").expect("some page waits");
    assert_eq!(held["reason"], "domain-budget", "{held}");
    assert!(held["because"].as_str().unwrap().contains("registered domain"), "{held}");
}
