//! Ingestion of parsed pages into the collection, in batches, in order, by one thread.
//!
//! 1. The URLs of the batch are resolved to page ids, and the page records are read.
//! 2. Each page is stored and its record updated; this also detects exact duplicates.
//! 3. The outlinks of the others are resolved at once. Links of duplicates are not followed, so that a site that serves one page
//!    under unlimited URLs yields the links of one page only.
//! 4. The records of link targets and sites, the link log and the tables are updated.
//!
//! A page with the same bytes as at its last fetch, or with a 304 response, only adds a row to the table `fetches`. A fetch older
//! than the last known one (archives may be imported in any order) is stored and described, but changes neither the page record
//! nor the link graph.

pub(crate) mod batch_delta;
pub(crate) mod first_copies;
pub(crate) mod outlinks_dir;
pub(crate) mod page_links;
pub(crate) mod page_policy;
pub(crate) mod summary;
pub(crate) mod table_rows;
pub(crate) mod template_release;
pub(crate) mod visit;
pub(crate) mod visit_dedup;

use std::collections::BTreeMap;

use frontier::CashAccount;
use harvest::item::fetch_outcome::FetchOutcome;
use harvest::item::fetched_page::FetchedPage;
use harvest::item::gathered_page::GatheredPage;
use model::PageId;
use store::{AppendResult, Collection, PageRecord, PageStage, Result};
use warc::EncodedRecord;

use crate::ingest::batch_delta::BatchDelta;
use crate::ingest::first_copies::FirstCopies;
use crate::ingest::page_links::PageLinks;
use crate::ingest::page_policy::PagePolicy;
use crate::ingest::summary::IngestSummary;
use crate::ingest::visit::VisitComparison;
use crate::ingest::visit_dedup::VisitDeduplicator;
use crate::state::stages::never_fetched;

/// Ingests parsed pages into a collection.
#[derive(Debug)]
pub struct Ingest {
    first_copies: FirstCopies,
    pub(crate) policy: PagePolicy,
    /// Set for imports, whose fetches may be stored already.
    dedup: Option<VisitDeduplicator>,
}

/// Stored pages, and the changes that are still to be applied.
struct StoredBatch {
    delta: BatchDelta,
    records: BTreeMap<PageId, PageRecord>,
    links: Vec<PageLinks>,
}

impl Ingest {
    /// Creates an ingest without a page policy. It remembers the pages of `duplicate_window` bodies to find the first copy of a
    /// duplicate; about 60 bytes each.
    pub fn new(duplicate_window: usize) -> Ingest {
        Ingest::with_policy(duplicate_window, PagePolicy::default())
    }

    /// Creates an ingest with the page policy of a crawl.
    pub(crate) fn with_policy(duplicate_window: usize, rules: PagePolicy) -> Ingest {
        Ingest { first_copies: FirstCopies::new(duplicate_window), policy: rules, dedup: None }
    }

    /// Creates an ingest for imports, which ignores fetches that are already stored.
    pub(crate) fn for_import(duplicate_window: usize) -> Ingest {
        Ingest { dedup: Some(VisitDeduplicator::default()), ..Ingest::new(duplicate_window) }
    }

    /// Ingests a batch. After an error the collection must be reopened.
    pub fn ingest(&mut self, collection: &mut Collection, batch: Vec<GatheredPage>) -> Result<IngestSummary> {
        if batch.is_empty() {
            return Ok(IngestSummary::default());
        }
        let StoredBatch { mut delta, mut records, mut links } = self.store(collection, batch)?;
        self.policy.restrict_hops(&mut links, &records);
        delta.ingest_links(collection, &links, &records, &self.policy)?;
        delta.apply(collection, &mut records, &mut self.policy)?;
        Ok(delta.summary)
    }

    /// First half of [`Ingest::ingest`]: stores the pages and updates their records; returns their outlinks.
    pub(crate) fn ingest_pages(
        &mut self,
        collection: &mut Collection,
        batch: Vec<GatheredPage>,
    ) -> Result<(IngestSummary, Vec<PageLinks>)> {
        let StoredBatch { mut delta, mut records, links } = self.store(collection, batch)?;
        delta.apply(collection, &mut records, &mut self.policy)?;
        Ok((delta.summary, links))
    }

    /// Second half of [`Ingest::ingest`]: resolves the outlinks of stored pages.
    pub(crate) fn ingest_links(
        &mut self,
        collection: &mut Collection,
        mut pages: Vec<PageLinks>,
    ) -> Result<IngestSummary> {
        let ids: Vec<PageId> = pages.iter().map(|page| page.id).collect();
        let mut records = read_records(collection, &ids)?;
        let mut delta = BatchDelta::default();
        self.policy.restrict_hops(&mut pages, &records);
        delta.ingest_links(collection, &pages, &records, &self.policy)?;
        delta.apply(collection, &mut records, &mut self.policy)?;
        Ok(delta.summary)
    }

