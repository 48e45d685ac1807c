//! The crawl: how do manager, harvesters, gatherers and seeder work at the same time?
//!
//! ```text
//!            batches                    sites, by address
//!  manager ----------> front desk ----------------------> harvesters, one per core
//!     ^                    |                                  | each reads its pages (gatherer)
//!     |    states          |  sites that cannot be found      |
//!  collection <----------- seeder <---------------------------'
//!                                    blocks of pages and news, bounded
//! ```
//!
//! The calling thread owns the collection: it takes news in, commits every few seconds, and makes the next batch while the
//! last one is still being harvested. Whoever has nothing to do waits for a channel or a clock, nobody for a lock.
//!
//! A crawl that dies loses what came since the last commit, and nothing else: pages that were queued are free again at
//! the next start, and [journals](crate::journal) tell what servers asked of us in the meantime.

mod elsewhere;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use model::SiteId;
use store::Collection;
use tokio::runtime::{Builder, Runtime};

use self::elsewhere::{LEAST_BATCH_PAGES, begin_workers};
use crate::batch::Batch;
use crate::crawl_settings::CrawlSettings;
use crate::domain_budget;
use crate::error::Error;
use crate::harvester::Piece;
use crate::helm::Helm;
use crate::locate::Addresses;
use crate::manager::{Due, Manager, day};
use crate::mark::Mark;
use crate::painter::Painter;
use crate::places::{self, LAST_BATCH};
use crate::progress::Progress;
use crate::recovery::{self, Lent};
use crate::rows::describe_sites;
use crate::running::Running;
use crate::seeder::{Seeder, release_queued};
use crate::staff::{OwnCrew, Staff};
use crate::stop::Stop;
use crate::workers::Carriers;

/// When a crawl ends, besides when it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CrawlEnd {
    /// After so many batches.
    pub cycles: Option<u64>,
    /// After so many requests for pages.
    pub pages: Option<u64>,
    /// After this time, by the crawl's clock.
    pub duration: Option<Duration>,
    /// Never by itself: when nothing is due it waits, and pages that are due are visited again.
    pub continuous: bool,
}

/// What a crawl did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrawlSummary {
    /// The counters at the end.
    pub progress: Progress,
    /// How long it took.
    pub duration: Duration,
    /// When pages are due that are not due now, in Unix milliseconds.
    pub next_due_ms: Option<u64>,
    /// Whether it was stopped before it was done.
    pub stopped: bool,
}

/// Crawls until it is done, or stopped.
pub fn crawl(collection: &mut Collection, helm: &Helm, end: CrawlEnd) -> Result<CrawlSummary, Error> {
    run(collection, helm, end, None)
}

/// The same, but pages are fetched and read by workers elsewhere.
pub fn crawl_by_workers(
    collection: &mut Collection,
    helm: &Helm,
    end: CrawlEnd,
    carriers: &Carriers,
) -> Result<CrawlSummary, Error> {
    run(collection, helm, end, Some(carriers))
}

fn run(
    collection: &mut Collection,
    helm: &Helm,
    end: CrawlEnd,
    carriers: Option<&Carriers>,
) -> Result<CrawlSummary, Error> {
    let mut cycle = Cycle::begin(collection, helm, end, carriers)?;
    let outcome = cycle.run(collection);
    let stopped = cycle.summary().stopped;
    // Whatever happened, nobody is left behind.
    helm.stop(if outcome.is_ok() { Stop::InOrder } else { Stop::AtOnce });
    let ended = cycle.end(collection, outcome.is_ok());
    helm.picture().draw(|picture| picture.ended = true);
    outcome.and(ended.map(|summary| CrawlSummary { stopped, ..summary }))
}

