//! Who fetches for a collection? Workers, in other processes or on other machines, in place of a [crew](crate::crew) of its own.
//!
//! The collection's thread offers them batches; a thread here listens to the logs of batches, fetches segments from the depot and hands
//! on what they hold, in the same pieces that a crew would bring. A block of pieces is all that one entry of a log tells, and ends
//! with its mark: both are committed together. The same thread gives orders and hears reports.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use model::UrlRules;
use store::Collection;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::batch::Batch;
use crate::broker::{Broker, BrokerError, Depot, LogEntry};
use crate::error::Error;
use crate::harvest::HarvestNews;
use crate::harvester::Piece;
use crate::helm::Helm;
use crate::live::LiveWorker;
use crate::mark::{self, LogEnd, Mark};
use crate::messages::{self, LogLine, PROTOCOL, Skew, WorkerOrders, WorkerReport};
use crate::places::Place;
use crate::recovery;
use crate::running::Running;
use crate::segment::{SEGMENT_LIMIT_BYTES, read_segment};
use crate::stop::Stop;

/// What carries everything between a collection and its workers.
#[derive(Clone)]
pub struct Carriers {
    /// Carries messages.
    pub broker: Arc<dyn Broker>,
    /// Carries the rest.
    pub depot: Arc<dyn Depot>,
    /// The settings of the moment, as workers will read them.
    pub settings: Arc<dyn Fn() -> String + Send + Sync>,
    /// At the end, workers of which nothing is heard for so long are not waited for.
    pub patience: Duration,
}

/// Blocks that wait to be taken in.
const BLOCKS: usize = 4;
/// How often orders are given, and reports heard.
const LOOK_EVERY: Duration = Duration::from_millis(250);
const ORDER_EVERY: Duration = Duration::from_secs(1);
/// Of a worker that has not reported for so long nothing is shown any more.
const SILENCE: Duration = Duration::from_secs(60);
/// How long to wait before something is asked of a broker again that could not be reached.
const TRY_AGAIN: Duration = Duration::from_millis(500);
/// A segment that is not in the depot is looked for again so often before it is given up: the depot may be behind.
const SEGMENT_TRIES: u32 = 10;

/// The workers, as the thread sees them that owns the collection.
pub(crate) struct Workers {
    pub(crate) pieces: Receiver<(usize, Vec<Piece>)>,
    carriers: Carriers,
    running: Running,
    open: OpenLogs,
    count: Arc<AtomicUsize>,
    listener: Option<JoinHandle<Result<(), Error>>>,
    /// What is to be done once it is committed, and what has been.
    marks: Vec<Mark>,
    /// Batches that are to be forgotten by the broker.
    forget: Vec<u64>,
}

/// The logs that are listened to, and how far.
#[derive(Clone, Default)]
struct OpenLogs(Arc<Mutex<BTreeMap<u64, u64>>>);

impl OpenLogs {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workers {
    /// Begins to listen, and tells which batches workers had when the last process ended, without sites that have come back.
    pub(crate) fn begin(
        collection: &mut Collection,
        carriers: &Carriers,
        running: &Running,
        helm: &Helm,
    ) -> Result<(Workers, Vec<Batch>), Error> {
        let open = OpenLogs::default();
        let recovered = recover(collection, carriers, &open, running)?;
        let (sender, pieces) = channel(BLOCKS);
        let count = Arc::new(AtomicUsize::new(0));
        let listener = Listener {
            carriers: carriers.clone(),
            running: running.clone(),
            helm: helm.clone(),
            open: open.clone(),
            count: Arc::clone(&count),
            pieces: sender,
            folder: collection.folder().to_owned(),
            rules: running.settings().gather.rules.clone(),
            skews: HashMap::new(),
            workers: BTreeMap::new(),
            last_orders: None,
            last_heard: Instant::now(),
            stopping: false,
        };
        let listener = thread::Builder::new()
            .name("workers".to_owned())
            .spawn(move || listener.run())
            .map_err(Error::Thread)?;
        let workers = Workers {
            pieces,
            carriers: carriers.clone(),
            running: running.clone(),
            open,
            count,
            listener: Some(listener),
            marks: Vec::new(),
            forget: Vec::new(),
        };
        Ok((workers, recovered))
    }

