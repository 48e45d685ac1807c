//! Backend that fetches the pages of a crawl: harvester threads in this process, or remote workers. Both return the same items.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use harvest::control::context::CrawlContext;
use harvest::dispatcher::address_policy::AddressPolicy;
use harvest::files::journal::Journal;
use harvest::files::{journal, work_dirs};
use harvest::harvester::pool;
use harvest::harvester::pool::{HarvesterPool, HarvesterPoolConfig, journal_error};
use harvest::item::harvest_item::HarvestItem;
use harvest::item::log_cursor::LogCursor;
use store::Collection;
use tokio::sync::mpsc::Receiver;

use crate::claims::outstanding_claims::OutstandingClaims;
use crate::coordinator::Coordinator;
use crate::error::Error;
use crate::recovery;
use crate::state::stages::requeue_unowned;

/// Backend that fetches and parses pages.
pub(crate) enum FetchBackend {
    Local(LocalBackend),
    Remote(Box<Coordinator>),
}

/// Harvester threads of this process.
pub(crate) struct LocalBackend {
    pub(crate) pool: HarvesterPool,
    pub(crate) journal: PathBuf,
    /// Number of items received from each harvester.
    pub(crate) received: Vec<u64>,
    /// Number of these items that are committed.
    pub(crate) committed: Vec<Arc<AtomicU64>>,
    /// Journals of the harvesters after their end.
    pub(crate) journals: Vec<Journal>,
}

impl LocalBackend {
    /// Starts the harvester threads.
    pub(crate) fn start(
        collection: &mut Collection,
        context: &CrawlContext,
        began_unknown: bool,
    ) -> Result<(FetchBackend, OutstandingClaims), Error> {
        let outstanding = OutstandingClaims::load(collection)?;
        requeue_unowned(collection, &outstanding.sites)?;
        let settings = context.settings();
        let threads = pool::threads(&settings);
        let committed: Vec<Arc<AtomicU64>> = (0..threads).map(|_| Arc::default()).collect();
        let journal = work_dirs::journal(collection.dir());
        journal::start(&journal, &[]).map_err(|source| journal_error(&journal, source))?;
        let pool = HarvesterPool::start(HarvesterPoolConfig {
            context,
            journal: Some(&journal),
            committed: &committed,
            clocks_lost: began_unknown,
            address_cooldowns: recovery::address_cooldowns(
                collection,
                &settings,
                context.clock.now_ms(),
                began_unknown,
            )?,
            host_cooldowns: recovery::host_cooldowns(collection, context.clock.now_ms())?,
            address_policy: AddressPolicy::AllExcept {
                addresses: outstanding.addresses.clone(),
                names: outstanding.hosts.clone(),
            },
            gathers: true,
        })?;
        let local =
            LocalBackend { pool, journal, received: vec![0; threads], committed, journals: Vec::new() };
        Ok((FetchBackend::Local(local), outstanding))
    }
}

impl FetchBackend {
    /// Chunks of items, with the index of their harvester.
    pub(crate) fn items(&mut self) -> &mut Receiver<(usize, Vec<HarvestItem>)> {
        match self {
            FetchBackend::Local(local) => &mut local.pool.items,
            FetchBackend::Remote(coordinator) => &mut coordinator.items,
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        match self {
            FetchBackend::Local(local) => local.pool.items.is_empty(),
            FetchBackend::Remote(coordinator) => coordinator.items.is_empty(),
        }
    }

    /// Number of processes that fetch.
    pub(crate) fn processes(&self) -> usize {
        match self {
            FetchBackend::Local(_) => 1,
            FetchBackend::Remote(coordinator) => coordinator.workers().max(1),
        }
    }

    pub(crate) fn is_remote(&self) -> bool {
        matches!(self, FetchBackend::Remote(_))
    }

    /// Whether a thread has ended with an error.
    pub(crate) fn has_failed_thread(&self) -> bool {
        match self {
            FetchBackend::Local(local) => local.pool.has_failed_thread(),
            FetchBackend::Remote(coordinator) => coordinator.has_failed_thread(),
        }
    }

    /// Records that a chunk of a harvester was received.
    pub(crate) fn record_received(&mut self, harvester: usize, items: usize) {
        if let FetchBackend::Local(local) = self
            && let Some(received) = local.received.get_mut(harvester)
        {
            *received += items as u64;
        }
    }

    /// Records that the items of log entries are going to be ingested.
    pub(crate) fn begin_ingest(&mut self, cursors: &[LogCursor]) -> Result<(), Error> {
        match self {
            FetchBackend::Local(_) => Ok(()),
            FetchBackend::Remote(coordinator) => coordinator.begin_ingest(cursors),
        }
    }

    /// Whether each chunk of items is to be ingested alone.
    pub(crate) fn has_suspects(&self) -> bool {
        matches!(self, FetchBackend::Remote(coordinator) if coordinator.has_suspects())
    }

    /// Records that the items announced with `begin_ingest` were not ingested because of this error, unless they may have caused it.
    pub(crate) fn cancel_ingest(&mut self, error: &store::Error) {
        match self {
            FetchBackend::Local(_) => {}
            FetchBackend::Remote(coordinator) => coordinator.cancel_ingest(error),
        }
    }

    /// Records that the items announced with `begin_ingest` are ingested.
    pub(crate) fn end_ingest(&mut self) -> Result<(), Error> {
        match self {
            FetchBackend::Local(_) => Ok(()),
            FetchBackend::Remote(coordinator) => coordinator.end_ingest(),
        }
    }

    /// Records that the items of a log entry are ingested.
    pub(crate) fn record_cursor(&mut self, cursor: LogCursor) {
        if let FetchBackend::Remote(coordinator) = self {
            coordinator.record_cursor(cursor);
        }
    }

    /// Records that everything received is committed.
    pub(crate) fn committed(&mut self, collection: &mut Collection) -> Result<(), Error> {
        match self {
            FetchBackend::Local(local) => {
                for (committed, received) in local.committed.iter().zip(&local.received) {
                    committed.store(*received, Ordering::Release);
                }
                Ok(())
            }
            FetchBackend::Remote(coordinator) => coordinator.committed(collection),
        }
    }

    /// Joins all threads, after they were stopped and their channel is empty.
    pub(crate) fn join(&mut self) -> Result<(), Error> {
        match self {
            FetchBackend::Local(local) => {
                local.journals = local.pool.join()?;
                Ok(())
            }
            FetchBackend::Remote(coordinator) => coordinator.join(),
        }
    }

    /// Removes the recovery data after the last commit.
    pub(crate) fn clean_up(&mut self) -> Result<(), Error> {
        match self {
            FetchBackend::Local(local) => {
                local.journals.clear();
                journal::clear(&local.journal).map_err(|source| journal_error(&local.journal, source))?;
                Ok(())
            }
            FetchBackend::Remote(coordinator) => coordinator.clean_up(),
        }
    }
}
