//! Do others read our tables? DuckDB counts what was written, also when files were merged and older ones are kept.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

#[path = "python/venv.rs"]
mod venv;

use std::path::Path;
use std::process::Command;

use store::{Collection, LinkRow, SiteRow, StoreSettings};
use venv::{run, venv};

fn link(page: u32) -> LinkRow<'static> {
    LinkRow {
        source_page_id: page,
        target_page_id: page.is_multiple_of(2).then_some(page),
        target_url: "http://a.test/é",
        fetch_time: 1_700_000_000_000,
        kind: "a",
        rel: None,
        anchor: Some("Wörter"),
        internal: page.is_multiple_of(4),
        position: 0.5,
        reason: None,
    }
}

const SITE: SiteRow<'static> = SiteRow {
    site_id: 0,
    site: "http://a.test",
    host: "a.test",
    registered_domain: None,
    tld: Some("test"),
    time: 1_700_000_000_000,
    address: Some("127.0.0.1"),
    alias_of: None,
    robots_status: Some(404),
    crawl_delay_ms: None,
    pages_known: 3,
    pages_queued: 0,
    pages_fetched: 1,
    pages_static: 3,
    pages_dynamic: 0,
    errors: 0,
    bytes: 1 << 40,
};

#[test]
fn duckdb_reads_our_tables() {
    let Some(bin) = venv() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut collection = Collection::create(folder.path(), StoreSettings::default()).unwrap();
    for round in 0..30 {
        (0..100).for_each(|page| collection.tables.links.rows.push(&link(round * 100 + page)));
        collection.commit(0).unwrap();
    }
    collection.tables.sites.rows.push(&SITE);
    collection.commit(0).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/read_tables.py");
    let answer = run(Command::new(bin.join("python")).arg(script).arg(folder.path()));
    assert_eq!(
        answer,
        "(3000, 3000, 1500, 750, 'http://a.test/é', 'Wörter', 1700000000000)\n\
         ('http://a.test', 404, 1099511627776, None)\n"
    );
}