    /// Lends a batch; it is noted, and committed.
    pub(crate) fn offer(&mut self, collection: &Collection, batch: &Batch) -> Result<(), Error> {
        // Another collection of the same name may have had a batch of this number.
        insist(&self.running, || self.carriers.broker.forget(batch.number))?;
        batch.write(&Place::Lent.of(collection.folder(), batch.number))?;
        // From now on, so that nothing of it goes unheard.
        self.open.lock().insert(batch.number, 0);
        offer(&self.carriers, batch, &self.running)
    }

    /// An entry of a log was taken in.
    pub(crate) fn mark(&mut self, mark: Mark) {
        self.marks.push(mark);
    }

    /// What was taken in is committed: nobody needs it any more.
    pub(crate) fn committed(&mut self, collection: &mut Collection) -> Result<(), Error> {
        for mark in self.marks.drain(..) {
            if let Some(segment) = &mark.segment {
                // What cannot be removed now stays; it harms nobody.
                let _ = self.carriers.depot.remove(segment);
            }
            if mark.end.is_some() {
                self.forget.push(mark.batch);
            }
        }
        let mut later = Vec::new();
        for batch in self.forget.drain(..) {
            match forget(collection.folder(), &self.carriers, batch) {
                Ok(()) => mark::forget(&mut collection.notes, batch),
                Err(Error::Broker(BrokerError::Unavailable { .. })) => later.push(batch),
                Err(error) => return Err(error),
            }
        }
        self.forget = later;
        Ok(())
    }

    /// How many have reported of late.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    pub(crate) fn is_thread_gone(&self) -> bool {
        self.listener.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Waits for the end of the listener, once everything is stopped and nothing comes any more.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        match self.listener.take() {
            Some(listener) => listener.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => Ok(()),
        }
    }
}

fn offer(carriers: &Carriers, batch: &Batch, running: &Running) -> Result<(), Error> {
    insist(running, || {
        let message = messages::write_offer(batch, &*carriers.depot)?;
        carriers.broker.offer(batch.number, &message)
    })
}

/// Asks until there is an answer, or the crawl is to end at once.
fn insist(running: &Running, mut ask: impl FnMut() -> Result<(), BrokerError>) -> Result<(), Error> {
    loop {
        match ask() {
            Err(BrokerError::Unavailable { .. }) if running.stop() != Stop::AtOnce => {
                thread::sleep(TRY_AGAIN);
            }
            answer => return Ok(answer?),
        }
    }
}

/// The folder goes first: without its log it would be lent again.
fn forget(folder: &Path, carriers: &Carriers, batch: u64) -> Result<(), Error> {
    Place::Lent.remove(folder, batch)?;
    // What cannot be removed now stays; it harms nobody.
    let _ = carriers.depot.remove(&messages::batch_name(batch));
    Ok(carriers.broker.forget(batch)?)
}