    fn store(&mut self, collection: &mut Collection, batch: Vec<GatheredPage>) -> Result<StoredBatch> {
        let now_s = batch.first().map_or(0, |first| FetchedPage::seconds(first.fetched_ms));
        let mut delta = BatchDelta::default();
        let ids = delta.resolve_pages(collection, &batch, now_s)?;
        let mut records = read_records(collection, &ids)?;
        let mut links = Vec::with_capacity(batch.len());
        for (page, id) in batch.into_iter().zip(ids) {
            let Some(record) = records.get_mut(&id) else { continue };
            let known = self.dedup.as_mut().map(|known| known.add(collection, id, record, &page));
            if known.transpose()?.unwrap_or(false) {
                delta.summary.already_stored += 1;
                continue;
            }
            links.extend(self.store_page(collection, record, page, id, &mut delta)?);
        }
        Ok(StoredBatch { delta, records, links })
    }

    /// Stores a page, updates its record, and writes its rows; returns its outlinks if they are to be followed.
    fn store_page(
        &mut self,
        collection: &mut Collection,
        record: &mut PageRecord,
        mut page: GatheredPage,
        id: PageId,
        delta: &mut BatchDelta,
    ) -> Result<Option<PageLinks>> {
        delta.summary.pages += 1;
        if self.dedup.is_none() {
            delta.count_request(&page);
        }
        delta.summary.bytes += page.content_bytes;
        self.policy.accept_incomplete(record, &mut page);
        delta.summary.truncated += u64::from(page.is_truncated());
        let visit = VisitComparison::new(record, &page);
        let encoded = page.record.take().transpose()?;
        let has_content = page.outcome != FetchOutcome::NotModified;
        let digest = encoded.as_ref().filter(|_| has_content).map(|encoded| encoded.digest().to_owned());
        let appended = store_response(collection, record, &page, encoded, visit)?;
        let is_changed = page.outcome == FetchOutcome::Redirect || visit.same_bytes != Some(true);
        let first_success = page.outcome.is_success() && never_fetched(record);
        let was_queued = record.stage == PageStage::Queued;
        visit.apply(record, &page, appended);
        if visit.is_newest {
            self.policy.record_visit(record, &page, FetchedPage::seconds(page.fetched_ms));
            if visit.changed.is_some() {
                self.policy.update_change_rate(record);
            }
            record.topic_relevance =
                page.document.as_ref().map_or(record.topic_relevance, |document| document.relevance);
        }
        if page.outcome == FetchOutcome::Success && visit.is_newest && is_changed {
            visit::set_duplicate_of(record, self.find_first_copy(appended, id));
        }
        let cash = if visit.is_newest { spend_cash(record) } else { 0.0 };
        delta.count_visit(record.site, &page, first_success, visit, was_queued);
        table_rows::push_fetch(collection, id, record, &page, visit, digest.as_deref(), appended);
        if is_changed && page.outcome != FetchOutcome::Incomplete {
            table_rows::push_document(collection, id, record.site, &page);
        }
        let duplicate = page.outcome == FetchOutcome::Success && record.duplicate_of.is_some();
        delta.summary.duplicates += u64::from(duplicate && is_changed);
        let is_ignored = duplicate && page.content_bytes >= MIN_IGNORED_DUPLICATE_BYTES;
        let follows = !is_ignored || self.policy.follow_links_of_duplicates;
        let links_count = visit.is_newest && is_changed && follows && page.outcome.is_success();
        if !links_count {
            delta.add_shared_cash(cash);
        }
        Ok(links_count.then(|| PageLinks::from_page(page, id, visit.is_first, cash)))
    }

    /// Page that had this body first; a page with a new body is remembered.
    fn find_first_copy(&mut self, appended: Option<AppendResult>, id: PageId) -> Option<PageId> {
        let appended = appended?;
        match appended.duplicate_of {
            Some(original) => self.first_copies.get(original).filter(|page| *page != id),
            None => {
                self.first_copies.insert(appended.location, id);
                None
            }
        }
    }
}

/// Minimum size of a duplicate whose links are ignored. The few relative links of a smaller page are often the same on sites
/// that are not, and lead to other pages there.
const MIN_IGNORED_DUPLICATE_BYTES: u64 = 512;

/// Stores the response; a body that is already stored, or that a 304 confirms, becomes a revisit record.
fn store_response(
    collection: &mut Collection,
    record: &PageRecord,
    page: &GatheredPage,
    encoded: Option<EncodedRecord>,
    visit: VisitComparison,
) -> Result<Option<AppendResult>> {
    let Some(encoded) = encoded else { return Ok(None) };
    if page.outcome != FetchOutcome::NotModified {
        let previous = visit::previous_version(record, page);
        return collection.page_store.append_encoded(encoded, previous).map(Some);
    }
    // Imported fetches may be older than the stored version.
    match record.record_location.filter(|_| visit.is_newest && record.content_hash != 0) {
        Some(version) => collection.page_store.append_not_modified(encoded, version),
        None => Ok(None),
    }
}

