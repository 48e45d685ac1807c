//! Export of a crawl to WARC and import into another collection.

use crate::process::{Collection, run};
use crate::servers::{Server, hosts};

#[test]
fn redirects_and_their_targets_survive_export_and_import() {
    // The redirects have the same body, which is stored once.
    let site = Server::site("moves", [127, 77, 7, 1], |path, peer| match path {
        "/" => peer.page("<a href=/a>a</a><a href=/b>b</a><a href=/c>c</a><a href=/gone>gone</a>"),
        "/a" | "/b" | "/c" => peer.redirect(&format!("/to{path}")),
        "/gone" => peer.status("404 Not Found", ""),
        _ => peer.page(path),
    });
    let settings =
        "[politeness]\ndelay = '1ms'\n[crawl]\nmax_idle = '100ms'\n[sitemaps]\nrobots_rdf = false\n";
    let crawled = Collection::new(&[site.url("/")], &(hosts(&[&site]) + settings));
    crawled.crawl(&[]);
    let fetched =
        |collection: &Collection| collection.urls(|record| record.stage == store::PageStage::Fetched);
    assert_eq!(fetched(&crawled).len(), 7);

    let archive = crawled.path().join("archive");
    let exported = run(&["export", &crawled.dir(), archive.to_str().unwrap(), "--format", "warc"]);
    assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
    let again = Collection::new(&[site.url("/")], &hosts(&[&site]));
    let files = std::fs::read_dir(&archive).unwrap().map(|file| file.unwrap().path());
    for file in files.filter(|path| path.to_string_lossy().ends_with(".warc.gz")) {
        let imported = run(&["import", &again.dir(), file.to_str().unwrap()]);
        assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    }
    assert_eq!(fetched(&again), fetched(&crawled));
    assert_eq!(again.why(&site.url("/b"))["fetches"][0]["redirect_url"], site.url("/to/b"));
    assert_eq!(again.why(&site.url("/to/b"))["page"]["inlinks"], 1);
}