/// Finds the batches that workers had, and offers them again in case that nobody got them.
fn recover(
    collection: &mut Collection,
    carriers: &Carriers,
    open: &OpenLogs,
    running: &Running,
) -> Result<Vec<Batch>, Error> {
    let folder = collection.folder().to_owned();
    let mut recovered = Vec::new();
    for number in mark::all(&collection.notes).collect::<Vec<u64>>() {
        let path = Place::Lent.of(&folder, number);
        let taken = mark::taken(&collection.notes, number).unwrap_or(0);
        let log = if path.exists() { carriers.broker.log(number)? } else { Vec::new() };
        let (mut done, mut closed) = (HashSet::new(), false);
        for entry in log.iter().filter(|entry| entry.number <= taken) {
            match LogLine::read(&entry.message) {
                Ok(LogLine::Segment { sites, .. }) => done.extend(sites),
                Ok(LogLine::Closed { .. }) => closed = true,
                Ok(LogLine::Taken { .. } | LogLine::Told { .. }) | Err(_) => {}
            }
        }
        // A log that does not reach where we were is another's, or was lost: whatever was asked for, nobody will tell it.
        let is_lost = path.exists() && log.last().map_or(0, |entry| entry.number) < taken;
        if is_lost {
            recovery::let_rest(collection, &running.settings(), running.clock.now_ms())?;
        }
        if closed || is_lost || !path.exists() {
            forget(&folder, carriers, number)?;
            mark::forget(&mut collection.notes, number);
            continue;
        }
        let mut batch = Batch::read(&path)?;
        open.lock().insert(number, taken);
        if log.is_empty() {
            // It may never have been offered.
            offer(carriers, &batch, running)?;
        }
        batch.sites.retain(|site| !done.contains(&site.site));
        recovered.push(batch);
    }
    Ok(recovered)
}

/// The thread that listens.
struct Listener {
    carriers: Carriers,
    running: Running,
    helm: Helm,
    open: OpenLogs,
    count: Arc<AtomicUsize>,
    pieces: Sender<(usize, Vec<Piece>)>,
    folder: std::path::PathBuf,
    rules: UrlRules,
    /// How the clocks of workers differ.
    skews: HashMap<String, Skew>,
    workers: BTreeMap<String, (Instant, LiveWorker)>,
    last_orders: Option<(Instant, WorkerOrders)>,
    /// When anybody last gave a sign of life, or was told to stop.
    last_heard: Instant,
    stopping: bool,
}

impl Listener {
    /// Until the crawl is stopped and all logs have ended, or nobody takes what comes.
    fn run(mut self) -> Result<(), Error> {
        loop {
            let stop = self.running.stop();
            self.give_orders(stop)?;
            self.hear_reports()?;
            if stop == Stop::AtOnce {
                // What is not told by now is told at the next start.
                return self.reclaim().and_then(|()| self.say_goodbye());
            }
            if stop != Stop::No {
                if !std::mem::replace(&mut self.stopping, true) {
                    self.last_heard = Instant::now();
                }
                self.withdraw()?;
                if self.open.lock().is_empty() {
                    return self.say_goodbye();
                }
            }
            let entries = match self.carriers.broker.listen(LOOK_EVERY) {
                Ok(entries) => entries,
                Err(BrokerError::Unavailable { .. }) => {
                    thread::sleep(TRY_AGAIN);
                    continue;
                }
                Err(error @ BrokerError::Refused(_)) => return Err(error.into()),
            };
            if !entries.is_empty() {
                self.last_heard = Instant::now();
            }
            for entry in entries {
                if !self.take(&entry)? {
                    return Ok(());
                }
            }
            if stop != Stop::No && self.last_heard.elapsed() >= self.carriers.patience {
                self.reclaim()?;
            }
        }
    }

    /// What workers are to do by now; told again and again, since it tells the time.
    fn give_orders(&mut self, stop: Stop) -> Result<(), Error> {
        let settings = self.running.settings();
        let workers = self.workers.len().max(1) as f64;
        let orders = WorkerOrders {
            protocol: PROTOCOL,
            now_ms: self.running.clock.now_ms(),
            stop,
            paused: self.helm.is_paused(),
            requests_per_second: settings.requests_per_second / workers,
            settings: (self.carriers.settings)(),
        };
        let is_news = self.last_orders.as_ref().is_none_or(|(time, last)| {
            let now_ms = last.now_ms;
            time.elapsed() >= ORDER_EVERY || WorkerOrders { now_ms, ..orders.clone() } != *last
        });
        if is_news {
            let message = serde_json::to_vec(&orders).unwrap_or_default();
            self.order(&message)?;
            self.last_orders = Some((Instant::now(), orders));
        }
        Ok(())
    }

