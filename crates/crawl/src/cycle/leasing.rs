//! Leasing of batches to remote workers: host names are resolved before a batch is published, and the items of its log are
//! ingested up to a cursor.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::{mem, panic, thread};

use harvest::control::context::CrawlContext;
use harvest::control::handle::CrawlHandle;
use harvest::control::live_status::LiveBatch;
use harvest::dispatcher::batch_resolver::{BatchResolver, ResolvedAddresses};
use harvest::files::{journal, work_dirs};
use harvest::harvester::pool::journal_error;
use harvest::item::batch::{Batch, BatchSite};
use harvest::item::harvest_event::HarvestEvent;
use harvest::item::log_cursor::LogEnd;
use harvest::settings::crawl_settings::CrawlSettings;
use harvest::transport::Transport;
use model::SiteId;
use store::Collection;

use super::{CrawlLoop, MAX_QUEUED_BATCHES};
use crate::claims::claim_lookup;
use crate::claims::claim_lookup::ClaimLookup;
use crate::claims::outstanding_claims::OutstandingClaims;
use crate::coordinator::Coordinator;
use crate::cycle::backend::FetchBackend;
use crate::error::Error;
use crate::manager::Manager;
use crate::recovery;
use crate::state::crawl_state::CrawlState;
use crate::state::log_cursors;
use crate::state::stages::{requeue_unowned, requeue_unowned_sites};

/// Maximum time for the name resolution of one batch, at the configured lookup rate.
const MAX_RESOLVE_SECONDS: usize = 2;
/// Minimum number of pages of a batch; for a smaller one, the cost of a commit and of messages is too high.
pub(super) const MIN_BATCH_PAGES: usize = 1_000;

impl CrawlLoop {
    /// Maximum number of pages of the next batch: all workers together get as many as local harvesters would, but at least
    /// [`MIN_BATCH_PAGES`] each.
    pub(super) fn batch_pages(&self, settings: &CrawlSettings) -> usize {
        if !self.backend.is_remote() {
            return settings.max_batch_pages;
        }
        let share = settings.max_batch_pages / (MAX_QUEUED_BATCHES as usize * self.backend.processes());
        share.max(MIN_BATCH_PAGES).min(settings.max_batch_pages)
    }

    /// Resolves the host names of a batch in a thread, and leases it afterwards. Sites beyond the lookup budget are returned.
    pub(super) fn resolve_batch(
        &mut self,
        collection: &mut Collection,
        mut batch: Batch,
    ) -> Result<(), Error> {
        let (settings, clock) = (self.context.settings(), self.context.clock);
        let now_s = clock.now_s();
        let mut room = settings.lookups.max_per_second.max(1) as usize * MAX_RESOLVE_SECONDS;
        let (accepted, returned): (Vec<BatchSite>, Vec<BatchSite>) =
            mem::take(&mut batch.sites).into_iter().partition(|site| {
                let names = site.names_to_resolve(now_s);
                let fits = names == 0 || room > 0;
                room = room.saturating_sub(names);
                fits
            });
        batch.sites = accepted;
        self.return_sites(collection, &returned)?;
        self.schedule.scan_needed |= !returned.is_empty();
        if batch.sites.iter().all(|site| site.names_to_resolve(now_s) == 0) {
            return self.lease_batch(collection, batch, &ResolvedAddresses::default());
        }
        let resolve = move || Ok((BatchResolver::new(&settings)?.resolve_batch(&batch, clock), batch));
        let thread = thread::Builder::new().name("resolver".to_owned());
        self.resolving = Some(thread.spawn(resolve).map_err(Error::Thread)?);
        Ok(())
    }