/// Pages are taken in when they have so many bytes, or so many pages and news wait, or when nothing else is to do.
const SEED_BYTES: u64 = 8 << 20;
const SEED_PIECES: usize = 2 << 10;
/// Links that wait in memory for a commit.
const COMMIT_LINKS: usize = 1 << 20;
/// The manager takes no more than this share of the time.
const MANAGER_SHARE: u32 = 10;
/// So many batches may wait in the harvesters.
const MOST_BATCHES: u64 = 4;
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const LENDING_PAUSE: Duration = Duration::from_millis(200);
/// Pages become due one after the other: no look for their sake alone comes sooner after the last.
const DUE_PAUSE: Duration = Duration::from_secs(1);
/// With nothing to wait for, a continuous crawl looks again after this time.
const LONGEST_SLEEP_MS: u64 = 3_600_000;

/// The calling thread's side of a crawl.
struct Cycle {
    running: Running,
    end: CrawlEnd,
    began: Instant,
    runtime: Runtime,
    staff: Staff,
    /// Entries of logs whose pieces wait to be taken in.
    marks: Vec<Mark>,
    manager: Manager,
    seeder: Seeder,
    /// Sites of a batch that were not lent after all.
    gone_back: Vec<SiteId>,
    /// A batch that will be lent as soon as it is known where its sites are.
    locating: Option<JoinHandle<Result<(Addresses, Batch), Error>>>,
    /// What is elsewhere, and how many sites must not be asked because of it.
    lent: Lent,
    lent_sites: usize,
    last_commit: Instant,
    bytes_since_commit: u64,
    changed_since_commit: bool,
    last_batch: Instant,
    last_batch_took: Duration,
    last_look_ms: u64,
    /// Whether something has changed since the manager last looked.
    worth_a_look: bool,
    next_due_ms: Option<u64>,
    painter: Painter,
}

impl Cycle {
    /// Brings the collection in order after whatever happened before, and starts all threads.
    fn begin(
        collection: &mut Collection,
        helm: &Helm,
        end: CrawlEnd,
        carriers: Option<&Carriers>,
    ) -> Result<Cycle, Error> {
        let running = helm.running(end.pages);
        let settings = running.settings();
        let mut manager = Manager::default();
        // Who asks for what there is not is told before anything is begun.
        manager.read_ranks(collection, &settings)?;
        let end = CrawlEnd { duration: end.duration.map(|duration| running.clock.real(duration)), ..end };
        let began_unknown = recovery::replay_journals(collection, &settings, running.clock.now_ms())?;
        if began_unknown {
            recovery::let_rest(collection, &settings, running.clock.now_ms())?;
        }
        day::recover(&mut collection.notes);
        manager.number = places::last_batch(&collection.notes);
        let (staff, lent) = match carriers {
            None => OwnCrew::begin(collection, &running, began_unknown)?,
            Some(carriers) => begin_workers(collection, carriers, &running, helm, &mut manager)?,
        };
        manager.open.lend(recovery::neighbours(collection, &lent)?);
        let lent_sites = manager.open.lent_sites();
        Ok(Cycle {
            seeder: Seeder::new(&settings, collection)?,
            running,
            end,
            began: Instant::now(),
            runtime: Builder::new_current_thread().enable_time().build().map_err(Error::Thread)?,
            staff,
            marks: Vec::new(),
            gone_back: Vec::new(),
            locating: None,
            lent_sites,
            manager,
            lent,
            last_commit: Instant::now(),
            bytes_since_commit: 0,
            changed_since_commit: true,
            last_batch: Instant::now(),
            last_batch_took: Duration::ZERO,
            last_look_ms: 0,
            worth_a_look: true,
            next_due_ms: None,
            painter: Painter::new(helm.picture()),
        })
    }

    /// Until there is nothing to do, or somebody stops it.
    fn run(&mut self, collection: &mut Collection) -> Result<CrawlSummary, Error> {
        while self.running.stop() == Stop::No && !self.is_over() && !self.staff.is_thread_gone() {
            self.lend_located(collection)?;
            self.manage(collection)?;
            self.painter.draw(collection, &self.manager, &self.running);
            if self.is_idle() && !self.wait_for_work(collection)? {
                break;
            }
            self.receive(self.pause());
            self.seed(collection)?;
            self.commit_if_due(collection)?;
        }
        Ok(self.summary())
    }