    fn order(&self, message: &[u8]) -> Result<(), Error> {
        match self.carriers.broker.order(message) {
            // The next ones follow soon.
            Ok(()) | Err(BrokerError::Unavailable { .. }) => Ok(()),
            Err(error @ BrokerError::Refused(_)) => Err(error.into()),
        }
    }

    /// The last orders must arrive: workers that do not get them would wait for ever.
    fn say_goodbye(&mut self) -> Result<(), Error> {
        self.last_orders = None;
        let stop = self.running.stop().max(Stop::InOrder);
        self.give_orders(stop)
    }

    fn hear_reports(&mut self) -> Result<(), Error> {
        let reports = match self.carriers.broker.reports() {
            Ok(reports) => reports,
            Err(BrokerError::Unavailable { .. }) => return Ok(()),
            Err(error @ BrokerError::Refused(_)) => return Err(error.into()),
        };
        let now_ms = self.running.clock.now_ms();
        if !reports.is_empty() {
            self.last_heard = Instant::now();
        }
        for report in &reports {
            // What cannot be read is of another version, and its worker will say so where it runs.
            let Ok(report) = serde_json::from_slice::<WorkerReport>(report) else { continue };
            self.skews.entry(report.worker.clone()).or_default().see(now_ms, report.now_ms);
            if report.leaves {
                self.workers.remove(&report.worker);
            } else {
                self.workers.insert(report.worker.clone(), (Instant::now(), LiveWorker::of(&report, now_ms)));
            }
        }
        self.workers.retain(|_, (heard, _)| heard.elapsed() < SILENCE);
        self.count.store(self.workers.len(), Relaxed);
        if !reports.is_empty() {
            let all: Vec<LiveWorker> = self.workers.values().map(|(_, worker)| worker.clone()).collect();
            let under_way = all.iter().map(|worker| worker.requests_under_way).sum();
            self.running.counters.requests_under_way.store(under_way, Relaxed);
            self.helm.picture().draw(|picture| picture.workers = all);
        }
        Ok(())
    }

    /// Hands on what an entry tells. False if nobody takes it.
    fn take(&mut self, entry: &LogEntry) -> Result<bool, Error> {
        let LogEntry { batch, number, .. } = *entry;
        let before = match self.open.lock().get_mut(&batch) {
            Some(taken) if number > *taken => std::mem::replace(taken, number),
            Some(_) => return Ok(true),
            None => return self.ignore(batch),
        };
        let mut mark = Mark { batch, number, segment: None, end: None };
        let mut block = match LogLine::read(&entry.message) {
            // What nobody can read tells nothing; its pages go back when the log ends.
            Ok(LogLine::Taken { .. }) | Err(_) => Vec::new(),
            Ok(LogLine::Told { worker, news }) => {
                let skew = self.skews.get(&worker).copied().unwrap_or_default();
                let mut pieces: Vec<Piece> =
                    news.into_iter().map(|entry| Piece::News(entry.news())).collect();
                pieces.iter_mut().for_each(|piece| shift(piece, skew));
                pieces
            }
            Ok(LogLine::Segment { worker, key, number, pages, .. }) => {
                let name = messages::segment_name(batch, key, number);
                let skew = self.skews.get(&worker).copied().unwrap_or_default();
                let pieces = self.fetch(&name)?;
                let mut pieces = pieces.map_or_else(|| self.lost(batch, &pages), Ok)?;
                pieces.iter_mut().for_each(|piece| shift(piece, skew));
                pieces.iter().for_each(|piece| self.running.counters.count_piece(piece));
                mark.segment = Some(name);
                pieces
            }
            Ok(LogLine::Closed { .. }) => {
                self.open.lock().remove(&batch);
                mark.end = Some(if before == 0 { LogEnd::Untouched } else { LogEnd::Taken });
                Vec::new()
            }
        };
        block.push(Piece::Log(mark));
        Ok(self.pieces.blocking_send((0, block)).is_ok())
    }

