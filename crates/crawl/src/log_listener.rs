//! What do workers tell, and what are they told? A thread listens to the logs of batches, fetches segments from the depot and hands on
//! what they hold. A block of pieces is all that one entry of a log tells, and ends with its mark: both are committed together. The same
//! thread gives orders and hears reports.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use model::UrlRules;
use tokio::sync::mpsc::Sender;

use crate::batch::Batch;
use crate::broker::{BrokerError, LogEntry, TRY_AGAIN, or_later};
use crate::error::Error;
use crate::harvest::HarvestNews;
use crate::harvester::Piece;
use crate::helm::Helm;
use crate::live::LiveWorker;
use crate::mark::{LogEnd, Mark};
use crate::messages::{self, LogLine, PROTOCOL, Skew, WorkerOrders, WorkerReport};
use crate::places::Place;
use crate::running::Running;
use crate::segment::{SEGMENT_LIMIT_BYTES, read_segment};
use crate::stop::Stop;
use crate::workers::{Carriers, OpenLogs, SharedLogs};

/// How often orders are given, and reports heard.
const LOOK_EVERY: Duration = Duration::from_millis(250);
const ORDER_EVERY: Duration = Duration::from_secs(1);
/// Of a worker that has not reported for so long nothing is shown any more.
const SILENCE: Duration = Duration::from_secs(60);
/// A segment that is not in the depot is looked for again so often before it is given up: the depot may be behind.
const SEGMENT_TRIES: u32 = 10;

/// The thread that listens.
pub(crate) struct LogListener {
    carriers: Carriers,
    running: Running,
    helm: Helm,
    open: OpenLogs,
    count: Arc<AtomicUsize>,
    pieces: Sender<(usize, Vec<Piece>)>,
    folder: PathBuf,
    rules: UrlRules,
    /// How the clocks of workers differ.
    skews: HashMap<String, Skew>,
    workers: BTreeMap<String, (Instant, LiveWorker)>,
    last_orders: Option<(Instant, WorkerOrders)>,
    /// Different for every start of this program.
    run: u64,
    /// When anybody last gave a sign of life, or was told to stop; and when a log last told something, or was.
    last_heard: Instant,
    last_told: Instant,
    stopping: bool,
}

impl LogListener {
    pub(crate) fn new(
        carriers: &Carriers,
        running: &Running,
        helm: &Helm,
        shared: SharedLogs,
        pieces: Sender<(usize, Vec<Piece>)>,
        folder: &Path,
        run: u64,
    ) -> LogListener {
        LogListener {
            carriers: carriers.clone(),
            running: running.clone(),
            helm: helm.clone(),
            open: shared.open,
            count: shared.count,
            pieces,
            folder: folder.to_owned(),
            rules: running.settings().gather.rules.clone(),
            skews: HashMap::new(),
            workers: BTreeMap::new(),
            last_orders: None,
            run,
            last_heard: Instant::now(),
            last_told: Instant::now(),
            stopping: false,
        }
    }

