//! DuckDB reads the tables, also after files were merged while snapshots retain older ones.
#![allow(clippy::print_stderr, reason = "skipped tests print a message")]

mod venv {
    //! Python tools for the tests of this crate.
    #![allow(unused_imports, reason = "not every test uses both")]

    pub(crate) use testkit::run;

    pub(crate) fn venv() -> Option<std::path::PathBuf> {
        testkit::venv(env!("CARGO_MANIFEST_DIR"))
    }
}

use std::path::Path;
use std::process::Command;

use store::{Collection, LinkRow, SiteLogRow, StoreSettings};
use venv::{run, venv};

fn link(page: u32) -> LinkRow<'static> {
    LinkRow {
        source_page_id: page,
        target_page_id: page.is_multiple_of(2).then_some(page),
        target_url: "http://a.test/é",
        fetch_time: 1_700_000_000_000,
        element: "a",
        rel: None,
        anchor: Some("Wörter"),
        is_internal: page.is_multiple_of(4),
        text_position: 0.5,
        reason: None,
    }
}

const SITE: SiteLogRow<'static> = SiteLogRow {
    site_id: 0,
    site: "http://a.test",
    url_host_name: "a.test",
    url_host_registered_domain: None,
    url_host_tld: Some("test"),
    observed_time: 1_700_000_000_000,
    ip_address: Some("127.0.0.1"),
    alias_of: None,
    robots_status: Some(404),
    crawl_delay_ms: None,
    pages_known: 3,
    pages_queued: 0,
    pages_fetched: 1,
    pages_static: 3,
    pages_dynamic: 0,
    failed_fetches: 0,
    bytes_received: 1 << 40,
};

#[test]
fn duckdb_reads_the_tables() {
    let Some(bin) = venv() else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut collection = Collection::create(dir.path(), StoreSettings::default()).unwrap();
    for round in 0..30 {
        (0..100).for_each(|page| collection.tables.links.rows.push(&link(round * 100 + page)));
        collection.commit(0).unwrap();
    }
    collection.tables.site_log.rows.push(&SITE);
    collection.commit(0).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/read_tables.py");
    let answer = run(Command::new(bin.join("python")).arg(script).arg(dir.path()));
    assert_eq!(
        answer,
        "(3000, 3000, 1500, 750, 'http://a.test/é', 'Wörter', 1700000000000)\n\
         ('http://a.test', 404, 1099511627776, None)\n"
    );
}
