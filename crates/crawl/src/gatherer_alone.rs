//! The gatherer as a program of its own: takes harvests into the collection, all but their links, which it leaves for the
//! seeder.
//!
//! A harvest is taken in by one commit, which notes that it was; its links lie ready before. A gatherer that dies before
//! the commit has done nothing, and one that dies behind it has only left folders to be removed.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use model::{PageId, Reason, SiteId, UrlRules};
use store::Collection;

use crate::batch::Batch;
use crate::clock::Clock;
use crate::closed_folder::FolderError;
use crate::crawl_settings::CrawlSettings;
use crate::crew;
use crate::error::Error;
use crate::fold::Fold;
use crate::found::FoundWriter;
use crate::gathered::Gathered;
use crate::gatherers::{self, Dealer, JOBS_UNDER_WAY, Promise, Stopped};
use crate::harvest::HarvestNews;
use crate::harvest_folder::{HarvestPiece, HarvestReader};
use crate::journal;
use crate::manager::release_forbidden;
use crate::places::{self, Place, Taken};
use crate::rules::Rules;
use crate::seeder::{DUPLICATE_WINDOW, note_news};

/// What a gatherer did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GatherSummary {
    /// Harvests that were taken in.
    pub harvests: u64,
    /// Pages in them that were asked for.
    pub pages: u64,
    /// Bytes of their bodies, as they were transferred.
    pub bytes: u64,
    /// Pages whose links wait for the seeder.
    pub with_links: u64,
    /// Pages that were left out or not asked for.
    pub not_asked: u64,
}

/// Takes all harvests in that lie in the collection's folder.
pub fn gather(collection: &mut Collection, settings: &Arc<CrawlSettings>) -> Result<GatherSummary, Error> {
    places::forget(collection);
    let clock = Clock::start();
    let mut rules = Rules::new(settings);
    rules.count(collection)?;
    let mut gathering =
        Gathering { settings, fold: Fold::by(DUPLICATE_WINDOW, rules), summary: GatherSummary::default() };
    let folder = collection.folder().to_owned();
    for (number, harvest) in Place::Harvests.list(&folder)? {
        if Taken::of(collection, number) == Taken::Nothing {
            gathering.take(collection, number, &harvest)?;
            Taken::Pages { lines: 0 }.note(collection, number);
            collection.commit(clock.now_ms() as i64)?;
            gathering.summary.harvests += 1;
        }
        // The batch goes first: without its harvest it would be harvested again.
        Place::Batches.remove(&folder, number)?;
        Place::Harvests.remove(&folder, number)?;
        let journal = places::batch_journal(&Place::Batches.of(&folder, number));
        journal::clear(&journal).map_err(|source| crew::journal_error(&journal, source))?;
    }
    Ok(gathering.summary)
}

/// Pages are stored when they have so many bytes, or are so many.
const BATCH_BYTES: u64 = 16 << 20;
const BATCH_PAGES: usize = 4 << 10;

struct Gathering<'s> {
    settings: &'s CrawlSettings,
    fold: Fold,
    summary: GatherSummary,
}

impl Gathering<'_> {
    /// Takes a harvest in; the commit is still to come.
    fn take(&mut self, collection: &mut Collection, number: u64, harvest: &Path) -> Result<(), Error> {
        let reader = HarvestReader::open(harvest)?;
        let folder = collection.folder();
        let batch = Place::Batches.of(folder, number);
        if reader.number != number || !batch.exists() {
            return Err(Error::NoBatch { harvest: harvest.to_owned(), batch });
        }
        let mut expected = Expected::of(Batch::read(&batch)?);
        // What a gatherer has left that died before its commit.
        Place::Found.remove(folder, number)?;
        let mut found = FoundWriter::begin(&Place::Found.of(folder, number), number)?;
        let settings = &self.settings.gather;
        let (dealer, jobs) = gatherers::deal();
        let (step_sender, steps) = sync_channel(JOBS_UNDER_WAY);
        let mut reading =
            Reading { reader, rules: &settings.rules, dealer, ids: Vec::new(), steps: step_sender };
        let mut news = thread::scope(|scope| {
            gatherers::start(scope, &jobs, settings);
            scope.spawn(move || reading.run());
            // Owns the receiver, so that an error here ends the reader, and that the others.
            self.store(collection, steps, &mut expected, &mut found)
        })?;
        news.extend(expected.rest());
        self.summary.not_asked += news.iter().filter(|news| is_about_page(news)).count() as u64;
        let noted = note_news(collection, news, &self.settings.waits)?;
        release_forbidden(collection, &noted.changed_robots.into_iter().collect())?;
        for (site, pages) in noted.found {
            found.push_named(site, pages)?;
        }
        Ok(found.close()?)
    }

    /// Stores the pages, and leaves their links; gives the news.
    fn store(
        &mut self,
        collection: &mut Collection,
        steps: Receiver<Step>,
        expected: &mut Expected,
        found: &mut FoundWriter,
    ) -> Result<Vec<HarvestNews>, Error> {
        let (mut pages, mut bytes, mut news) = (Vec::new(), 0, Vec::new());
        for step in steps {
            match step {
                Step::Pages { ids, answer } => {
                    // A worker that is gone has panicked, and the scope will say so.
                    for (id, page) in ids.into_iter().zip(answer.recv().unwrap_or_default()) {
                        if expected.take_visit(id, page.url.as_str()) {
                            bytes += page.content_bytes;
                            pages.push(page);
                        }
                    }
                }
                Step::News(piece) => news.extend(expected.take_news(&piece).then_some(piece)),
                Step::Broken(error) => return Err(error.into()),
            }
            if bytes >= BATCH_BYTES || pages.len() >= BATCH_PAGES {
                self.fold(collection, std::mem::take(&mut pages), found)?;
                bytes = 0;
            }
        }
        self.fold(collection, pages, found)?;
        Ok(news)
    }

    fn fold(
        &mut self,
        collection: &mut Collection,
        pages: Vec<Gathered>,
        found: &mut FoundWriter,
    ) -> Result<(), Error> {
        let (folded, links) = self.fold.store_pages(collection, pages)?;
        self.summary.pages += folded.pages;
        self.summary.bytes += folded.bytes;
        self.summary.with_links += links.len() as u64;
        Ok(links.iter().try_for_each(|page| found.push(page))?)
    }
}

