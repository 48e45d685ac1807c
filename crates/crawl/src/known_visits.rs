//! Was this very visit taken in before? An archive that is imported twice must not count twice.
//!
//! A visit is known if the page has a stored version of the same second with the same body. A visit that found the page
//! unchanged has no body of its own: it is known if it lies between visits that are, for there it would tell
//! nothing new.

use std::collections::HashSet;

use model::PageId;
use store::{Collection, PageReader, PageRecord, Prepared, Result};

use crate::fetched::Fetched;
use crate::gathered::Gathered;
use crate::outcome::Outcome;

/// Looks visits up.
#[derive(Debug, Default)]
pub(crate) struct KnownVisits {
    /// The last commit.
    generation: u64,
    /// Its versions of pages; opened when first needed.
    committed: Option<PageReader>,
    /// Visits since: page, second, digest.
    recent: HashSet<(PageId, u32, String)>,
}

impl KnownVisits {
    /// Whether the visit is known; from now on it is.
    pub(crate) fn add(
        &mut self,
        collection: &Collection,
        id: PageId,
        record: &PageRecord,
        page: &Gathered,
    ) -> Result<bool> {
        let generation = collection.manifest()?.generation;
        if self.generation != generation {
            *self = KnownVisits { generation, ..KnownVisits::default() };
        }
        let time_s = Fetched::seconds(page.fetched_ms);
        let has_content = page.outcome != Outcome::NotModified;
        let Some(Ok(prepared)) = page.prepared.as_ref().filter(|_| has_content) else {
            let visited = record.first_visit_s..=record.last_visit_s;
            return Ok(record.visits > 0 && visited.contains(&time_s));
        };
        let is_recent = !self.recent.insert((id, time_s, prepared.digest().to_owned()));
        Ok(is_recent || (record.visits > 0 && self.is_committed(collection, page, prepared)?))
    }

    fn is_committed(
        &mut self,
        collection: &Collection,
        page: &Gathered,
        prepared: &Prepared,
    ) -> Result<bool> {
        let reader = match &mut self.committed {
            Some(reader) => reader,
            none => none.insert(PageReader::open(collection.folder(), collection.manifest()?)?),
        };
        let same_second = |time_ms: i64| time_ms.div_euclid(1000) == page.fetched_ms.div_euclid(1000);
        let versions = reader.versions(page.url.as_str())?;
        Ok(versions
            .iter()
            .any(|version| same_second(version.fetched_at_ms) && version.digest == prepared.digest()))
    }
}
