//! Stages of pages that return from a batch without a fetch.

use std::collections::{BTreeMap, HashSet};

use model::{PageId, Reason, SiteId};
use store::{Collection, PageRecord, PageStage, Result};

/// Fate of a queued page that was not fetched.
#[derive(Debug, Clone, Copy)]
pub(crate) enum UnfetchedPage {
    Skipped(Reason),
    Returned(Option<Reason>),
}

/// Updates the stages of pages that were not fetched.
pub(crate) fn update_unfetched(
    collection: &mut Collection,
    pages: &BTreeMap<PageId, UnfetchedPage>,
) -> Result<()> {
    let ids: Vec<PageId> = pages.keys().copied().collect();
    let values: Vec<UnfetchedPage> = pages.values().copied().collect();
    let mut dequeued: BTreeMap<SiteId, u32> = BTreeMap::new();
    collection.page_state.update(&ids, |index, record| {
        *dequeued.entry(record.site).or_default() += u32::from(record.stage == PageStage::Queued);
        match values[index] {
            UnfetchedPage::Skipped(reason) => {
                (record.stage, record.reason) = (PageStage::Rejected, Some(reason));
            }
            UnfetchedPage::Returned(reason) => {
                record.stage = stage_before_queueing(record);
                record.reason = reason.or(record.reason);
            }
        }
    })?;
    let sites: Vec<SiteId> = dequeued.keys().copied().collect();
    let counts: Vec<u32> = dequeued.values().copied().collect();
    collection.site_state.update(&sites, |index, record| {
        record.pages_queued = record.pages_queued.saturating_sub(counts[index]);
    })
}

/// Stage of a page before it was queued.
pub(crate) fn stage_before_queueing(record: &PageRecord) -> PageStage {
    match record {
        PageRecord { fetch_count: 0, .. } => PageStage::Discovered,
        // Also after a broken transfer, which has the status of its head.
        PageRecord { consecutive_failures: 1.., .. } => PageStage::Failed,
        PageRecord { status: 200..400, .. } => PageStage::Fetched,
        _ => PageStage::Failed,
    }
}

/// Whether no fetch of the page has succeeded.
pub(crate) fn never_fetched(record: &PageRecord) -> bool {
    stage_before_queueing(record) != PageStage::Fetched && record.content_hash == 0
}

/// Releases queued pages without an open batch: after a crash, or at the end of a crawl. `claimed` are the sites whose batches
/// are held by other processes.
pub(crate) fn requeue_unowned(collection: &mut Collection, claimed: &HashSet<SiteId>) -> Result<()> {
    requeue(collection, |site| !claimed.contains(&site))
}

/// Releases the queued pages of these sites.
pub(crate) fn requeue_unowned_sites(collection: &mut Collection, sites: &HashSet<SiteId>) -> Result<()> {
    requeue(collection, |site| sites.contains(&site))
}

fn requeue(collection: &mut Collection, is_unowned: impl Fn(SiteId) -> bool + Sync) -> Result<()> {
    let columns = [store::PageColumn::Site, store::PageColumn::StageAndFlags];
    let parts = collection.page_state.reader().scan(&columns, |pages: &mut Vec<PageId>, row| {
        if row.stage == PageStage::Queued && is_unowned(row.site) {
            pages.push(row.page);
        }
    })?;
    let returned = parts.into_iter().flatten().map(|page| (page, UnfetchedPage::Returned(None))).collect();
    update_unfetched(collection, &returned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_collection::TestCollection;

    #[test]
    fn queued_pages_of_a_killed_crawl_return_to_their_stage_except_those_of_other_processes() {
        let urls = [
            "http://a.example/new",
            "http://a.example/fetched",
            "http://a.example/failed",
            "http://b.example/",
        ];
        let mut test = TestCollection::contacted(&urls);
        for (url, fetch_count, status) in
            [(urls[0], 0, 0), (urls[1], 1, 200), (urls[2], 1, 503), (urls[3], 0, 0)]
        {
            test.update_page(url, |page| {
                (page.stage, page.fetch_count, page.status) = (PageStage::Queued, fetch_count, status);
            });
        }
        test.update_site("http://a.example", |site| site.pages_queued = 3);
        test.update_site("http://b.example", |site| site.pages_queued = 1);
        let claimed = HashSet::from([test.site_id("http://b.example")]);
        requeue_unowned(&mut test.collection, &claimed).unwrap();
        let expected = [PageStage::Discovered, PageStage::Fetched, PageStage::Failed, PageStage::Queued];
        assert_eq!(urls.map(|url| test.page(url).stage), expected);
        let queued = ["http://a.example", "http://b.example"].map(|name| test.site(name).pages_queued);
        assert_eq!(queued, [0, 1]);
    }
}
