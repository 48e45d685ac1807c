//! Who fetches? A crew of threads: a harvester for each core, and the front desk that hands them their sites.
//!
//! Whoever starts a crew sends batches to its desk, and takes what comes back until nobody sends any more.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::{self, JoinHandle};

use fetch::{Fetcher, Resolver};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, UnboundedSender, channel, unbounded_channel};
use tokio::task::LocalSet;

use crate::batch::Batch;
use crate::crawl_settings::CrawlSettings;
use crate::error::Error;
use crate::front_desk::{Desk, DeskRequest, FrontDesk, Work};
use crate::gatherer::Gatherer;
use crate::harvester::{Equipment, Harvester, Piece};
use crate::journal::Journal;
use crate::outbox::Outbox;
use crate::running::Running;
use crate::territory::Territory;

/// Threads at work.
pub(crate) struct Crew {
    /// Blocks of pieces, each with the number of the harvester; the front desk has the number behind the last.
    pub(crate) pieces: Receiver<(usize, Vec<Piece>)>,
    desk: UnboundedSender<DeskRequest>,
    harvesters: Vec<JoinHandle<std::io::Result<Journal>>>,
    front_desk: Option<JoinHandle<()>>,
    journal: Option<PathBuf>,
}

/// What a crew begins with.
pub(crate) struct CrewPlan<'p> {
    pub(crate) running: &'p Running,
    /// The folder of the journals, where somebody would read them after a kill.
    pub(crate) journal: Option<&'p Path>,
    /// For each harvester, how many of its pieces will never be needed again.
    pub(crate) committed: &'p [Arc<AtomicU64>],
    /// Whether nobody knows when sites were last asked.
    pub(crate) began_unknown: bool,
    /// When addresses may be asked again.
    pub(crate) clocks: Vec<(IpAddr, u64)>,
    /// When sites may be asked again, by name.
    pub(crate) rests: Vec<(String, u64)>,
    pub(crate) territory: Territory,
    /// Whether harvesters read their pages themselves.
    pub(crate) reads: bool,
}

/// Blocks that wait to be taken in.
const BLOCKS: usize = 16;

impl Crew {
    /// Starts all threads.
    pub(crate) fn start(plan: CrewPlan<'_>) -> Result<Crew, Error> {
        let CrewPlan { running, journal, committed, began_unknown, clocks, rests, territory, reads } = plan;
        let settings = running.settings();
        let threads = committed.len();
        let (piece_sender, pieces) = channel(BLOCKS);
        let (desk, desk_requests) = unbounded_channel();
        let clocks = Arc::new(clocks);
        let (mut harvesters, mut ways) = (Vec::new(), Vec::new());
        for (number, committed) in committed.iter().enumerate() {
            let (way, work) = unbounded_channel();
            ways.push(way);
            let start = Start {
                running: running.with_number(number),
                fetcher: Fetcher::new(Arc::new(settings.fetch.clone()))?,
                journal: Journal::create(journal, number, Arc::clone(committed))
                    .map_err(|source| harvester_error(journal, source))?,
                outbox: Outbox::new(piece_sender.clone(), number),
                desk: Desk(desk.clone()),
                most_requests: settings.connections.div_ceil(threads),
                began_unknown_ms: began_unknown.then(|| running.clock.now_ms()),
                clocks: Arc::clone(&clocks),
                reads,
            };
            harvesters.push(start.harvester(work)?);
        }
        let outbox = Outbox::new(piece_sender, threads);
        let front_desk = start_front_desk(running, desk_requests, |running, resolver| {
            FrontDesk::new(running, resolver, ways, outbox, rests, territory)
        })?;
        let journal = journal.map(Path::to_owned);
        Ok(Crew { pieces, desk, harvesters, front_desk: Some(front_desk), journal })
    }

    /// Gives it work.
    pub(crate) fn hand_over(&self, batch: Batch) {
        // A front desk that is gone has panicked; the end will tell.
        let _ = self.desk.send(DeskRequest::Batch(batch));
    }

    /// Whether somebody has failed.
    pub(crate) fn is_thread_gone(&self) -> bool {
        let desk_is_gone = self.front_desk.as_ref().is_some_and(JoinHandle::is_finished);
        desk_is_gone || self.harvesters.iter().any(JoinHandle::is_finished)
    }

    /// Waits for the end of all threads, once they have been stopped and nothing comes any more. Gives their journals.
    pub(crate) fn end(&mut self) -> Result<Vec<Journal>, Error> {
        let mut journals = Vec::new();
        for harvester in self.harvesters.drain(..) {
            let ended = harvester.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            journals.push(ended.map_err(|source| harvester_error(self.journal.as_deref(), source))?);
        }
        if let Some(front_desk) = self.front_desk.take() {
            front_desk.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        Ok(journals)
    }
}

/// How many harvesters a crew has.
pub(crate) fn threads(settings: &CrawlSettings) -> usize {
    match settings.threads {
        0 => thread::available_parallelism().map_or(2, std::num::NonZero::get),
        threads => threads,
    }
}

pub(crate) fn journal_error(journal: &Path, source: std::io::Error) -> Error {
    Error::Io { what: "write the journal in", path: journal.to_owned(), source }
}

/// The journal is all that a harvester writes.
fn harvester_error(journal: Option<&Path>, source: std::io::Error) -> Error {
    match journal {
        Some(journal) => journal_error(journal, source),
        None => Error::Thread(source),
    }
}

/// What a harvester's thread begins with.
struct Start {
    running: Running,
    fetcher: Fetcher,
    journal: Journal,
    outbox: Outbox<Piece>,
    desk: Desk,
    most_requests: usize,
    began_unknown_ms: Option<u64>,
    clocks: Arc<Vec<(IpAddr, u64)>>,
    reads: bool,
}

impl Start {
    fn harvester(self, work: UnboundedReceiver<Work>) -> Result<JoinHandle<std::io::Result<Journal>>, Error> {
        let run = move || {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let settings = self.running.settings();
            let harvester = Harvester::new(Equipment {
                running: self.running,
                fetcher: self.fetcher,
                gatherer: self.reads.then(|| Gatherer::new(&settings.gather)),
                outbox: self.outbox,
                journal: self.journal,
                desk: self.desk,
                most_requests: self.most_requests,
                began_unknown_ms: self.began_unknown_ms,
                clocks: &self.clocks,
            });
            LocalSet::new().block_on(&runtime, harvester.run(work))
        };
        thread::Builder::new().name("harvester".to_owned()).spawn(run).map_err(Error::Thread)
    }
}

fn start_front_desk(
    running: &Running,
    requests: UnboundedReceiver<DeskRequest>,
    make: impl FnOnce(Running, Resolver) -> FrontDesk + Send + 'static,
) -> Result<JoinHandle<()>, Error> {
    let running = running.clone();
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
    let resolver = {
        let _guard = runtime.enter();
        Resolver::new(&running.settings().dns)?
    };
    let run = move || {
        LocalSet::new().block_on(&runtime, make(running, resolver).run(requests));
    };
    thread::Builder::new().name("front desk".to_owned()).spawn(run).map_err(Error::Thread)
}