    /// Leases the batch whose names were resolved in the meantime.
    pub(super) fn lease_resolved(&mut self, collection: &mut Collection) -> Result<(), Error> {
        let Some(thread) = self.resolving.take_if(|thread| thread.is_finished()) else { return Ok(()) };
        let (addresses, batch) = thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic))?;
        self.context.record_lookups(addresses.fault);
        self.lease_batch(collection, batch, &addresses)
    }

    /// Returns sites of a batch that are not leased.
    fn return_sites(&mut self, collection: &mut Collection, sites: &[BatchSite]) -> Result<(), Error> {
        for site in sites {
            for page in &site.pages {
                self.seeder.add_event(HarvestEvent::PageReturned { page: page.page, reason: None });
            }
            self.returned_sites.push(site.site);
        }
        self.seed(collection)
    }

    /// Leases a batch to workers, without the sites whose addresses or hosts are claimed by other batches.
    fn lease_batch(
        &mut self,
        collection: &mut Collection,
        mut batch: Batch,
        addresses: &ResolvedAddresses,
    ) -> Result<(), Error> {
        let settings = self.context.settings();
        let all = batch.sites.clone();
        let (open, outstanding) = (&self.manager.open, &self.outstanding);
        let claims = ClaimLookup {
            address: &|address| open.claims.is_claimed(address) || outstanding.addresses.contains(&address),
            name: &|name| open.claims.is_host_claimed(name) || outstanding.hosts.contains(name),
            site: &|site| open.contains(site),
        };
        if claim_lookup::assign(addresses, collection, &mut batch, &claims, self.context.clock.now_s())? > 0 {
            let accepted: HashSet<SiteId> = batch.sites.iter().map(|site| site.site).collect();
            let returned: Vec<BatchSite> =
                all.into_iter().filter(|site| !accepted.contains(&site.site)).collect();
            self.return_sites(collection, &returned)?;
        }
        if batch.sites.is_empty() {
            return Ok(());
        }
        recovery::set_batch_cooldowns(collection, &settings, &mut batch, self.context.clock.now_ms())?;
        self.manager.open.claims.claim(&batch);
        CrawlState::update(collection, |state| log_cursors::start_log(state, batch.id))?;
        self.commit(collection)?;
        self.context.counters.batches.fetch_add(1, Ordering::Relaxed);
        self.count_remote();
        match &mut self.backend {
            FetchBackend::Remote(coordinator) => coordinator.publish(collection, &batch),
            FetchBackend::Local(_) => Ok(()),
        }
    }

    /// Closes a batch: sites without a result are released, with a cooldown if a worker may have contacted them.
    pub(super) fn close_batch(
        &mut self,
        collection: &mut Collection,
        batch: u64,
        end: LogEnd,
    ) -> Result<(), Error> {
        let mut open_sites = self.manager.open.open_sites(batch);
        if open_sites.is_empty() {
            return Ok(());
        }
        open_sites.sort_unstable();
        let settings = self.context.settings();
        if end == LogEnd::Leased {
            recovery::cool_down_sites(collection, &settings, &open_sites, self.context.clock.now_ceil_ms())?;
        }
        open_sites.iter().for_each(|site| self.manager.open.close(*site));
        self.schedule.scan_needed = true;
        let open_sites: HashSet<SiteId> = open_sites.into_iter().collect();
        Ok(requeue_unowned_sites(collection, &open_sites)?)
    }

    /// Sets the counters of pages and sites from the open batches, since workers count only their own.
    pub(super) fn count_remote(&self) {
        let counters = &self.context.counters;
        let open: Vec<LiveBatch> = self.manager.open.list().collect();
        let pages = open.iter().map(|batch| u64::from(batch.pages_remaining)).sum();
        let sites = open.iter().map(|batch| u64::from(batch.sites_remaining)).sum();
        counters.pages_queued.store(pages, Ordering::Relaxed);
        counters.active_sites.store(sites, Ordering::Relaxed);
    }
}

/// Recovers the batches that workers hold, and starts the coordinator.
pub(super) fn start_coordinator(
    collection: &mut Collection,
    transport: &Transport,
    context: &CrawlContext,
    handle: &CrawlHandle,
    manager: &mut Manager,
) -> Result<(FetchBackend, OutstandingClaims), Error> {
    let journal = work_dirs::journal(collection.dir());
    journal::clear(&journal).map_err(|source| journal_error(&journal, source))?;
    let (coordinator, recovered) = Coordinator::start(collection, transport, context, handle)?;
    let now_ms = context.clock.now_ms();
    let mut leased_sites = HashSet::new();
    for batch in &recovered {
        manager.open.add(batch, now_ms);
        manager.open.claims.claim(batch);
        leased_sites.extend(batch.sites.iter().map(|site| site.site));
    }
    let outstanding = OutstandingClaims::without_workers(collection)?;
    leased_sites.extend(outstanding.sites.iter().copied());
    requeue_unowned(collection, &leased_sites)?;
    Ok((FetchBackend::Remote(Box::new(coordinator)), outstanding))
}
