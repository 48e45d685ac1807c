//! Which pages come next? The first so many behind a position, found by one scan of the state of all pages.
//!
//! So a stream needs memory for a window of places, however many pages there are, and no index in its own order. A scan takes
//! about a second for ten million pages; the larger the window, the fewer scans.

use std::sync::{Mutex, MutexGuard, PoisonError};

use model::{PageId, SiteId};

use super::judge::{Judge, Known};
use super::position::{PageOrder, PagePlace, Part, PlaceKey};
use super::selection::SiteSet;
use crate::error::Result;
use crate::page_set::PageSet;
use crate::page_state::PageRecord;
use crate::snapshot::Snapshot;

/// So many places are put together by a core before it joins them with those of the others.
const BATCH_PLACES: usize = 1 << 10;

/// The conditions that are judged without reading a page.
pub(super) struct Plan {
    pub(super) order: PageOrder,
    pub(super) part: Part,
    pub(super) sites: Option<SiteSet>,
    pub(super) pages: Option<PageSet>,
    pub(super) judge: Option<Judge>,
}

impl Plan {
    /// The first `window` places behind `after`, in the order of the stream.
    pub(super) fn window(
        &self,
        snapshot: &Snapshot,
        after: Option<PlaceKey>,
        window: usize,
    ) -> Result<Vec<PagePlace>> {
        let first = Mutex::new(First { places: Vec::new(), order: self.order, window });
        let parts = snapshot.pages.scan_records(|batch: &mut Vec<PagePlace>, page, record| {
            let Some(place) = self.place(snapshot, page, record) else { return };
            if after.is_none_or(|after| place.key(self.order) > after) {
                batch.push(place);
            }
            if batch.len() >= BATCH_PLACES {
                lock(&first).take(batch);
            }
        })?;
        let mut first = first.into_inner().unwrap_or_else(PoisonError::into_inner);
        parts.into_iter().for_each(|mut batch| first.take(&mut batch));
        Ok(first.finish())
    }

    /// The length of all records behind `after`.
    pub(super) fn total_bytes(&self, snapshot: &Snapshot, after: Option<PlaceKey>) -> Result<u64> {
        let parts = snapshot.pages.scan_records(|bytes: &mut u64, page, record| {
            let place = self.place(snapshot, page, record);
            let behind = place.filter(|place| after.is_none_or(|after| place.key(self.order) > after));
            *bytes += behind.map_or(0, |place| u64::from(place.location.length));
        })?;
        Ok(parts.into_iter().sum())
    }

    fn place(&self, snapshot: &Snapshot, page: PageId, record: &PageRecord) -> Option<PagePlace> {
        let location = record.stored?;
        let wanted = self.part.has(self.order, page, record.site)
            && self.has_site(record.site)
            && self.pages.as_ref().is_none_or(|pages| pages.has(page))
            && self.judge.as_ref().is_none_or(|judge| {
                let site = snapshot.urls.site_name(record.site).unwrap_or_default();
                judge.may_mean(&Known { page, record, site, stored: None })
            });
        wanted.then_some(PagePlace { page, site: record.site, location })
    }

    fn has_site(&self, site: SiteId) -> bool {
        self.sites.as_ref().is_none_or(|sites| sites.has(site))
    }
}

/// The first places of all that were seen; never more than two windows of them.
struct First {
    places: Vec<PagePlace>,
    order: PageOrder,
    window: usize,
}

impl First {
    fn take(&mut self, batch: &mut Vec<PagePlace>) {
        self.places.append(batch);
        if self.places.len() >= self.window.saturating_mul(2).max(2 * BATCH_PLACES) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.places.len() > self.window {
            self.places.select_nth_unstable_by_key(self.window, |place| place.key(self.order));
            self.places.truncate(self.window);
        }
    }

    fn finish(mut self) -> Vec<PagePlace> {
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
