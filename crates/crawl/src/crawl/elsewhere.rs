//! What is different in a crawl when others fetch? Batches are lent: names are resolved before they leave, and what comes back is
//! taken in up to a mark of their log.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;

use model::{PageId, SiteId};
use store::Collection;

use super::{Cycle, MOST_BATCHES};
use crate::batch::Batch;
use crate::crawl_settings::CrawlSettings;
use crate::crew;
use crate::error::Error;
use crate::harvest::HarvestNews;
use crate::helm::Helm;
use crate::journal;
use crate::live::LiveBatch;
use crate::locate::Locator;
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
/// Rests that a batch tells of: of very many, some have to do. They are long, and errands are rare.
const MOST_RESTS: usize = 10_000;
/// Smaller batches are not worth their messages.
const LEAST_BATCH_PAGES: usize = 1_000;

impl Cycle {
    /// How many pages a batch may have: all workers together get as many as a crew of our own would.
    pub(super) fn batch_pages(&self, settings: &CrawlSettings) -> usize {
        if !self.staff.are_elsewhere() {
            return settings.batch_pages;
        }
        let share = settings.batch_pages / (MOST_BATCHES as usize * self.staff.count());
        share.max(LEAST_BATCH_PAGES).min(settings.batch_pages)
    }

    /// Lends a batch to workers, without the sites that are where others are, or whose names would take too long to resolve.
    pub(super) fn lend(&mut self, collection: &mut Collection, mut batch: Batch) -> Result<(), Error> {
        let settings = self.running.settings();
        let all: HashMap<SiteId, Vec<PageId>> = batch
            .sites
            .iter()
            .map(|site| (site.site, site.pages.iter().map(|page| page.page).collect()))
            .collect();
        let now_s = self.running.clock.now_s();
        let mut unresolved = settings.names_per_second.max(1) as usize * LOCATE_SECONDS;
        batch.sites.retain(|site| {
            let is_known = site.address.is_some() && site.resolve_again_s > now_s;
            unresolved = unresolved.saturating_sub(usize::from(!is_known));
            is_known || unresolved > 0
        });
        let mut busy = self.manager.open.busy.all();
        busy.extend(self.lent.addresses.iter().copied());
        let mut locator = Locator::new(&settings)?;
        locator.locate(collection, &mut batch, &busy, &self.running.clock)?;
        let kept: HashSet<SiteId> = batch.sites.iter().map(|site| site.site).collect();
        for (site, pages) in all.iter().filter(|(site, _)| !kept.contains(site)) {
            let back = |page: &PageId| HarvestNews::Back { page: *page, reason: None };
            pages.iter().for_each(|page| self.seeder.take_news(back(page)));
            self.gone_back.push(*site);
        }
        self.seed(collection)?;
        if batch.sites.is_empty() {
            return Ok(());
        }
        let now_ms = self.running.clock.now_ms();
        batch.addresses = recovery::address_clocks(collection, &settings, now_ms, false)?;
        batch.rests = recovery::rests(collection, now_ms, MOST_RESTS)?;
        batch.owned_by_others = busy.into_iter().collect();
        self.manager.open.busy.occupy(&batch);
        mark::begin(&mut collection.notes, batch.number);
        self.commit(collection)?;
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