    fn is_over(&self) -> bool {
        // Of workers elsewhere nobody knows at each request how many there were.
        let has_pages = |most| self.staff.are_elsewhere() && self.running.counters.visits() >= most;
        self.end.duration.is_some_and(|duration| self.began.elapsed() >= duration)
            || self.end.pages.is_some_and(has_pages)
    }

    /// Whether nobody works on anything.
    fn is_idle(&self) -> bool {
        self.manager.open.sites() == self.lent_sites && self.seeder.waiting() == 0 && self.staff.is_quiet()
    }

    /// Whether the last batch that is wanted has been made.
    fn has_all_batches(&self) -> bool {
        self.end.cycles.is_some_and(|cycles| self.running.counters.cycles.load(Ordering::Relaxed) >= cycles)
    }

    /// Makes the next batch, if there may be something to put into it.
    fn manage(&mut self, collection: &mut Collection) -> Result<(), Error> {
        let settings = self.running.settings();
        let batch_pages = self.batch_pages(&settings);
        let counters = Arc::clone(&self.running.counters);
        let waiting = counters.waiting_pages.load(Ordering::Relaxed);
        // A site that came back should not have to wait for others: the rate of a polite crawl is the number of sites in work.
        let has_room = waiting < batch_pages as u64 * MOST_BATCHES * self.staff.count() as u64;
        let pause = (self.last_batch_took * MANAGER_SHARE).max(self.shortest_pause());
        let rested = self.is_idle() || self.last_batch.elapsed() >= pause;
        self.worth_a_look |= self.due_in() == Duration::ZERO;
        let is_free = self.worth_a_look && has_room && rested && self.locating.is_none();
        if !is_free || self.has_all_batches() {
            return Ok(());
        }
        let started = Instant::now();
        self.last_look_ms = self.running.clock.now_ms();
        let settings = CrawlSettings { batch_pages, ..CrawlSettings::clone(&settings) };
        let batch = self.manager.prepare(collection, &settings, self.last_look_ms)?;
        self.worth_a_look = false;
        if let Some(batch) = batch {
            self.changed_since_commit = true;
            collection.notes.insert(LAST_BATCH.to_owned(), batch.number);
            let most = settings.requests_per_day;
            if most > 0 && day::reserve(&mut collection.notes, most) {
                // What is asked for today is known whatever happens.
                self.commit(collection)?;
            }
            match &self.staff {
                Staff::Workers(_) => self.locate(collection, batch)?,
                Staff::Own(own) => {
                    counters.cycles.fetch_add(1, Ordering::Relaxed);
                    counters.waiting_pages.fetch_add(batch.pages() as u64, Ordering::Relaxed);
                    own.crew.hand_over(batch);
                }
            }
        }
        (self.last_batch, self.last_batch_took) = (Instant::now(), started.elapsed());
        Ok(())
    }

    /// Whoever is elsewhere gets fewer and larger batches, for each is a commit and some messages; unless there is little left to do.
    fn shortest_pause(&self) -> Duration {
        let waiting = self.running.counters.waiting_pages.load(Ordering::Relaxed);
        match self.staff.are_elsewhere() {
            true if waiting >= LEAST_BATCH_PAGES as u64 => DUE_PAUSE,
            true => LENDING_PAUSE,
            false => SHORTEST_PAUSE,
        }
    }

    /// How long until pages become due while others are still at work, or a new day begins.
    fn due_in(&self) -> Duration {
        let due = self.running.clock.instant(self.manager.look_again_ms);
        let due_in = due.saturating_duration_since(Instant::now());
        due_in.max(DUE_PAUSE.saturating_sub(self.last_batch.elapsed()))
    }

