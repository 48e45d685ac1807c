//! Expected content of a collection after a number of rounds; each round depends only on its number.

use std::path::Path;

use model::UrlBatch;
use model::{PageId, SiteId, UrlRules};
use store::{
    Collection, Link, LinkRow, PageFlags, PageRecord, PageStage, PageStoreSettings, Snapshot, StoreSettings,
    VerifyLevel,
};
use warc::Capture;

/// Number of new pages of a round with new pages.
const NEW_PAGES: u64 = 40;
/// Number of revisited pages of a round.
const OLD_PAGES: u64 = 10;
/// Number of rounds at the start of each cycle with new pages. The others only revisit pages, whose state is then written
/// as a delta.
const GROWING_ROUNDS: u64 = 3;
const CYCLE_ROUNDS: u64 = 8;
const SITES: u64 = 7;

/// Small limits, so that files are often completed, merged, compacted and rewritten.
pub(crate) fn settings() -> StoreSettings {
    StoreSettings {
        page_store: PageStoreSettings { max_file_bytes: 20_000, ..PageStoreSettings::default() },
        max_dirty_pages: 15,
        max_dirty_sites: 3,
        url_cache_entries: 8,
    }
}

/// Number of pages after `rounds`.
fn pages_after(rounds: u64) -> u64 {
    (rounds / CYCLE_ROUNDS * GROWING_ROUNDS + (rounds % CYCLE_ROUNDS).min(GROWING_ROUNDS)) * NEW_PAGES
}

fn url(page: u64) -> String {
    format!("http://site{}.test/dir/{page}?x={}", page % SITES, page * 31)
}

/// Last round in which a page was fetched.
fn last_visit(page: u64, rounds: u64) -> u64 {
    let visited = |round: u64| pages_of(round).any(|visited| visited == page);
    (1..=rounds).rev().find(|&round| visited(round)).unwrap()
}

/// Pages that a round fetches: the new ones, and some of the others.
fn pages_of(round: u64) -> impl Iterator<Item = u64> {
    let known = pages_after(round - 1);
    let again = (0..OLD_PAGES.min(known)).map(move |number| (number * 7_919 + round * 13) % known);
    (known..pages_after(round)).chain(again)
}

/// Site with a new robots.txt in a round.
fn site_of(round: u64) -> SiteId {
    SiteId((round * 5 % SITES) as u32)
}

fn robots(round: u64) -> Vec<u8> {
    format!("User-agent: *\nDisallow: /{round}/\n").repeat(1 + round as usize % 50).into_bytes()
}

fn body(page: u64, round: u64) -> Vec<u8> {
    format!("page {page} as of round {round} ").repeat(20 + page as usize % 30).into_bytes()
}

/// Writes a round, without the commit.
pub(crate) fn write_round(collection: &mut Collection, round: u64) -> store::Result<()> {
    let pages: Vec<u64> = pages_of(round).collect();
    let rules = UrlRules::default();
    let mut batch = UrlBatch::new();
    for &page in &pages {
        batch.push(&rules.canonical(&url(page)).unwrap());
    }
    let resolved =
        collection.resolve(&batch, round as u32, |new| PageRecord::new(new.site, 1, PageFlags::default()))?;
    let mut stored = Vec::new();
    for (&page, &id) in pages.iter().zip(&resolved.pages) {
        assert_eq!(u64::from(id.0), page, "ids are assigned in the order of the pages");
        let (url, body) = (url(page), body(page, round));
        let capture = Capture {
            url: &url,
            fetched_at_ms: 1_700_000_000_000 + round as i64 * 1_000,
            ip_address: None,
            protocols: &[],
            head: b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n",
            body: &body,
            truncated: None,
            request: None,
            metadata: &[],
        };
        stored.push(collection.page_store.append(&capture, None)?.location);
        let link = Link { target: PageId(id.0 / 2), kind: 0, context: 0, anchor_chars: 3, position: 0 };
        collection.links.append(id, [link])?;
        collection.tables.links.rows.push(&LinkRow {
            source_page_id: id.0,
            target_page_id: Some(id.0 / 2),
            target_url: &url,
            fetch_time: round as i64,
            element: "a",
            rel: None,
            anchor: None,
            is_internal: true,
            text_position: 0.0,
            reason: None,
        });
    }
    collection.site_state.set_robots_text(site_of(round), &robots(round))?;
    let sites: Vec<SiteId> = (0..SITES as u32).map(SiteId).collect();
    collection.site_state.update(&sites, |_, site| site.earliest_request_ms = round)?;
    // Ascending: the later of two fetches of one page comes last.
    let mut updates: Vec<_> = resolved.pages.iter().copied().zip(stored).collect();
    updates.sort_by_key(|(page, _)| *page);
    let ids: Vec<PageId> = updates.iter().map(|(page, _)| *page).collect();
    collection.page_state.update(&ids, |at, page| {
        page.stage = PageStage::Fetched;
        page.last_visit_s = round as u32;
        page.record_location = Some(updates[at].1);
    })
}

/// Verifies the whole content of a collection; returns its number of rounds.
pub(crate) fn verify(dir: &Path) -> u64 {
    let snapshot = Snapshot::open(dir, None).unwrap();
    let rounds = snapshot.manifest.generation;
    let count = pages_after(rounds);
    assert_eq!(u64::from(snapshot.urls.pages()), count);
    assert_eq!(u64::from(snapshot.page_state.pages()), count);
    let rules = UrlRules::default();
    for page in 0..count {
        let id = PageId(page as u32);
        assert_eq!(snapshot.urls.url(id).unwrap(), Some(url(page)));
        assert_eq!(snapshot.urls.find(&rules.canonical(&url(page)).unwrap()).unwrap(), Some(id));
        let record = snapshot.page_state.get(id).unwrap().unwrap();
        assert_eq!(record.stage, PageStage::Fetched, "page {page}");
        let stored =
            snapshot.page_store.read(&record.record_location.unwrap(), VerifyLevel::Digests).unwrap();
        assert_eq!(stored.url(), url(page));
        let visit = last_visit(page, rounds);
        assert_eq!(u64::from(record.last_visit_s), visit, "page {page}");
        assert_eq!(stored.body(), body(page, visit), "page {page}");
    }
    if rounds > 0 {
        verify_sites(&snapshot, rounds);
    }
    let mut sources = 0;
    let counted = snapshot.links.for_each(|_, links| {
        sources += links.len() as u64;
        Ok(())
    });
    counted.unwrap();
    assert!(sources >= count, "{sources} links of {count} pages");
    rounds
}

fn verify_sites(snapshot: &Snapshot, rounds: u64) {
    assert_eq!(u64::from(snapshot.site_state.sites()), SITES);
    for site in (0..SITES as u32).map(SiteId) {
        let record = snapshot.site_state.get(site).unwrap().unwrap();
        assert_eq!(record.earliest_request_ms, rounds, "{site:?}");
        let last = (1..=rounds).rev().find(|&round| site_of(round) == site);
        assert_eq!(snapshot.site_state.robots_text(site).unwrap(), last.map(robots), "{site:?}");
    }
}
