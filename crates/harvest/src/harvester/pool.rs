//! Pool of harvester threads, one per core, and the dispatcher that assigns sites to them.
//!
//! The caller submits batches and receives items until all threads have ended.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::{self, JoinHandle};

use fetch::{Fetcher, Resolver};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, UnboundedSender, channel, unbounded_channel};
use tokio::task::LocalSet;

use crate::control::context::CrawlContext;
use crate::dispatcher::address_policy::AddressPolicy;
use crate::dispatcher::{Dispatcher, DispatcherHandle, DispatcherRequest, HarvesterTask};
use crate::error::Error;
use crate::files::journal::Journal;
use crate::gatherer::Gatherer;
use crate::harvester::{Harvester, HarvesterConfig};
use crate::item::batch::Batch;
use crate::item::harvest_item::HarvestItem;
use crate::item::outbox::Outbox;
use crate::settings::crawl_settings::CrawlSettings;

/// Running pool of harvester threads.
pub struct HarvesterPool {
    /// Chunks of items, with the index of the harvester; the dispatcher has the index after the last.
    pub items: Receiver<(usize, Vec<HarvestItem>)>,
    requests: UnboundedSender<DispatcherRequest>,
    harvesters: Vec<JoinHandle<std::io::Result<Journal>>>,
    dispatcher: Option<JoinHandle<()>>,
    journal: Option<PathBuf>,
}

/// Configuration of a pool.
pub struct HarvesterPoolConfig<'p> {
    /// Shared state of the crawl.
    pub context: &'p CrawlContext,
    /// Directory of the journals, if the caller reads them after a crash.
    pub journal: Option<&'p Path>,
    /// For each harvester, the number of its items that are committed.
    pub committed: &'p [Arc<AtomicU64>],
    /// Whether the times of the last requests are unknown.
    pub clocks_lost: bool,
    /// Earliest times of the next request to addresses, in Unix milliseconds.
    pub address_cooldowns: Vec<(IpAddr, u64)>,
    /// Earliest times of the next request to hosts, in Unix milliseconds.
    pub host_cooldowns: Vec<(String, u64)>,
    /// Addresses that may be contacted.
    pub address_policy: AddressPolicy,
    /// Whether harvesters parse their pages.
    pub gathers: bool,
}

/// Chunks that wait for the receiver.
const CHANNEL_CAPACITY: usize = 16;

impl HarvesterPool {
    /// Starts the threads.
    pub fn start(config: HarvesterPoolConfig<'_>) -> Result<HarvesterPool, Error> {
        let HarvesterPoolConfig {
            context,
            journal,
            committed,
            clocks_lost,
            address_cooldowns,
            host_cooldowns,
            address_policy,
            gathers,
        } = config;
        let settings = context.settings();
        let threads = committed.len();
        let (item_sender, items) = channel(CHANNEL_CAPACITY);
        let (requests, request_receiver) = unbounded_channel();
        let address_cooldowns = Arc::new(address_cooldowns);
        let (mut harvesters, mut task_senders) = (Vec::new(), Vec::new());
        for (index, committed) in committed.iter().enumerate() {
            let (sender, tasks) = unbounded_channel();
            task_senders.push(sender);
            let thread = HarvesterThread {
                context: context.for_harvester(index),
                fetcher: Fetcher::new(Arc::new(settings.fetch.clone()))?
                    .with_body_budget(context.body_budget.clone()),
                journal: Journal::create(journal, index, Arc::clone(committed))
                    .map_err(|source| harvester_error(journal, source))?,
                outbox: Outbox::new(item_sender.clone(), index),
                dispatcher: DispatcherHandle(requests.clone()),
                max_requests: settings.max_connections.div_ceil(threads),
                clocks_lost_since_ms: clocks_lost.then(|| context.clock.now_ms()),
                address_cooldowns: Arc::clone(&address_cooldowns),
                gathers,
            };
            harvesters.push(thread.spawn(tasks)?);
        }
        let outbox = Outbox::new(item_sender, threads);
        let dispatcher = start_dispatcher(context, request_receiver, |context, resolver| {
            Dispatcher::new(context, resolver, task_senders, outbox, host_cooldowns, address_policy)
        })?;
        let journal = journal.map(Path::to_owned);
        Ok(HarvesterPool { items, requests, harvesters, dispatcher: Some(dispatcher), journal })
    }