    /// An entry for a batch that is not lent: done with, and forgotten as soon as that is committed, or of nobody here.
    fn ignore(&self, batch: u64) -> Result<bool, Error> {
        if !Place::Lent.of(&self.folder, batch).exists()
            && let Err(error @ BrokerError::Refused(_)) = self.carriers.broker.forget(batch)
        {
            return Err(error.into());
        }
        Ok(true)
    }

    /// What lies in the depot under a name; nothing if it is not there, or damaged.
    fn fetch(&self, name: &str) -> Result<Option<Vec<Piece>>, Error> {
        let mut tries = 0;
        loop {
            match self.carriers.depot.get(name, SEGMENT_LIMIT_BYTES) {
                Ok(bytes) => return Ok(read_segment(&bytes, &self.rules).ok()),
                Err(BrokerError::Refused(_)) if tries >= SEGMENT_TRIES => return Ok(None),
                Err(BrokerError::Refused(_)) => tries += 1,
                Err(error) if self.running.stop() == Stop::AtOnce => return Err(error.into()),
                Err(BrokerError::Unavailable { .. }) => {}
            }
            thread::sleep(TRY_AGAIN);
        }
    }

    /// Pages whose segment is gone are as if nobody had asked for them.
    fn lost(&self, batch: u64, places: &[u32]) -> Result<Vec<Piece>, Error> {
        let batch = Batch::read(&Place::Lent.of(&self.folder, batch))?;
        let pages: Vec<_> = batch.sites.iter().flat_map(|site| &site.pages).collect();
        let lost = places.iter().filter_map(|place| pages.get(*place as usize));
        Ok(lost.map(|page| Piece::News(HarvestNews::Back { page: page.page, reason: None })).collect())
    }

    /// The crawl ends: takes back what was offered and nobody has taken.
    fn withdraw(&self) -> Result<(), Error> {
        let untouched: Vec<u64> =
            self.open.lock().iter().filter(|(_, taken)| **taken == 0).map(|(batch, _)| *batch).collect();
        untouched.into_iter().try_for_each(|batch| self.close(batch, 0))
    }

    /// Nobody has been heard of for too long: ends all logs, so that whoever has a batch cannot tell of it any more.
    fn reclaim(&mut self) -> Result<(), Error> {
        let open: Vec<u64> = self.open.lock().keys().copied().collect();
        for batch in open {
            let log = match self.carriers.broker.log(batch) {
                Err(BrokerError::Unavailable { .. }) => return Ok(()),
                log => log?,
            };
            self.close(batch, log.last().map_or(0, |entry| entry.number))?;
        }
        self.last_heard = Instant::now();
        Ok(())
    }

    /// Ends a log behind this entry, if it is the last.
    fn close(&self, batch: u64, last: u64) -> Result<(), Error> {
        let closed = LogLine::Closed { worker: None }.write()?;
        match self.carriers.broker.append(batch, last, &closed) {
            // Somebody has it after all, or the broker tells it later: either is heard.
            Ok(_) | Err(BrokerError::Unavailable { .. }) => Ok(()),
            Err(error @ BrokerError::Refused(_)) => Err(error.into()),
        }
    }
}

/// Times that a worker has told by its own clock.
fn shift(piece: &mut Piece, skew: Skew) {
    match piece {
        Piece::News(HarvestNews::BackOff { until_ms, .. }) => *until_ms = skew.here(*until_ms),
        Piece::News(HarvestNews::Asked { ended_ms, until_ms, .. }) => {
            (*ended_ms, *until_ms) = (skew.here(*ended_ms), skew.here(*until_ms));
        }
        Piece::News(HarvestNews::Done(report)) => {
            report.next_request_ms = skew.here(report.next_request_ms);
            report.back_off_until_ms = skew.here(report.back_off_until_ms);
        }
        _ => {}
    }
}
