//! `weir why`.

use super::{objects, run_text, sample};
use model::{PageId, Reason, SiteId};
use store::PageStage;

/// Creates a collection with pages of all stages.
fn make(dir: &std::path::Path) {
    let mut collection = sample::make(dir, 2);
    collection
        .page_state
        .update(&[PageId(1), PageId(2)], |index, page| {
            (page.stage, page.reason) =
                [(PageStage::Rejected, Reason::TooDeep), (PageStage::Discovered, Reason::TooDeep)]
                    .map(|(stage, reason)| (stage, (stage != PageStage::Discovered).then_some(reason)))
                    [index];
            (page.depth, page.inlinks) = (16, 1);
        })
        .unwrap();
    collection.page_state.update(&[PageId(5)], |_, page| page.reason = Some(Reason::ClientError)).unwrap();
    collection.site_state.set_robots_text(SiteId(0), b"User-agent: *\nAllow: /\nDisallow: /docs/\n").unwrap();
    collection
        .site_state
        .update(&[SiteId(0)], |_, site| (site.robots_fetched_s, site.robots_status) = (1_794_731_400, 200))
        .unwrap();
    collection.commit(0).unwrap();
}

#[test]
fn a_fetched_page_is_listed_with_its_fetches() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    make(dir);
    let (code, out, err) = run_text(dir, &["why", "DIR", "HTTPS://A.test"]);
    assert_eq!((code, err.as_str()), (0, ""));
    insta::assert_snapshot!(out, @r"
    https://a.test/
      fetched
      page      page 0, seed, static, 0 inlinks, 2 fetches
      quality   0.750 = depth 0.700 + inlinks 0.000 + site-queue 0.000 + cash 0.050
      priority  22.500 (freshness), freshness 0 %, changes every 30 days, due
      site      https://a.test: 0 pages known, 0 fetched (maximum 25,000), 0 queued
                IP unknown; delay 15 s
                next polls: robots.txt after 2026-11-22 08:30:00 UTC
      robots    allowed by line 2: Allow: /; fetched 2026-11-15 08:30:00 UTC
      fetches   2026-11-15 08:30:00 UTC, ok, HTTP 200
                2026-11-15 08:31:00 UTC, ok, HTTP 200
    ");
    let report = &objects(dir, &["why", "DIR", "https://a.test/#top"])[0];
    assert_eq!(report["url"], "https://a.test/");
    assert_eq!((report["page_id"].as_u64(), report["stage"].as_str()), (Some(0), Some("fetched")));
    assert_eq!((report["reason"].is_null(), report["fetches"].as_array().unwrap().len()), (true, 2));
    assert_eq!(report["fetches"][1]["status"], 200);
}

#[test]
fn every_page_that_was_not_fetched_has_a_reason() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    make(dir);
    std::fs::write(
        dir.join("weir.toml"),
        "[scope]\naccept = ['.test']\n[[site]]\nmatch = 'c.test'\nskip = true\n",
    )
    .unwrap();
    let summary = |url: &str| {
        let report = &objects(dir, &["why", "DIR", url])[0];
        let text = |name: &str| report[name].as_str().unwrap_or("-").to_owned();
        format!("{url}: {}, {}: {}; {}\n", text("stage"), text("reason"), text("summary"), report["notes"])
    };
    let reports = [
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
    .map(summary);
    insta::assert_snapshot!(reports.concat(), @r#"
    https://a.test/docs/Guide: rejected, too-deep: rejected: exceeds limits.max_depth_static or max_depth_dynamic; []
    https://a.test/docs/guide?x=1: discovered, robots-disallowed: discovered; not selected: disallowed by robots.txt; ["disallowed by robots.txt"]
    http://b.test:8080/gone: failed, client-error: last fetch failed: client error (HTTP 4xx); []
    https://a.test/other: unknown, -: not in the collection: in scope, but no fetched page links to it; []
    https://a.test/docs/other: unknown, robots-disallowed: not in the collection: disallowed by robots.txt; []
    https://a.test/picture.jpg: unknown, file-extension: not in the collection: file extension is not fetched ([extensions]); []
    https://c.test/: unknown, site-skipped: not in the collection: site is skipped by a [[site]] entry (skip = true); []
    https://example.org/: unknown, out-of-scope: not in the collection: not accepted by scope.accept or by `accept` of a [[site]] entry; []
    mailto:me@example.org: invalid-url, -: invalid URL: unsupported scheme `mailto` (http, https, ftp, gopher); []
    "#);
}

#[test]
fn rejected_links_to_a_page_are_listed_with_their_reason() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let mut collection = sample::make(dir, 1);
    let refused = store::LinkRow {
        source_page_id: 3,
        target_page_id: None,
        target_url: "https://a.test/secret",
        fetch_time: 0,
        element: "a",
        rel: Some("nofollow"),
        anchor: Some("a \u{1b}[2Jsecret"),
        is_internal: false,
        text_position: 0.0,
        reason: Some("nofollow"),
    };
    collection.tables.links.rows.push(&refused);
    collection.commit(0).unwrap();
    let (_, out, _) = run_text(dir, &["why", "DIR", "https://a.test/secret"]);
    insta::assert_snapshot!(out, @r#"
    https://a.test/secret
      not in the collection: nofollow in rel, meta robots or X-Robots-Tag
      site      https://a.test: 0 pages known, 0 fetched (maximum 25,000), 0 queued
                IP unknown; delay 15 s
      robots    robots.txt not fetched
      inlinks   http://b.test:8080/ <a> "a \u{1b}[2Jsecret" (not followed: nofollow)
    "#);
    let report = &objects(dir, &["why", "DIR", "http://b.test:8080/gone"])[0];
    assert_eq!(report["inlinks_sample"][0]["url"], "https://a.test/");
}
