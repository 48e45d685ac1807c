//! Scan plan of a stream: finds the next window of pages after a cursor, by one scan of the state of all pages.
//!
//! A stream thus needs memory for one window of references, independently of the number of pages, and no index in its order.
//! A scan takes about a second for ten million pages; the larger the window, the fewer scans.

use std::sync::{Mutex, MutexGuard, PoisonError};

use model::{PageId, SiteId};

use super::cursor::{PageOrder, PageRef, StreamPartition, StreamSortKey};
use super::evaluator::{PageValues, PredicateEvaluator};
use super::filter::SiteSet;
use crate::cancellation::Cancellation;
use crate::error::Result;
use crate::page_set::PageSet;
use crate::snapshot::Snapshot;
use crate::state::page::PageRecord;

/// Number of references that a core collects before it merges them with those of the others.
const BATCH_REFS: usize = 1 << 10;

/// Conditions that are evaluated without reading a page.
pub(super) struct ScanPlan {
    pub(super) order: PageOrder,
    pub(super) partition: StreamPartition,
    pub(super) sites: Option<SiteSet>,
    pub(super) pages: Option<PageSet>,
    pub(super) predicate: Option<PredicateEvaluator>,
}

impl ScanPlan {
    /// Finds the first `window` pages after a sort key, in the order of the stream.
    pub(super) fn window(
        &self,
        snapshot: &Snapshot,
        after: Option<StreamSortKey>,
        window: usize,
        cancellation: &Cancellation,
    ) -> Result<Vec<PageRef>> {
        let collector = Mutex::new(WindowCollector { refs: Vec::new(), order: self.order, window });
        let parts = snapshot.page_state.scan_records(|batch: &mut Vec<PageRef>, page, record| {
            // A scan has no early end; the rest of a cancelled one takes next to no time.
            if cancellation.is_cancelled() {
                return;
            }
            let Some(page_ref) = self.page_ref(snapshot, page, record) else { return };
            if after.is_none_or(|after| page_ref.key(self.order) > after) {
                batch.push(page_ref);
            }
            if batch.len() >= BATCH_REFS {
                lock(&collector).add(batch);
            }
        })?;
        cancellation.check()?;
        let mut collector = collector.into_inner().unwrap_or_else(PoisonError::into_inner);
        parts.into_iter().for_each(|mut batch| collector.add(&mut batch));
        Ok(collector.finish())
    }

    /// Sums the sizes of all records after a sort key.
    pub(super) fn total_bytes(
        &self,
        snapshot: &Snapshot,
        after: Option<StreamSortKey>,
        cancellation: &Cancellation,
    ) -> Result<u64> {
        let parts = snapshot.page_state.scan_records(|bytes: &mut u64, page, record| {
            if cancellation.is_cancelled() {
                return;
            }
            let page_ref = self.page_ref(snapshot, page, record);
            let remaining = page_ref.filter(|page| after.is_none_or(|after| page.key(self.order) > after));
            *bytes += remaining.map_or(0, |page| u64::from(page.location.length));
        })?;
        cancellation.check()?;
        Ok(parts.into_iter().sum())
    }

    /// Reference to a page, if it is stored and may match.
    fn page_ref(&self, snapshot: &Snapshot, page: PageId, record: &PageRecord) -> Option<PageRef> {
        let location = record.record_location?;
        let matches = self.partition.contains(self.order, page, record.site)
            && self.has_site(record.site)
            && self.pages.as_ref().is_none_or(|pages| pages.contains(page))
            && self.predicate.as_ref().is_none_or(|predicate| {
                let site = snapshot.urls.site_name(record.site).unwrap_or_default();
                predicate.may_match(&PageValues { page, record, site, stored: None })
            });
        matches.then_some(PageRef { page, site: record.site, location })
    }

    fn has_site(&self, site: SiteId) -> bool {
        self.sites.as_ref().is_none_or(|sites| sites.contains(site))
    }
}

/// Collector of the first references in the order of the stream; holds at most two windows.
struct WindowCollector {
    refs: Vec<PageRef>,
    order: PageOrder,
    window: usize,
}

impl WindowCollector {
    fn add(&mut self, batch: &mut Vec<PageRef>) {
        self.refs.append(batch);
        if self.refs.len() >= self.window.saturating_mul(2).max(2 * BATCH_REFS) {
            self.prune();
        }
    }

    fn prune(&mut self) {
        if self.refs.len() > self.window {
            self.refs.select_nth_unstable_by_key(self.window, |page| page.key(self.order));
            self.refs.truncate(self.window);
        }
    }

    fn finish(mut self) -> Vec<PageRef> {
        self.prune();
        self.refs.sort_unstable_by_key(|page| page.key(self.order));
        self.refs.shrink_to_fit();
        self.refs
    }
}

/// Locks a mutex; poisoning is ignored, because a panic of another thread ends the scan anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
