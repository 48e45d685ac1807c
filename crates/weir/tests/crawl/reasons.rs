//! Reasons of pages beyond the limits of a site, a domain or the collection.

use crate::process::Collection;
use crate::servers::{Server, hosts};

const QUICK: &str =
    "[politeness]\ndelay = '1ms'\n[crawl]\nmax_idle = '100ms'\n[sitemaps]\nrobots_rdf = false\n";

/// Front page with links to some pages, which have a link each.
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
fn page_and_site_limits_are_the_reason_of_pages_beyond_them() {
    let server = site("one", [127, 77, 6, 1], "/4");
    let reason =
        |settings: &str, path: &str| crawled(&server, settings).why(&server.url(path))["reason"].clone();
    assert_eq!(reason("[limits]\nmax_pages_per_site = 5\n", "/1/next"), "site-page-limit");
    assert_eq!(reason("[limits]\nmax_pages = 5\n", "/1/next"), "collection-limit");
    // The page is not in the collection, but the link to it has the reason.
    let far = site("two", [127, 77, 6, 2], "http://far.example/");
    let collection = crawled(&far, "[limits]\nmax_sites = 1\n");
    let report = collection.why("http://far.example/");
    assert_eq!(
        (&report["reason"], &report["stage"]),
        (&"collection-limit".into(), &"unknown".into()),
        "{report}"
    );
}

#[test]
fn the_domain_budget_is_the_reason_of_pages_beyond_it() {
    let server = site("three", [127, 77, 6, 3], "/4");
    let settings =
        QUICK.replace("[crawl]\n", "[crawl]\nmax_batch_pages = 1\n") + "[limits]\ndomain_budget_base = 3\n";
    let collection = Collection::new(&[server.url("/")], &(hosts(&[&server]) + &settings));
    collection.crawl(&[]);
    let reports = ["/1", "/2", "/3", "/4"].map(|path| collection.why(&server.url(path)));
    let held = reports.iter().find(|report| report["stage"] == "discovered").expect("a discovered page");
    assert_eq!(held["reason"], "domain-budget", "{held}");
    assert!(held["summary"].as_str().unwrap().contains("registered domain"), "{held}");
}

#[test]
fn a_port_of_another_protocol_is_the_reason_of_seeds_links_and_redirect_targets() {
    let server = Server::site("five", [127, 77, 6, 5], |path, peer| match path {
        "/" => peer.page("<a href=//127.77.6.5:25/link>mail</a><a href=/moved>moved</a>"),
        "/moved" => peer.redirect("http://127.77.6.5:6667/target"),
        _ => peer.status("404 Not Found", ""),
    });
    let seeds = [server.url("/"), "http://127.77.6.5:22/seed".to_owned()];
    let collection = Collection::new(&seeds, &(hosts(&[&server]) + QUICK));
    collection.crawl(&[]);
    for url in [seeds[1].as_str(), "http://127.77.6.5:25/link", "http://127.77.6.5:6667/target"] {
        let report = collection.why(url);
        assert_eq!(report["reason"], "port-blocked", "{url}: {report:#}");
    }
}
