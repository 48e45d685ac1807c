//! Cache of the depths of all pages. Depths change when a shorter path is found, so they are read from the collection, not indexed; once,
//! when a query first needs them.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use store::{PageColumn, Snapshot};

use super::SharedColumn;
use crate::error::Result;

/// Depths of all pages, one byte each; empty until first used.
#[derive(Default)]
pub(super) struct DepthCache(Mutex<Option<SharedColumn<u8>>>);

impl DepthCache {
    /// Returns the depths by page id. All calls have to use the same snapshot.
    pub(super) fn get(&self, snapshot: &Snapshot) -> Result<SharedColumn<u8>> {
        // A panic while the lock was held left the cache empty.
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(depths) = cached.as_ref() {
            return Ok(Arc::clone(depths));
        }
        let depths: Vec<AtomicU8> = (0..snapshot.page_state.pages()).map(|_| AtomicU8::new(0)).collect();
        snapshot.page_state.scan(&[PageColumn::StageAndFlags], |(): &mut (), row| {
            if let Some(depth) = depths.get(row.page.0 as usize) {
                depth.store(row.depth, Ordering::Relaxed);
            }
        })?;
        let depths = depths.into_iter().map(AtomicU8::into_inner).collect();
        Ok(Arc::clone(cached.insert(Arc::new(depths))))
    }
}
