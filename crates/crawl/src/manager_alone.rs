//! The manager as a program of its own: makes batches and leaves them in the collection's folder, for harvesters here or
//! elsewhere.
//!
//! Pages are queued and committed before their batch appears. A manager that dies in between leaves queued pages without a
//! batch; the next one frees them.

use std::path::PathBuf;
use std::sync::Arc;

use store::Collection;

use crate::crawl_settings::CrawlSettings;
use crate::error::Error;
use crate::locate::{Locator, Taken};
use crate::manager::{Manager, day};
use crate::places::{self, LAST_BATCH, Place};
use crate::recovery::{self, Lent};
use crate::seeder::release_queued;

/// What a manager did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Managed {
    /// The new batches.
    pub batches: Vec<BatchMade>,
    /// When pages are due that are not due now, in Unix milliseconds; told when fewer batches were made than wanted.
    pub next_due_ms: Option<u64>,
}

/// A batch that waits for a harvester.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchMade {
    /// Where it is.
    pub folder: PathBuf,
    /// Its number.
    pub number: u64,
    /// How many sites it has.
    pub sites: usize,
    /// How many pages.
    pub pages: usize,
}

/// Makes batches, as many as are wanted and there are pages for. Sites in open batches are left out, and so are those
/// that share an address with one of them: names are resolved before they are lent.
pub fn manage(
    collection: &mut Collection,
    settings: &Arc<CrawlSettings>,
    most_batches: u64,
) -> Result<Managed, Error> {
    let clock = settings.start_clock();
    places::forget(collection);
    day::recover(&mut collection.notes);
    if recovery::replay_journals(collection, settings, clock.now_ms())? {
        recovery::settle(collection, settings, clock.now_ms())?;
    }
    let mut lent = Lent::of(collection)?;
    release_queued(collection, &lent.sites)?;
    let mut managed = Managed::default();
    let locator = Locator::new(settings)?;
    let mut manager = Manager::default();
    while (managed.batches.len() as u64) < most_batches {
        manager.number = places::last_batch(&collection.notes);
        manager.open.lend(recovery::neighbours(collection, &lent)?);
        let now_ms = clock.now_ms();
        let Some(mut batch) = manager.prepare(collection, settings, now_ms)? else {
            managed.next_due_ms =
                manager.next_due(collection, settings, false, now_ms)?.map(|due| due.time_ms);
            break;
        };
        let taken = Taken {
            address: &|address| lent.addresses.contains(&address),
            name: &|name| lent.names.contains(name),
            site: &|site| lent.sites.contains(&site),
        };
        let addresses = locator.locate(&batch, clock);
        let elsewhere = addresses.settle(collection, &mut batch, &taken, clock.now_s())?;
        lent.add(&batch);
        if elsewhere > 0 {
            release_queued(collection, &lent.sites)?;
        }
        if batch.sites.is_empty() {
            // Now it is known where they are; others may be free.
            continue;
        }
        recovery::set_clocks(collection, settings, &mut batch, now_ms)?;
        collection.notes.insert(LAST_BATCH.to_owned(), batch.number);
        collection.commit(now_ms as i64)?;
        let folder = Place::Batches.of(collection.folder(), batch.number);
        batch.write(&folder)?;
        let (number, sites, pages) = (batch.number, batch.sites.len(), batch.pages());
        managed.batches.push(BatchMade { folder, number, sites, pages });
    }
    if managed.batches.is_empty() {
        collection.commit(clock.now_ms() as i64)?;
    }
    Ok(managed)
}
