//! `weir why`.

use super::{objects, sample, told};
use model::{PageId, Reason, SiteId};
use store::Stage;

/// A collection in which pages have met with all kinds of luck.
fn make(dir: &std::path::Path) {
    let mut collection = sample::make(dir, 2);
    collection
        .pages
        .update(&[PageId(1), PageId(2)], |index, page| {
            (page.stage, page.reason) = [(Stage::Rejected, Reason::TooDeep), (Stage::New, Reason::TooDeep)]
                .map(|(stage, reason)| (stage, if stage == Stage::New { 0 } else { reason.code() }))[index];
            (page.depth, page.in_links) = (16, 1);
        })
        .unwrap();
    collection.pages.update(&[PageId(5)], |_, page| page.reason = Reason::Refused.code()).unwrap();
    collection.sites.set_robots_text(SiteId(0), b"User-agent: *\nAllow: /\nDisallow: /docs/\n").unwrap();
    collection
        .sites
        .update(&[SiteId(0)], |_, site| (site.robots_fetched_s, site.robots_status) = (1_794_731_400, 200))
        .unwrap();
    collection.commit(0).unwrap();
}

#[test]
fn a_fetched_page_has_its_visits() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    make(dir);
    let (code, out, err) = told(dir, &["why", "DIR", "HTTPS://A.test"]);
    assert_eq!((code, err.as_str()), (0, ""));
    insta::assert_snapshot!(out, @r"
    https://a.test/
      it was fetched
      page      number 0, a seed, static, 0 links to it, 2 visits
      quality   0.600 = depth 0.300 + static 0.050 + in-links 0.000 + site-pending 0.000 + cash 0.250
      profit    18.000 for freshness, 0 % sure to be as it was seen, changes every 30 days, due
      site      https://a.test: 0 pages known, 0 fetched of at most 25,000, 0 queued
                no address is known; 15 s between two requests
      robots    allowed by line 2: Allow: /; asked 2026-11-15 08:30:00 UTC
      visits    2026-11-15 08:30:00 UTC, ok, status 200
                2026-11-15 08:31:00 UTC, ok, status 200
    ");
    let story = &objects(dir, &["why", "DIR", "https://a.test/#top"])[0];
    assert_eq!(story["url"], "https://a.test/");
    assert_eq!((story["page_id"].as_u64(), story["state"].as_str()), (Some(0), Some("fetched")));
    assert_eq!((story["reason"].is_null(), story["history"].as_array().unwrap().len()), (true, 2));
    assert_eq!(story["history"][1]["status"], 200);
}

#[test]
fn whoever_was_not_fetched_has_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    make(dir);
    std::fs::write(
        dir.join("weir.toml"),
        "[scope]\naccept = ['.test']\n[[site]]\nsite = 'c.test'\nskip = true\n",
    )
    .unwrap();
    let told = |url: &str| {
        let story = &objects(dir, &["why", "DIR", url])[0];
        let text = |name: &str| story[name].as_str().unwrap_or("-").to_owned();
        format!("{url}: {}, {}: {}; {}\n", text("state"), text("reason"), text("because"), story["notes"])
    };
    let stories = [
        "https://a.test/docs/Guide",
        "https://a.test/docs/guide?x=1",
        "http://b.test:8080/gone",
        "https://a.test/other",
        "https://a.test/docs/other",
        "https://a.test/picture.jpg",
        "https://c.test/",
        "https://example.org/",
        "mailto:me@example.org",
    ]
    .map(told);
    insta::assert_snapshot!(stories.concat(), @r#"
    https://a.test/docs/Guide: rejected, too-deep: it is not fetched: it lies too many links away from where its site was entered; []
    https://a.test/docs/guide?x=1: new, -: it is known, and waits to be chosen; ["robots.txt forbids it"]
    http://b.test:8080/gone: failed, refused: the last visit brought nothing: the server answered that there is nothing for us; []
    https://a.test/other: unknown, -: it is no page of this collection: nothing is against it, but no page that was read links to it; []
    https://a.test/docs/other: unknown, robots-forbid: it is no page of this collection: robots.txt forbids it; []
    https://a.test/picture.jpg: unknown, not-a-page: it is no page of this collection: its URL is that of a file which is counted and not fetched; []
    https://c.test/: unknown, skipped-site: it is no page of this collection: the settings leave its site out; []
    https://example.org/: unknown, out-of-scope: it is no page of this collection: its host is not among those that this crawl accepts; []
    mailto:me@example.org: no-url, -: it cannot be fetched: the scheme `mailto` is not fetched, only http, https, ftp and gopher are; []
    "#);
}

#[test]
fn links_to_a_page_are_found_and_those_not_followed_give_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let mut collection = sample::make(dir, 1);
    let refused = store::LinkRow {
        source_page_id: 3,
        target_page_id: None,
        target_url: "https://a.test/secret",
        fetch_time: 0,
        kind: "a",
        rel: Some("nofollow"),
        anchor: Some("a \u{1b}[2Jsecret"),
        internal: false,
        position: 0.0,
        reason: Some("nofollow"),
    };
    collection.tables.links.rows.push(&refused);
    collection.commit(0).unwrap();
    let (_, out, _) = told(dir, &["why", "DIR", "https://a.test/secret"]);
    insta::assert_snapshot!(out, @r#"
    https://a.test/secret
      it is no page of this collection: the page or the link that leads to it asks not to follow
      site      https://a.test: 0 pages known, 0 fetched of at most 25,000, 0 queued
                no address is known; 15 s between two requests
      robots    robots.txt was not asked for yet
      links     http://b.test:8080/ <a> "a \u{1b}[2Jsecret" (not followed: nofollow)
    "#);
    let story = &objects(dir, &["why", "DIR", "http://b.test:8080/gone"])[0];
    assert_eq!(story["linked_from"][0]["url"], "https://a.test/");
}