    /// Nobody works: looks whether something will be due soon. False if the crawl is done.
    fn wait_for_work(&mut self, collection: &mut Collection) -> Result<bool, Error> {
        if self.has_all_batches() {
            return Ok(false);
        }
        let settings = self.running.settings();
        let now_ms = self.running.clock.now_ms();
        // What was due when the manager last looked, it did not want.
        let continuous = self.end.continuous;
        let due = self.manager.next_due(collection, &settings, continuous, self.last_look_ms)?;
        self.next_due_ms = due.map(|due| due.time_ms);
        let latest_ms = now_ms + settings.longest_pause_ms;
        let due = match due {
            Some(due) if continuous || due.time_ms <= latest_ms => due,
            // New settings may bring work.
            None if continuous => Due { time_ms: now_ms + LONGEST_SLEEP_MS, budget: false },
            _ => return Ok(false),
        };
        self.worth_a_look = true;
        if due.time_ms <= now_ms {
            return Ok(true);
        }
        self.commit(collection)?;
        self.running.counters.set_pause(Some(due));
        self.sleep_until(due.time_ms);
        self.running.counters.set_pause(None);
        Ok(true)
    }

    /// Until this time, or until somebody wants something, or the time of the crawl is up.
    fn sleep_until(&mut self, time_ms: u64) {
        let due = self.running.clock.instant(time_ms);
        let end = self.end.duration.map(|duration| self.began + duration);
        self.runtime.block_on(async {
            let due = tokio::time::sleep_until(end.map_or(due, |end| end.min(due)).into());
            tokio::select! {
                () = due => {}
                () = self.running.changed() => {}
            }
        });
    }

    /// How long to wait for news.
    fn pause(&self) -> Duration {
        let settings = self.running.settings();
        let commit_in =
            Duration::from_millis(settings.commit_every_ms).saturating_sub(self.last_commit.elapsed());
        let mut pause = if self.changed_since_commit { commit_in } else { Duration::from_secs(1) };
        if let Some(duration) = self.end.duration {
            pause = pause.min(duration.saturating_sub(self.began.elapsed()));
        }
        let look_in = match self.worth_a_look {
            _ if self.locating.is_some() => SHORTEST_PAUSE,
            true => (self.last_batch_took * MANAGER_SHARE).max(self.shortest_pause()),
            false => self.due_in(),
        };
        pause = pause.min(look_in);
        pause.max(Duration::from_millis(1))
    }

    /// Takes what has come, and waits for it for a while if there is nothing.
    fn receive(&mut self, pause: Duration) {
        let pieces = self.staff.pieces();
        let first = match pieces.try_recv() {
            Ok(block) => Some(block),
            Err(_) => self.runtime.block_on(async {
                tokio::select! {
                    block = pieces.recv() => block,
                    () = tokio::time::sleep(pause) => None,
                    () = self.running.changed() => None,
                }
            }),
        };
        first.into_iter().for_each(|(number, block)| self.take(number, block));
        while self.seeder.waiting_bytes() < SEED_BYTES && self.seeder.waiting() < SEED_PIECES {
            let Ok((number, block)) = self.staff.pieces().try_recv() else { return };
            self.take(number, block);
        }
    }

    fn take(&mut self, number: usize, block: Vec<Piece>) {
        self.staff.took(number, block.len());
        for piece in block {
            self.painter.see(&piece);
            match piece {
                Piece::Log(mark) => self.marks.push(mark),
                Piece::Gathered(page) => self.seeder.take_page(*page),
                Piece::News(news) => self.seeder.take_news(news),
                // Harvesters of a crawl read their pages themselves.
                Piece::Fetched(..) => {}
            }
        }
    }

