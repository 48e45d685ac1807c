//! Which pages come next? The first so many behind a position, found by one scan of the state of all pages.
//!
//! So a stream needs memory for a window of places, however many pages there are, and no index in its own order. A scan takes
//! about a second for ten million pages; the larger the window, the fewer scans.

use std::sync::{Mutex, MutexGuard, PoisonError};

use model::{PageId, SiteId};

use super::cursor::{PageOrder, PageRef, StreamPartition, StreamSortKey};
use super::evaluator::{PageValues, PredicateEvaluator};
use super::filter::SiteSet;
use crate::error::Result;
use crate::page_set::PageSet;
use crate::snapshot::Snapshot;
use crate::state::page::PageRecord;

/// So many places are put together by a core before it joins them with those of the others.
const BATCH_REFS: usize = 1 << 10;

/// The conditions that are judged without reading a page.
pub(super) struct ScanPlan {
    pub(super) order: PageOrder,
    pub(super) part: StreamPartition,
    pub(super) sites: Option<SiteSet>,
    pub(super) pages: Option<PageSet>,
    pub(super) judge: Option<PredicateEvaluator>,
}

impl ScanPlan {
    /// The first `window` places behind `after`, in the order of the stream.
    pub(super) fn window(
        &self,
        snapshot: &Snapshot,
        after: Option<StreamSortKey>,
        window: usize,
    ) -> Result<Vec<PageRef>> {
        let first = Mutex::new(WindowCollector { places: Vec::new(), order: self.order, window });
        let parts = snapshot.page_state.scan_records(|batch: &mut Vec<PageRef>, page, record| {
            let Some(place) = self.place(snapshot, page, record) else { return };
            if after.is_none_or(|after| place.key(self.order) > after) {
                batch.push(place);
            }
            if batch.len() >= BATCH_REFS {
                lock(&first).take(batch);
            }
        })?;
        let mut first = first.into_inner().unwrap_or_else(PoisonError::into_inner);
        parts.into_iter().for_each(|mut batch| first.take(&mut batch));
        Ok(first.finish())
    }

    /// The length of all records behind `after`.
    pub(super) fn total_bytes(&self, snapshot: &Snapshot, after: Option<StreamSortKey>) -> Result<u64> {
        let parts = snapshot.page_state.scan_records(|bytes: &mut u64, page, record| {
            let place = self.place(snapshot, page, record);
            let behind = place.filter(|place| after.is_none_or(|after| place.key(self.order) > after));
            *bytes += behind.map_or(0, |place| u64::from(place.location.length));
        })?;
        Ok(parts.into_iter().sum())
    }

    fn place(&self, snapshot: &Snapshot, page: PageId, record: &PageRecord) -> Option<PageRef> {
        let location = record.record_location?;
        let wanted = self.part.has(self.order, page, record.site)
            && self.has_site(record.site)
            && self.pages.as_ref().is_none_or(|pages| pages.contains(page))
            && self.judge.as_ref().is_none_or(|judge| {
                let site = snapshot.urls.site_name(record.site).unwrap_or_default();
                judge.may_match(&PageValues { page, record, site, stored: None })
            });
        wanted.then_some(PageRef { page, site: record.site, location })
    }

    fn has_site(&self, site: SiteId) -> bool {
        self.sites.as_ref().is_none_or(|sites| sites.contains(site))
    }
}

/// The first places of all that were seen; never more than two windows of them.
struct WindowCollector {
    places: Vec<PageRef>,
    order: PageOrder,
    window: usize,
}

impl WindowCollector {
    fn take(&mut self, batch: &mut Vec<PageRef>) {
        self.places.append(batch);
        if self.places.len() >= self.window.saturating_mul(2).max(2 * BATCH_REFS) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.places.len() > self.window {
            self.places.select_nth_unstable_by_key(self.window, |place| place.key(self.order));
            self.places.truncate(self.window);
        }
    }

    fn finish(mut self) -> Vec<PageRef> {
        self.cut();
        self.places.sort_unstable_by_key(|place| place.key(self.order));
        self.places.shrink_to_fit();
        self.places
    }
}

/// A panic elsewhere ends the scan anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
