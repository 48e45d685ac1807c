//! What is different in a crawl when others fetch? Batches are lent: names are resolved before they leave, and what comes back is
//! taken in up to a mark of their log.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::{mem, panic, thread};

use model::SiteId;
use store::Collection;

use super::{Cycle, MOST_BATCHES};
use crate::batch::{Batch, BatchSite};
use crate::crawl_settings::CrawlSettings;
use crate::crew;
use crate::error::Error;
use crate::harvest::HarvestNews;
use crate::helm::Helm;
use crate::journal;
use crate::live::LiveBatch;
use crate::locate::{Addresses, Locator, Taken};
use crate::manager::Manager;
use crate::mark::{self, LogEnd};
use crate::places;
use crate::recovery::{self, Lent};
use crate::running::Running;
use crate::seeder::{release_queued, release_queued_of};
use crate::staff::Staff;
use crate::workers::{Carriers, Workers};

/// Names are resolved before a batch is lent, for no longer than this at a time.
const LOCATE_SECONDS: usize = 2;
/// Smaller batches are not worth their messages.
pub(super) const LEAST_BATCH_PAGES: usize = 1_000;

impl Cycle {
    /// How many pages a batch may have: all workers together get as many as a crew of our own would. Smaller ones cost more than
    /// they bring: each is a commit.
    pub(super) fn batch_pages(&self, settings: &CrawlSettings) -> usize {
        if !self.staff.are_elsewhere() {
            return settings.batch_pages;
        }
        let share = settings.batch_pages / (MOST_BATCHES as usize * self.staff.count());
        share.max(LEAST_BATCH_PAGES).min(settings.batch_pages)
    }

    /// Finds out where the sites of a batch are, beside everything else, and lends it then. Of too many names that are not
    /// known the rest goes back.
    pub(super) fn locate(&mut self, collection: &mut Collection, mut batch: Batch) -> Result<(), Error> {
        let (settings, clock) = (self.running.settings(), self.running.clock);
        let now_s = clock.now_s();
        let mut room = settings.names_per_second.max(1) as usize * LOCATE_SECONDS;
        let (taken, left): (Vec<BatchSite>, Vec<BatchSite>) =
            mem::take(&mut batch.sites).into_iter().partition(|site| {
                let names = site.unknown_names(now_s);
                let fits = names == 0 || room > 0;
                room = room.saturating_sub(names);
                fits
            });
        batch.sites = taken;
        self.put_back(collection, &left)?;
        self.worth_a_look |= !left.is_empty();
        if batch.sites.iter().all(|site| site.unknown_names(now_s) == 0) {
            return self.lend(collection, batch, &Addresses::default());
        }
        let find = move || Ok((Locator::new(&settings)?.locate(&batch, clock), batch));
        let thread = thread::Builder::new().name("names".to_owned());
        self.locating = Some(thread.spawn(find).map_err(Error::Thread)?);
        Ok(())
    }

    /// Lends the batch whose sites have been found meanwhile.
    pub(super) fn lend_located(&mut self, collection: &mut Collection) -> Result<(), Error> {
        let Some(thread) = self.locating.take_if(|thread| thread.is_finished()) else { return Ok(()) };
        let (addresses, batch) = thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic))?;
        self.lend(collection, batch, &addresses)
    }

    /// Sites of a batch that are not lent after all.
    fn put_back(&mut self, collection: &mut Collection, sites: &[BatchSite]) -> Result<(), Error> {
        for site in sites {
            for page in &site.pages {
                self.seeder.take_news(HarvestNews::Back { page: page.page, reason: None });
            }
            self.gone_back.push(site.site);
        }
        self.seed(collection)
    }

    /// Lends a batch to workers, without the sites that are where others are.
    fn lend(
        &mut self,
        collection: &mut Collection,
        mut batch: Batch,
        addresses: &Addresses,
    ) -> Result<(), Error> {
        let settings = self.running.settings();
        let all = batch.sites.clone();
        let (open, lent) = (&self.manager.open, &self.lent);
        let taken = Taken {
            address: &|address| open.busy.has(address) || lent.addresses.contains(&address),
            name: &|name| open.busy.has_name(name) || lent.names.contains(name),
            site: &|site| open.holds(site),
        };
        if addresses.settle(collection, &mut batch, &taken, self.running.clock.now_s())? > 0 {
            let kept: HashSet<SiteId> = batch.sites.iter().map(|site| site.site).collect();
            let left: Vec<BatchSite> = all.into_iter().filter(|site| !kept.contains(&site.site)).collect();
            self.put_back(collection, &left)?;
        }
        if batch.sites.is_empty() {
            return Ok(());
        }
        recovery::set_clocks(collection, &settings, &mut batch, self.running.clock.now_ms())?;
        self.manager.open.busy.occupy(&batch);
        mark::begin(&mut collection.notes, batch.number);
        self.commit(collection)?;
        self.running.counters.cycles.fetch_add(1, Ordering::Relaxed);
        self.count_elsewhere();
        match &mut self.staff {
            Staff::Workers(workers) => workers.offer(collection, &batch),
            Staff::Own(_) => Ok(()),
        }
    }

    /// A batch is over: what nobody has told of is free again, and rests if somebody may have asked for it.
    pub(super) fn close_batch(
        &mut self,
        collection: &mut Collection,
        number: u64,
        end: LogEnd,
    ) -> Result<(), Error> {
        let mut left = self.manager.open.sites_of(number);
        if left.is_empty() {
            return Ok(());
        }
        left.sort_unstable();
        let settings = self.running.settings();
        if end == LogEnd::Taken {
            recovery::let_sites_rest(collection, &settings, &left, self.running.clock.passed_ms())?;
        }
        left.iter().for_each(|site| self.manager.open.close(*site));
        self.worth_a_look = true;
        let left: HashSet<SiteId> = left.into_iter().collect();
        Ok(release_queued_of(collection, &left)?)
    }

    /// Who is elsewhere counts for himself; here it is seen from the batches that are open.
    pub(super) fn count_elsewhere(&self) {
        let counters = &self.running.counters;
        let open: Vec<LiveBatch> = self.manager.open.list().collect();
        let pages = open.iter().map(|batch| u64::from(batch.pages_open)).sum();
        let sites = open.iter().map(|batch| u64::from(batch.sites_open)).sum();
        counters.waiting_pages.store(pages, Ordering::Relaxed);
        counters.active_sites.store(sites, Ordering::Relaxed);
    }
}

/// Finds out what workers have, and begins to listen to them.
pub(super) fn begin_workers(
    collection: &mut Collection,
    carriers: &Carriers,
    running: &Running,
    helm: &Helm,
    manager: &mut Manager,
) -> Result<(Staff, Lent), Error> {
    let journal = places::journal(collection.folder());
    journal::clear(&journal).map_err(|source| crew::journal_error(&journal, source))?;
    let (workers, recovered) = Workers::begin(collection, carriers, running, helm)?;
    let now_ms = running.clock.now_ms();
    let mut away = HashSet::new();
    for batch in &recovered {
        manager.open.add(batch, now_ms);
        manager.open.busy.occupy(batch);
        away.extend(batch.sites.iter().map(|site| site.site));
    }
    let lent = Lent::of_others(collection)?;
    away.extend(lent.sites.iter().copied());
    release_queued(collection, &away)?;
    Ok((Staff::Workers(workers), lent))
}