fn read_records(collection: &Collection, ids: &[PageId]) -> Result<BTreeMap<PageId, PageRecord>> {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let records = collection.page_state.reader().get_many(&sorted)?;
    Ok(sorted.into_iter().zip(records).collect())
}

/// Withdraws the cash of a fetched page, for its link targets.
fn spend_cash(record: &mut PageRecord) -> f32 {
    let mut account = CashAccount { cash: record.cash, history: record.cash_history };
    let cash = account.spend();
    (record.cash, record.cash_history) = (account.cash, account.history);
    cash
}

#[cfg(test)]
mod tests {
    use harvest::settings::crawl_settings::CrawlSettings;
    use model::Reason;
    use store::PageFlags;

    use super::*;
    use crate::test_collection::{NOON_MS, NOON_S, TestCollection, fetched_page, response};

    const FRONT: &str = "http://a.example/";

    fn ingest(settings: &CrawlSettings, test: &TestCollection) -> Ingest {
        let mut policy = PagePolicy::new(settings);
        policy.load_counts(&test.collection).unwrap();
        Ingest::with_policy(100, policy)
    }

    #[test]
    fn links_of_an_exact_duplicate_are_not_followed_unless_it_is_small() {
        let copy = "http://b.example/copy";
        let bodies =
            [1, 60].map(|times| format!("<p>{}</p><a href=next>next</a>", "Same text. ".repeat(times)));
        for (follows, body) in [(false, &bodies[0]), (false, &bodies[1]), (true, &bodies[1])] {
            let settings = CrawlSettings { follow_links_of_duplicates: follows, ..CrawlSettings::default() };
            let mut test = TestCollection::contacted(&[FRONT, copy]);
            let mut ingest = ingest(&settings, &test);
            let batch = vec![fetched_page(FRONT, body), fetched_page(copy, body)];
            let summary = ingest.ingest(&mut test.collection, batch).unwrap();
            assert_eq!((summary.pages, summary.duplicates), (2, 1));
            let record = test.page(copy);
            assert_eq!(record.duplicate_of, Some(test.page_id(FRONT)));
            assert!(record.flags.has(PageFlags::DUPLICATE) && record.stage == PageStage::Fetched);
            assert!(test.find_page("http://a.example/next").is_some());
            let is_small = (body.len() as u64) < MIN_IGNORED_DUPLICATE_BYTES;
            assert_eq!(test.find_page("http://b.example/next").is_some(), follows || is_small);
        }
    }

    #[test]
    fn a_fetch_moves_a_queued_page_out_of_the_queue() {
        let mut test = TestCollection::contacted(&[FRONT, "http://a.example/missing"]);
        for url in [FRONT, "http://a.example/missing"] {
            test.update_page(url, |page| page.stage = PageStage::Queued);
        }
        test.update_site("http://a.example", |site| site.pages_queued = 2);
        let settings = CrawlSettings::default();
        let mut ingest = ingest(&settings, &test);
        let missing = response("http://a.example/missing", 404, "", "no such page");
        ingest.ingest(&mut test.collection, vec![fetched_page(FRONT, "<p>Text</p>"), missing]).unwrap();
        let (front, missing) = (test.page(FRONT), test.page("http://a.example/missing"));
        assert_eq!((front.stage, front.status, front.last_visit_s), (PageStage::Fetched, 200, NOON_S));
        assert_eq!((missing.stage, missing.reason), (PageStage::Failed, Some(Reason::ClientError)));
        assert_eq!(missing.earliest_visit_s, NOON_S + settings.revisits.client_error_s);
        let site = test.site("http://a.example");
        assert_eq!((site.pages_queued, site.pages_fetched, site.failed_requests), (0, 1, 1));
        assert_eq!(site.last_seen_s, NOON_S);
    }

    #[test]
    fn an_older_fetch_changes_neither_the_record_nor_the_links() {
        let mut test = TestCollection::contacted(&[FRONT]);
        let mut ingest = ingest(&CrawlSettings::default(), &test);
        ingest.ingest(&mut test.collection, vec![fetched_page(FRONT, "<p>New text</p>")]).unwrap();
        let before = test.page(FRONT);
        let mut older = fetched_page(FRONT, "<p>Old text</p><a href=old>old</a>");
        older.fetched_ms = NOON_MS as i64 - 60_000;
        ingest.ingest(&mut test.collection, vec![older]).unwrap();
        let after = test.page(FRONT);
        assert_eq!((after.last_visit_s, after.content_hash), (NOON_S, before.content_hash));
        assert_eq!((after.first_visit_s, after.fetch_count), (NOON_S - 60, 2));
        assert_eq!(test.find_page("http://a.example/old"), None);
    }
}
