//! The harvester as a program of its own: fetches the pages of batches, and leaves what came back in closed folders, one
//! for each batch. It never opens the collection, so that it can work anywhere.
//!
//! A harvest that is stopped is closed with what it has; pages that were not asked for go back. One that dies leaves a
//! folder without a name, and the batch is harvested again. What servers asked of us is in a journal of the collection, or
//! beside a batch that was given alone, and since nobody knows when sites were last asked, each is first left alone for its
//! wait. Either is found by whoever harvests the batch next; who takes it to another machine in between takes both.

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use model::{PageId, SiteId};
use tokio::runtime::Builder;

use crate::batch::{Batch, BatchSite};
use crate::crawl_settings::CrawlSettings;
use crate::crew::{self, Crew, CrewPlan, journal_error};
use crate::error::Error;
use crate::harvest::HarvestNews;
use crate::harvest_folder::HarvestWriter;
use crate::harvester::Piece;
use crate::helm::Helm;
use crate::journal::{self, Entry};
use crate::places::{self, Place};
use crate::progress::Progress;
use crate::running::Running;
use crate::stop::Stop;
use crate::territory::Territory;

/// What a harvester did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HarvestSummary {
    /// The folders that it has written.
    pub harvests: Vec<PathBuf>,
    /// Visits of pages in them.
    pub visits: u64,
    /// The counters at the end.
    pub progress: Progress,
    /// How long it took.
    pub duration: Duration,
    /// Whether it was stopped before it was done.
    pub stopped: bool,
}

/// The batches that lie in a collection's folder and have not been harvested.
pub fn open_batches(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    Ok(open_orders(folder)?.into_iter().map(|order| order.batch).collect())
}

fn open_orders(folder: &Path) -> Result<Vec<Order>, Error> {
    let all = Place::Batches.list(folder)?.into_iter();
    let orders = all.map(|(number, batch)| Order { batch, out: Place::Harvests.of(folder, number) });
    Ok(orders.filter(|order| !order.out.exists()).collect())
}

/// Harvests all open batches of a collection.
pub fn harvest_collection(folder: &Path, helm: &Helm) -> Result<HarvestSummary, Error> {
    let orders = open_orders(folder)?;
    let of_batches = orders.iter().map(|order| places::batch_journal(&order.batch)).collect();
    let outcome =
        harvest(&orders, &Journals { own: places::harvest_journal(folder), others: of_batches }, helm)?;
    for order in &orders {
        let journal = places::batch_journal(&order.batch);
        journal::clear(&journal).map_err(|source| journal_error(&journal, source))?;
    }
    Ok(outcome)
}

/// Harvests one batch, wherever it lies, into a folder that must not exist.
pub fn harvest_batch(batch: &Path, out: &Path, helm: &Helm) -> Result<HarvestSummary, Error> {
    // A name like `.` has no place beside it.
    let failed = |source| Error::Io { what: "find", path: batch.to_owned(), source };
    let batch = batch.canonicalize().map_err(failed)?;
    let others = places::harvest_journal_of(&batch).into_iter().collect();
    let journals = Journals { own: places::batch_journal(&batch), others };
    harvest(&[Order { batch, out: out.to_owned() }], &journals, helm)
}

/// Where to write what must not be forgotten, and where a harvester of the same batches may have written it before.
struct Journals {
    own: PathBuf,
    others: Vec<PathBuf>,
}

impl Journals {
    /// What was written by those who did not end in order; nothing if all did.
    fn left_behind(&self) -> Result<Option<Vec<Entry>>, Error> {
        let mut all: Option<Vec<Entry>> = None;
        for folder in self.others.iter().chain([&self.own]) {
            let left = journal::left_behind(folder).map_err(|source| journal_error(folder, source))?;
            if let Some(left) = left {
                all.get_or_insert_default().extend(left);
            }
        }
        Ok(all)
    }
}

/// The sites of a batch, for whoever has to know whom it will ask.
pub fn sites_of_batch(folder: &Path) -> Result<Vec<String>, Error> {
    Ok(Batch::read(folder)?.sites.into_iter().map(|site| site.name).collect())
}

struct Order {
    batch: PathBuf,
    out: PathBuf,
}

