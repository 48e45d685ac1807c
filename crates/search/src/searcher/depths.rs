//! How many links is a page from where its site was entered? That changes when a shorter way is found, so that the collection is
//! asked and not the index; once, when a query first wants to know.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use store::{Column, Snapshot};

use super::Shared;
use crate::error::Result;

/// A byte a page, if they were asked for.
#[derive(Default)]
pub(super) struct Depths(Mutex<Option<Shared<u8>>>);

impl Depths {
    /// Those of the pages of a snapshot, by id; always the same snapshot.
    pub(super) fn of(&self, snapshot: &Snapshot) -> Result<Shared<u8>> {
        // Whoever died with the lock in his hands had read nothing yet.
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(depths) = held.as_ref() {
            return Ok(Arc::clone(depths));
        }
        let depths: Vec<AtomicU8> = (0..snapshot.pages.pages()).map(|_| AtomicU8::new(0)).collect();
        snapshot.pages.scan(&[Column::Marks], |(): &mut (), row| {
            if let Some(depth) = depths.get(row.page.0 as usize) {
                depth.store(row.depth, Ordering::Relaxed);
            }
        })?;
        let depths = depths.into_iter().map(AtomicU8::into_inner).collect();
        Ok(Arc::clone(held.insert(Arc::new(depths))))
    }
}