    /// Submits a batch.
    pub fn submit(&self, batch: Batch) {
        // A dispatcher that is gone has panicked; `join` propagates that.
        let _ = self.requests.send(DispatcherRequest::Batch(batch));
    }

    /// Whether a thread has ended early.
    pub fn has_failed_thread(&self) -> bool {
        let dispatcher_ended = self.dispatcher.as_ref().is_some_and(JoinHandle::is_finished);
        dispatcher_ended || self.harvesters.iter().any(JoinHandle::is_finished)
    }

    /// Joins all threads, once they are stopped and all items are received. Returns their journals.
    pub fn join(&mut self) -> Result<Vec<Journal>, Error> {
        let mut journals = Vec::new();
        for harvester in self.harvesters.drain(..) {
            let ended = harvester.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            journals.push(ended.map_err(|source| harvester_error(self.journal.as_deref(), source))?);
        }
        if let Some(dispatcher) = self.dispatcher.take() {
            dispatcher.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        Ok(journals)
    }
}

/// Number of harvesters of a pool.
pub fn threads(settings: &CrawlSettings) -> usize {
    match settings.threads {
        0 => thread::available_parallelism().map_or(2, std::num::NonZero::get),
        threads => threads,
    }
}

/// Error of writing a journal.
pub fn journal_error(journal: &Path, source: std::io::Error) -> Error {
    Error::Io { operation: "write the journal in", path: journal.to_owned(), source }
}

/// A harvester writes no file but the journal.
fn harvester_error(journal: Option<&Path>, source: std::io::Error) -> Error {
    match journal {
        Some(journal) => journal_error(journal, source),
        None => Error::Thread(source),
    }
}

/// State of a harvester thread before it starts.
struct HarvesterThread {
    context: CrawlContext,
    fetcher: Fetcher,
    journal: Journal,
    outbox: Outbox<HarvestItem>,
    dispatcher: DispatcherHandle,
    max_requests: usize,
    clocks_lost_since_ms: Option<u64>,
    address_cooldowns: Arc<Vec<(IpAddr, u64)>>,
    gathers: bool,
}

impl HarvesterThread {
    fn spawn(
        self,
        tasks: UnboundedReceiver<HarvesterTask>,
    ) -> Result<JoinHandle<std::io::Result<Journal>>, Error> {
        let run = move || {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let settings = self.context.settings();
            let harvester = Harvester::new(HarvesterConfig {
                context: self.context,
                fetcher: self.fetcher,
                gatherer: self.gathers.then(|| Gatherer::new(&settings.gathering)),
                outbox: self.outbox,
                journal: self.journal,
                dispatcher: self.dispatcher,
                max_requests: self.max_requests,
                clocks_lost_since_ms: self.clocks_lost_since_ms,
                address_cooldowns: &self.address_cooldowns,
            });
            LocalSet::new().block_on(&runtime, harvester.run(tasks))
        };
        thread::Builder::new().name("harvester".to_owned()).spawn(run).map_err(Error::Thread)
    }
}

fn start_dispatcher(
    context: &CrawlContext,
    requests: UnboundedReceiver<DispatcherRequest>,
    make: impl FnOnce(CrawlContext, Resolver) -> Dispatcher + Send + 'static,
) -> Result<JoinHandle<()>, Error> {
    let context = context.clone();
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
    let resolver = {
        let _guard = runtime.enter();
        Resolver::new(&context.settings().dns)?
    };
    let run = move || {
        LocalSet::new().block_on(&runtime, make(context, resolver).run(requests));
    };
    thread::Builder::new().name("dispatcher".to_owned()).spawn(run).map_err(Error::Thread)
}