fn harvest(orders: &[Order], journals: &Journals, helm: &Helm) -> Result<HarvestSummary, Error> {
    let began = Instant::now();
    let _locks = orders.iter().map(|order| lock(&order.batch)).collect::<Result<Vec<File>, Error>>()?;
    let running = helm.running(None);
    let mut harvesting = Harvesting::default();
    if !orders.is_empty() {
        let journal = &journals.own;
        let crew = harvesting.begin(orders, journals, &running)?;
        let outcome = harvesting.run(crew, &running, helm);
        // Whatever happened, nobody is left behind.
        helm.stop(Stop::AtOnce);
        outcome?;
        journal::clear(journal).map_err(|source| journal_error(journal, source))?;
    }
    Ok(HarvestSummary {
        harvests: orders.iter().map(|order| order.out.clone()).collect(),
        visits: harvesting.visits,
        progress: running.counters.progress(),
        duration: began.elapsed(),
        stopped: harvesting.stopped,
    })
}

/// Two harvesters of one batch would ask its sites twice as often as they may.
fn lock(batch: &Path) -> Result<File, Error> {
    let failed = |source| Error::Io { what: "lock", path: batch.to_owned(), source };
    let folder = File::open(batch).map_err(failed)?;
    match folder.try_lock() {
        Ok(()) => Ok(folder),
        Err(TryLockError::WouldBlock) => Err(Error::InHarvest { folder: batch.to_owned() }),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// Batches on their way to harvests.
#[derive(Default)]
struct Harvesting {
    /// By the place of their order; nothing once it is closed.
    folders: Vec<Option<HarvestWriter>>,
    /// Pages and sites of which nothing has come, and whose they are.
    pages: HashMap<PageId, usize>,
    sites: HashMap<SiteId, usize>,
    open_sites: Vec<usize>,
    /// All sites, with their addresses.
    all: Vec<(String, Option<IpAddr>)>,
    visits: u64,
    stopped: bool,
}

impl Harvesting {
    /// Reads the batches, and what an earlier harvester of them had been told, and starts the threads.
    fn begin(&mut self, orders: &[Order], journals: &Journals, running: &Running) -> Result<Crew, Error> {
        let journal = &journals.own;
        let failed = |source| journal_error(journal, source);
        let settings = running.settings();
        let left = journals.left_behind()?;
        let began_unknown = left.is_some();
        let told = left.unwrap_or_default();
        let (mut batches, mut clocks, mut rests, mut kept) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (number, order) in orders.iter().enumerate() {
            let mut batch = Batch::read(&order.batch)?;
            let now_ms = running.clock.now_ms() as i64;
            let mut folder = HarvestWriter::begin(&order.out, batch.number, &settings.fetch.agent, now_ms)?;
            self.expect(&batch, number);
            for (entry, news) in tell(&mut batch, &told) {
                folder.push_news(news)?;
                kept.push(entry);
            }
            clocks.append(&mut batch.addresses);
            rests.append(&mut batch.rests);
            self.folders.push(Some(folder));
            batches.push(batch);
        }
        journal::start(journal, &kept).map_err(failed)?;
        let committed: Vec<Arc<AtomicU64>> = (0..crew::threads(&settings)).map(|_| Arc::default()).collect();
        let territory = Territory::of_lent(&batches);
        let crew = Crew::start(CrewPlan {
            running,
            journal: Some(journal),
            committed: &committed,
            began_unknown,
            clocks,
            rests,
            territory,
            reads: false,
        })?;
        let counters = &running.counters;
        counters.cycles.store(batches.len() as u64, Relaxed);
        for batch in batches {
            counters.waiting_pages.fetch_add(batch.pages() as u64, Relaxed);
            crew.hand_over(batch);
        }
        Ok(crew)
    }

    fn expect(&mut self, batch: &Batch, order: usize) {
        self.open_sites.push(batch.sites.len());
        for site in &batch.sites {
            self.sites.insert(site.site, order);
            self.all.push((site.name.clone(), site.address));
            self.pages.extend(site.pages.iter().map(|page| (page.page, order)));
        }
    }

    /// Writes what comes until everything has, or until it is stopped; then closes what is open.
    fn run(&mut self, mut crew: Crew, running: &Running, helm: &Helm) -> Result<(), Error> {
        let runtime = Builder::new_current_thread().enable_time().build().map_err(Error::Thread)?;
        while !self.sites.is_empty() && running.stop() == Stop::No && !crew.is_thread_gone() {
            let next = async { tokio::time::timeout(LOOK_AROUND, crew.pieces.recv()).await };
            match runtime.block_on(next) {
                Ok(Some((_, block))) => self.take(block)?,
                Ok(None) => break,
                Err(_) => {}
            }
        }
        self.stopped = !self.sites.is_empty();
        helm.stop(Stop::InOrder);
        while let Some((_, block)) = runtime.block_on(crew.pieces.recv()) {
            self.take(block)?;
        }
        crew.end()?;
        self.close_all(running)
    }

    fn take(&mut self, block: Vec<Piece>) -> Result<(), Error> {
        for piece in block {
            match piece {
                Piece::Fetched(page, fetched) => {
                    let Some(order) = self.pages.remove(&page) else { continue };
                    if let Some(folder) = &mut self.folders[order] {
                        folder.push_visit(page, &fetched)?;
                    }
                }
                Piece::News(news) => self.take_news(news)?,
                // Harvesters that work alone do not read their pages, and have no workers.
                Piece::Gathered(..) | Piece::Log(_) => {}
            }
        }
        Ok(())
    }

    fn take_news(&mut self, news: HarvestNews) -> Result<(), Error> {
        let order = match &news {
            HarvestNews::Left { page, .. } | HarvestNews::Back { page, .. } => self.pages.remove(page),
            HarvestNews::Robots { site, .. }
            | HarvestNews::Refers { site, .. }
            | HarvestNews::BackOff { site, .. }
            | HarvestNews::Found { site, .. } => self.sites.get(site).copied(),
            HarvestNews::Done(report) => self.sites.remove(&report.site),
            // Of a site that may be in none of them.
            HarvestNews::Asked { .. } => self.folders.iter().position(Option::is_some),
        };
        let Some(order) = order else { return Ok(()) };
        let is_done = matches!(news, HarvestNews::Done(_));
        if let Some(folder) = &mut self.folders[order] {
            folder.push_news(news)?;
        }
        self.open_sites[order] -= usize::from(is_done);
        // The last one stays open until all harvesters have told everything.
        let is_last = self.folders.iter().flatten().count() == 1;
        if is_done && self.open_sites[order] == 0 && !is_last { self.close(order) } else { Ok(()) }
    }

    /// Closes what was stopped: pages that were not asked for go back. When requests were dropped, nobody knows of which sites,
    /// nor at which of the batches' addresses; all are left alone for as long as any site may ask for.
    fn close_all(&mut self, running: &Running) -> Result<(), Error> {
        if running.stop() == Stop::AtOnce {
            let ended_ms = running.clock.passed_ms();
            let until_ms = ended_ms + longest_wait_ms(&running.settings());
            if let Some(folder) = self.folders.iter_mut().flatten().next() {
                for (name, address) in std::mem::take(&mut self.all) {
                    folder.push_news(HarvestNews::Asked { name, address, ended_ms, until_ms })?;
                }
            }
        }
        (0..self.folders.len()).try_for_each(|order| self.close(order))
    }

    fn close(&mut self, order: usize) -> Result<(), Error> {
        let Some(mut folder) = self.folders[order].take() else { return Ok(()) };
        for (page, _) in self.pages.extract_if(|_, of| *of == order) {
            folder.push_news(HarvestNews::Back { page, reason: None })?;
        }
        self.visits += folder.close()?;
        Ok(())
    }
}

/// How often to look whether a thread has failed.
const LOOK_AROUND: Duration = Duration::from_millis(200);

/// Lets a batch know what its sites told an earlier harvester, and those that they refer to; gives what it did not know.
pub(crate) fn tell(batch: &mut Batch, told: &[Entry]) -> Vec<(Entry, HarvestNews)> {
    let Batch { sites, addresses, rests, .. } = batch;
    let mut sites: HashMap<String, &mut BatchSite> =
        sites.iter_mut().map(|site| (site.name.clone(), site)).collect();
    let mut all = Vec::new();
    for entry in told {
        if let Some(news @ HarvestNews::Asked { address, until_ms, .. }) = entry.of_anybody() {
            rests.push((entry.site.clone(), until_ms));
            addresses.extend(address.map(|address| (address, until_ms)));
            all.push((entry.clone(), news));
            continue;
        }
        let Some(site) = sites.get_mut(&entry.site) else { continue };
        let news = entry.clone().about(site.site);
        match &news {
            HarvestNews::Robots { robots, .. } => site.robots = Some(robots.clone()),
            HarvestNews::BackOff { until_ms, errors_in_a_row, .. } => {
                site.not_before_ms = site.not_before_ms.max(*until_ms);
                site.errors_in_a_row = *errors_in_a_row;
            }
            _ => {}
        }
        all.push((entry.clone(), news));
    }
    all
}

/// The longest that any site may be left alone for.
fn longest_wait_ms(settings: &CrawlSettings) -> u64 {
    settings.longest_wait_ms().max(settings.waits.most_crawl_delay_ms)
}