fn is_about_page(news: &HarvestNews) -> bool {
    matches!(news, HarvestNews::Left { .. } | HarvestNews::Back { .. })
}

/// What a harvest may tell of: the pages and sites of its batch, each page once. A harvest may have come from another
/// machine, and what it tells of others is not believed.
struct Expected {
    pages: HashMap<PageId, String>,
    sites: HashSet<SiteId>,
}

impl Expected {
    fn of(batch: Batch) -> Expected {
        let sites = batch.sites.iter().map(|site| site.site).collect();
        let pages = batch.sites.into_iter().flat_map(|site| site.pages);
        Expected { pages: pages.map(|page| (page.page, page.url)).collect(), sites }
    }

    fn take_visit(&mut self, page: PageId, url: &str) -> bool {
        let is_right = self.pages.get(&page).is_some_and(|known| known == url);
        is_right && self.pages.remove(&page).is_some()
    }

    fn take_news(&mut self, news: &HarvestNews) -> bool {
        match news {
            HarvestNews::Left { page, .. } | HarvestNews::Back { page, .. } => {
                self.pages.remove(page).is_some()
            }
            HarvestNews::Robots { site, .. }
            | HarvestNews::Refers { site, .. }
            | HarvestNews::BackOff { site, .. }
            | HarvestNews::Found { site, .. } => self.sites.contains(site),
            HarvestNews::Done(report) => self.sites.contains(&report.site),
            // About any site, but all it can do is to let that one rest.
            HarvestNews::Asked { .. } => true,
        }
    }

    /// Pages of which nothing was told go back.
    fn rest(self) -> impl Iterator<Item = HarvestNews> {
        self.pages.into_keys().map(|page| HarvestNews::Back { page, reason: None })
    }
}

/// What comes next, in the order of the harvest.
enum Step {
    Pages { ids: Vec<PageId>, answer: Promise },
    News(HarvestNews),
    Broken(FolderError),
}

/// Reads a harvest and hands out its pages.
struct Reading<'r> {
    reader: HarvestReader,
    rules: &'r UrlRules,
    dealer: Dealer,
    ids: Vec<PageId>,
    steps: SyncSender<Step>,
}

impl Reading<'_> {
    fn run(&mut self) {
        let outcome = loop {
            match self.reader.next() {
                Ok(Some(piece)) => {
                    if self.take(piece).is_err() {
                        return;
                    }
                }
                Ok(None) => break self.hand_over(),
                Err(error) => break self.steps.send(Step::Broken(error)).map_err(Stopped::from),
            }
        };
        // Whoever takes in has given up, and knows why.
        let _ = outcome;
    }

    fn take(&mut self, piece: HarvestPiece) -> Result<(), Stopped> {
        let (visit, head, body) = match piece {
            HarvestPiece::News(news) => return Ok(self.steps.send(Step::News(news))?),
            HarvestPiece::Visit(visit, head, body) => (visit, head, body),
        };
        let Some(url) = self.rules.canonical(&visit.url).ok().filter(|url| url.as_str() == visit.url) else {
            // The rules have changed since it became known.
            let reason = Reason::RejectedByPattern.into();
            return Ok(self.steps.send(Step::News(HarvestNews::Left { page: visit.page, reason }))?);
        };
        self.ids.push(visit.page);
        if self.dealer.add(visit.fetched(url, head, body)) { self.hand_over() } else { Ok(()) }
    }

    fn hand_over(&mut self) -> Result<(), Stopped> {
        let (ids, answer) = (std::mem::take(&mut self.ids), self.dealer.hand_over()?);
        Ok(self.steps.send(Step::Pages { ids, answer })?)
    }
}