    /// Until the crawl is stopped and all logs have ended, or nobody takes what comes.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        loop {
            let stop = self.attend()?;
            if stop != Stop::No {
                if !std::mem::replace(&mut self.stopping, true) {
                    (self.last_heard, self.last_told) = (Instant::now(), Instant::now());
                }
                self.withdraw()?;
                if self.open.lock().is_empty() || self.has_no_patience(stop) {
                    return self.say_goodbye();
                }
            }
            let Some(entries) = or_later(self.carriers.broker.listen(LOOK_EVERY))? else {
                if stop != Stop::No {
                    // Nobody can tell anything; the next start hears it.
                    return Ok(());
                }
                thread::sleep(TRY_AGAIN);
                continue;
            };
            if !entries.is_empty() {
                (self.last_heard, self.last_told) = (Instant::now(), Instant::now());
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

    /// Gives orders and hears reports; tells what the crawl is to do.
    fn attend(&mut self) -> Result<Stop, Error> {
        let stop = self.running.stop();
        self.give_orders(stop)?;
        self.hear_reports()?;
        Ok(stop)
    }

    /// Whether the crawl ends though logs are open: what is not told by now is told at the next start.
    fn has_no_patience(&self, stop: Stop) -> bool {
        stop == Stop::AtOnce || self.stopping && self.last_told.elapsed() >= self.carriers.patience * 2
    }

    /// What workers are to do by now; told again and again, since it tells the time.
    fn give_orders(&mut self, stop: Stop) -> Result<(), Error> {
        let settings = self.running.settings();
        let workers = self.workers.len().max(1) as f64;
        let orders = WorkerOrders {
            protocol: PROTOCOL,
            run: self.run,
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
            // If they do not arrive, the next ones follow soon.
            or_later(self.carriers.broker.order(&message))?;
            self.last_orders = Some((Instant::now(), orders));
        }
        Ok(())
    }

    /// The last orders: it is over.
    fn say_goodbye(&mut self) -> Result<(), Error> {
        self.last_orders = None;
        let stop = self.running.stop().max(Stop::InOrder);
        self.give_orders(stop)
    }

    fn hear_reports(&mut self) -> Result<(), Error> {
        let reports = or_later(self.carriers.broker.reports())?.unwrap_or_default();
        let now_ms = self.running.clock.now_ms();
        if !reports.is_empty() {
            self.last_heard = Instant::now();
        }
        for report in &reports {
            // What cannot be read is of another version, and its worker will say so where it runs.
            let Ok(report) = serde_json::from_slice::<WorkerReport>(report) else { continue };
            let skew = self.skews.entry(report.worker.clone()).or_default();
            skew.see(report.run, now_ms, report.now_ms);
            if report.leaves {
                self.workers.remove(&report.worker);
            } else {
                let worker = (Instant::now(), LiveWorker::of(&report, now_ms));
                if self.workers.insert(report.worker.clone(), worker).is_none() {
                    // It waits for orders that were given after it came.
                    self.last_orders = None;
                }
            }
        }
        let before = self.workers.len();
        self.workers.retain(|_, (heard, _)| heard.elapsed() < SILENCE);
        self.skews.retain(|worker, _| self.workers.contains_key(worker));
        self.count.store(self.workers.len(), Relaxed);
        if !reports.is_empty() || self.workers.len() < before {
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
            Ok(LogLine::Told { worker, ahead_ms, news }) => {
                let pieces = news.into_iter().map(|entry| Piece::News(entry.news())).collect();
                self.by_our_clock(&worker, ahead_ms, pieces)
            }
            Ok(LogLine::Segment { worker, ahead_ms, key, number, pages, .. }) => {
                let name = messages::segment_name(batch, key, number);
                let pieces = self.fetch(&name)?;
                mark.segment = Some(name);
                let pieces = pieces.map_or_else(|| self.lost(batch, &pages), Ok)?;
                pieces.iter().for_each(|piece| self.running.counters.count_piece(piece));
                self.by_our_clock(&worker, ahead_ms, pieces)
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

    /// What a worker has told by its own clock. Of one that has not reported since we began, only itself knows what that is.
    fn by_our_clock(&self, worker: &str, ahead_ms: Option<i64>, mut pieces: Vec<Piece>) -> Vec<Piece> {
        let skew = self.skews.get(worker);
        let here = |time_ms| {
            skew.map_or_else(|| messages::by_collection(ahead_ms, time_ms), |skew| skew.here(time_ms))
        };
        for piece in &mut pieces {
            if let Piece::News(news) = piece {
                news.set_times(here);
            }
        }
        pieces
    }

    /// An entry for a batch that is not lent: done with, and forgotten as soon as that is committed, or of nobody here.
    fn ignore(&self, batch: u64) -> Result<bool, Error> {
        if !Place::Lent.of(&self.folder, batch).exists() {
            or_later(self.carriers.broker.forget(batch))?;
        }
        Ok(true)
    }

    /// What lies in the depot under a name; nothing if it is not there, or damaged.
    fn fetch(&mut self, name: &str) -> Result<Option<Vec<Piece>>, Error> {
        let mut tries = 0;
        loop {
            let failure = match self.carriers.depot.get(name, SEGMENT_LIMIT_BYTES) {
                Ok(Some(bytes)) => return Ok(read_segment(&bytes, &self.rules).ok()),
                Ok(None) if tries >= SEGMENT_TRIES => return Ok(None),
                Ok(None) => {
                    tries += 1;
                    None
                }
                Err(error @ BrokerError::Refused(_)) => return Err(error.into()),
                Err(error @ BrokerError::Unavailable { .. }) => Some(error),
            };
            // Who stops does not wait for a server: the next start takes it in.
            if let Some(error) = failure.filter(|_| self.running.stop() != Stop::No) {
                return Err(error.into());
            }
            self.attend()?;
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
            let Some(log) = or_later(self.carriers.broker.log(batch))? else { return Ok(()) };
            self.close(batch, log.last().map_or(0, |entry| entry.number))?;
        }
        self.last_heard = Instant::now();
        Ok(())
    }

    /// Ends a log behind this entry, if it is the last.
    fn close(&self, batch: u64, last: u64) -> Result<(), Error> {
        let closed = LogLine::Closed { worker: None }.write()?;
        // If somebody has it after all, that is heard; and so is the end.
        or_later(self.carriers.broker.append(batch, last, &closed))?;
        Ok(())
    }
}