    fn seed(&mut self, collection: &mut Collection) -> Result<(), Error> {
        if self.seeder.waiting() == 0 && self.marks.is_empty() {
            return Ok(());
        }
        self.seeder.follow(&self.running.settings());
        let seeded = self.seeder.seed(collection)?;
        let counters = &self.running.counters;
        counters.links.fetch_add(seeded.folded.links, Ordering::Relaxed);
        counters.pages_known.store(u64::from(collection.urls.known().pages()), Ordering::Relaxed);
        self.bytes_since_commit += seeded.bytes;
        self.changed_since_commit = true;
        self.worth_a_look |= !seeded.done.is_empty() || seeded.folded.new_pages > 0;
        let now_ms = self.running.clock.now_ms();
        for (site, pages) in seeded.unasked {
            self.manager.give_back(&mut collection.notes, site, pages, now_ms);
        }
        for site in &seeded.done {
            self.take_back(collection, *site)?;
        }
        self.manager.changed_robots.extend(seeded.changed_robots);
        for site in std::mem::take(&mut self.gone_back) {
            self.manager.open.close(site);
        }
        for mark in std::mem::take(&mut self.marks) {
            if let Some(end) = mark.end {
                self.close_batch(collection, mark.batch, end)?;
            }
            mark.note(&mut collection.notes);
            self.staff.mark(mark);
        }
        if self.staff.are_elsewhere() {
            self.count_elsewhere();
        }
        Ok(())
    }

    /// A site came back. If its address turned out to be one where others are at work, it waits for the end of that.
    fn take_back(&mut self, collection: &Collection, site: SiteId) -> Result<(), Error> {
        let address =
            || Ok::<_, Error>(collection.sites.reader().get(site)?.and_then(|record| record.address));
        let is_lent = !self.lent.addresses.is_empty()
            && address()?.is_some_and(|address| self.lent.addresses.contains(&address.to_canonical()));
        self.manager.open.close(site);
        if is_lent {
            self.manager.open.lend([site]);
            self.lent_sites += 1;
        }
        Ok(())
    }

    fn commit_if_due(&mut self, collection: &mut Collection) -> Result<(), Error> {
        let settings = self.running.settings();
        let by_time = self.last_commit.elapsed() >= Duration::from_millis(settings.commit_every_ms);
        let by_size = self.bytes_since_commit >= settings.commit_bytes
            || collection.links.pending() >= COMMIT_LINKS
            || collection.pages.is_full();
        if self.changed_since_commit && (by_time || by_size) {
            self.commit(collection)?;
        }
        Ok(())
    }

    fn commit(&mut self, collection: &mut Collection) -> Result<(), Error> {
        let (started, time_ms) = (Instant::now(), self.running.clock.now_ms());
        let generation = collection.commit(time_ms as i64)?.generation;
        self.painter.committed(time_ms, generation, started.elapsed());
        self.staff.committed(collection);
        (self.last_commit, self.bytes_since_commit, self.changed_since_commit) = (Instant::now(), 0, false);
        Ok(())
    }

    fn summary(&self) -> CrawlSummary {
        CrawlSummary {
            progress: self.running.counters.progress(),
            duration: self.began.elapsed(),
            next_due_ms: self.next_due_ms,
            stopped: self.running.stop() > Stop::No || self.is_over(),
        }
    }

    /// Takes in what harvesters still bring until all have ended, and commits. `in_order` is false after an error: then the
    /// collection must not be written to any more.
    fn end(mut self, collection: &mut Collection, in_order: bool) -> Result<CrawlSummary, Error> {
        while let Some((number, block)) = self.runtime.block_on(self.staff.pieces().recv()) {
            if in_order {
                self.take(number, block);
                self.seed(collection)?;
                self.commit_if_due(collection)?;
            }
        }
        self.staff.end()?;
        if in_order {
            release_queued(collection, &self.lent.sites)?;
            domain_budget::note(collection, &self.running.settings())?;
            day::settle(&mut collection.notes);
            describe_sites(collection, self.running.clock.now_ms() as i64)?;
            self.commit(collection)?;
            if self.running.stop() < Stop::AtOnce {
                self.staff.clear()?;
            }
            self.painter.finish(collection, &self.manager, &self.running);
        }
        Ok(self.summary())
    }
}
