//! Deduplication of imported fetches: an archive that is imported twice must not count twice.
//!
//! A fetch is known if the page has a stored version of the same second with the same body. A fetch of an unchanged page has no
//! body: it is known if it lies between stored fetches, where it adds no information.

use std::collections::HashSet;

use harvest::item::fetch_outcome::FetchOutcome;
use harvest::item::fetched_page::FetchedPage;
use harvest::item::gathered_page::GatheredPage;
use model::PageId;
use store::{Collection, PageRecord, PageStoreReader, Result};
use warc::EncodedRecord;

/// Index of stored fetches.
#[derive(Debug, Default)]
pub(crate) struct VisitDeduplicator {
    /// Generation of the last commit.
    generation: u64,
    /// Versions of that commit; opened on first use.
    committed: Option<PageStoreReader>,
    /// Fetches since: page, second, digest.
    recent: HashSet<(PageId, u32, String)>,
}

impl VisitDeduplicator {
    /// Adds a fetch; true if it was known.
    pub(crate) fn add(
        &mut self,
        collection: &Collection,
        id: PageId,
        record: &PageRecord,
        page: &GatheredPage,
    ) -> Result<bool> {
        let generation = collection.manifest()?.generation;
        if self.generation != generation {
            *self = VisitDeduplicator { generation, ..VisitDeduplicator::default() };
        }
        let time_s = FetchedPage::seconds(page.fetched_ms);
        let has_content = page.outcome != FetchOutcome::NotModified;
        let Some(Ok(encoded)) = page.record.as_ref().filter(|_| has_content) else {
            let fetched = record.first_visit_s..=record.last_visit_s;
            return Ok(record.fetch_count > 0 && fetched.contains(&time_s));
        };
        let is_recent = !self.recent.insert((id, time_s, encoded.digest().to_owned()));
        Ok(is_recent || (record.fetch_count > 0 && self.is_committed(collection, page, encoded)?))
    }

    fn is_committed(
        &mut self,
        collection: &Collection,
        page: &GatheredPage,
        encoded: &EncodedRecord,
    ) -> Result<bool> {
        let reader = match &mut self.committed {
            Some(reader) => reader,
            none => none.insert(PageStoreReader::open(collection.dir(), collection.manifest()?)?),
        };
        let same_second = |time_ms: i64| time_ms.div_euclid(1000) == page.fetched_ms.div_euclid(1000);
        let versions = reader.versions(page.url.as_str())?;
        Ok(versions
            .iter()
            .any(|version| same_second(version.fetched_at_ms) && version.digest == encoded.digest()))
    }
}
