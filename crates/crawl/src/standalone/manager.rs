//! The manager as a separate program: writes batches to the collection directory, for harvesters on this or another machine.
//!
//! Pages are queued and committed before their batch is written. After a crash in between, the next run releases the queued
//! pages without a batch.

use std::path::PathBuf;
use std::sync::Arc;

use harvest::dispatcher::batch_resolver::BatchResolver;
use harvest::files::work_dirs::WorkDir;
use harvest::settings::crawl_settings::CrawlSettings;
use store::Collection;

use crate::claims::claim_lookup;
use crate::claims::claim_lookup::ClaimLookup;
use crate::claims::outstanding_claims;
use crate::claims::outstanding_claims::OutstandingClaims;
use crate::error::Error;
use crate::manager::Manager;
use crate::recovery;
use crate::rejudge::rejudge;
use crate::state::crawl_state::CrawlState;
use crate::state::ingest_progress;
use crate::state::stages::requeue_unowned;

/// Result of a run of the manager.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ManageSummary {
    /// Batches created.
    pub batches: Vec<CreatedBatch>,
    /// Time at which the next page is due, in Unix milliseconds; set if fewer batches than requested were created.
    pub next_due_ms: Option<u64>,
}

/// Batch that is ready for a harvester.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedBatch {
    /// Directory of the batch.
    pub dir: PathBuf,
    /// Id of the batch.
    pub id: u64,
    /// Number of sites.
    pub sites: usize,
    /// Number of pages.
    pub pages: usize,
}

/// Creates up to `max_batches` batches, as long as pages are due. Sites in open batches are excluded, and so are sites that
/// share an address with one of them; therefore host names are resolved before a batch is written.
pub fn manage(
    collection: &mut Collection,
    settings: &Arc<CrawlSettings>,
    max_batches: u64,
) -> Result<ManageSummary, Error> {
    let clock = settings.start_clock();
    let mut state = CrawlState::load(collection)?;
    ingest_progress::remove_finished(&mut state, collection.dir());
    state.day_counter.recover_reserved();
    state.save(collection)?;
    if recovery::replay_journals(collection, settings, clock.now_ms())? {
        recovery::finish_recovery(collection, settings, clock.now_ms())?;
    }
    let mut outstanding = OutstandingClaims::load(collection)?;
    requeue_unowned(collection, &outstanding.sites)?;
    // The links that are judged are those of the last commit.
    collection.commit(clock.now_ms() as i64)?;
    rejudge(collection, settings, clock.now_ms())?;
    let mut summary = ManageSummary::default();
    let resolver = BatchResolver::new(settings)?;
    let mut manager = Manager::default();
    while (summary.batches.len() as u64) < max_batches {
        manager.last_batch = CrawlState::load(collection)?.last_batch;
        manager.open.claim(outstanding_claims::sites_at_claimed_addresses(collection, &outstanding)?);
        let now_ms = clock.now_ms();
        let Some(mut batch) = manager.next_batch(collection, settings, now_ms)? else {
            summary.next_due_ms =
                manager.next_due(collection, settings, false, now_ms)?.map(|due| due.time_ms);
            break;
        };
        let claims = ClaimLookup {
            address: &|address| outstanding.addresses.contains(&address),
            name: &|name| outstanding.hosts.contains(name),
            site: &|site| outstanding.sites.contains(&site),
        };
        let addresses = resolver.resolve_batch(&batch, clock);
        let removed = claim_lookup::assign(&addresses, collection, &mut batch, &claims, clock.now_s())?;
        outstanding.add(&batch);
        if removed > 0 {
            requeue_unowned(collection, &outstanding.sites)?;
        }
        if batch.sites.is_empty() {
            // The addresses are known now; the next selection may find other sites.
            continue;
        }
        recovery::set_batch_cooldowns(collection, settings, &mut batch, now_ms)?;
        CrawlState::update(collection, |state| state.last_batch = batch.id)?;
        collection.commit(now_ms as i64)?;
        let dir = WorkDir::Batches.path(collection.dir(), batch.id);
        batch.write(&dir)?;
        let (id, sites, pages) = (batch.id, batch.sites.len(), batch.pages());
        summary.batches.push(CreatedBatch { dir, id, sites, pages });
    }
    if summary.batches.is_empty() {
        collection.commit(clock.now_ms() as i64)?;
    }
    Ok(summary)
}
