//! The manager: which pages are worth fetching next?
//!
//! It looks through all sites, then through all pages, and makes a batch of those that gain most by a visit
//! ([`crate::appraisal`]), with a limit for each site. A site that is in an open batch is left out until it comes back, so
//! that its clocks are in one place. A site that nobody has asked yet is first asked for its front page alone: what it is
//! called besides, and what it allows, is known before it is gone through.
//!
//! It reads states and marks pages as queued; it never fetches anything.

mod aliases;
mod composition;
pub(crate) mod day;
mod due;
mod front_page;
mod selection;
mod standing;

use std::collections::{BTreeMap, HashSet};

use model::{PageId, Reason, SiteId};
use store::{Collection, LinkLogReader, ScanRow, Stage};

use crate::appraisal::{Appraisal, Facts, SiteFacts, Survey};
use crate::batch::Batch;
use crate::budgets::Budgets;
use crate::clock::seconds;
use crate::crawl_settings::CrawlSettings;
use crate::error::Error;
use crate::open_batches::OpenBatches;
use crate::page_ranks::PageRanks;
use crate::referrals;
use aliases::mark_aliases;
use composition::compose;
use day::Day;
pub(crate) use due::Due;
use due::{Soonest, due};
pub(crate) use front_page::front_page;
use front_page::front_pages;
use selection::{Candidates, Room, select};
use standing::{Standing, Take, judge_sites};

/// Makes batches.
#[derive(Debug, Default)]
pub(crate) struct Manager {
    /// The last batch.
    pub(crate) number: u64,
    pub(crate) open: OpenBatches,
    /// What the last scan found out, for the next: so there is mostly one scan for a batch.
    survey: Option<Survey>,
    ranks: PageRanks,
    /// When the next page will be due, as the last look found, or the next day begins; in Unix milliseconds.
    pub(crate) look_again_ms: u64,
    /// How many sites the last look has found that may not have more pages: today, and because of their domain.
    sites_held: (u64, u64),
    /// Sites whose robots.txt has changed: what it forbade before may be allowed now.
    pub(crate) changed_robots: HashSet<SiteId>,
}

impl Manager {
    /// So many pages of a site came back unasked.
    pub(crate) fn give_back(&self, notes: &mut BTreeMap<String, u64>, site: SiteId, pages: u32, now_ms: u64) {
        if self.open.made_ms(site).is_some_and(|made_ms| day::number(made_ms) == day::number(now_ms)) {
            day::give_back(notes, now_ms, pages as usize);
        }
    }

    /// What the settings allow, and how much of it is used.
    pub(crate) fn budgets(
        &self,
        notes: &BTreeMap<String, u64>,
        settings: &CrawlSettings,
        now_ms: u64,
    ) -> Budgets {
        let (sites_done_today, sites_over_domain_budget) = self.sites_held;
        Budgets { sites_done_today, sites_over_domain_budget, ..day::budgets(notes, settings, now_ms) }
    }

    /// Reads the ranks that the settings ask for.
    pub(crate) fn read_ranks(
        &mut self,
        collection: &Collection,
        settings: &CrawlSettings,
    ) -> Result<(), Error> {
        self.ranks.read(collection.folder(), settings)
    }

    /// The best pages at this time, if there are any; they count as queued from now on.
    pub(crate) fn prepare(
        &mut self,
        collection: &mut Collection,
        settings: &CrawlSettings,
        now_ms: u64,
    ) -> Result<Option<Batch>, Error> {
        self.read_ranks(collection, settings)?;
        release_forbidden(collection, &std::mem::take(&mut self.changed_robots))?;
        // Pages that do not belong any more are found out when they are chosen: then there is another choice.
        loop {
            let (batch, rejected) = self.choose(collection, settings, now_ms)?;
            if !batch.sites.is_empty() || rejected == 0 {
                self.open.add(&batch, now_ms);
                day::count(&mut collection.notes, now_ms, batch.pages());
                return Ok(Some(batch).filter(|batch| !batch.sites.is_empty()));
            }
        }
    }

    /// The best pages, and how many of the best turned out not to belong.
    fn choose(
        &mut self,
        collection: &mut Collection,
        settings: &CrawlSettings,
        now_ms: u64,
    ) -> Result<(Batch, usize), Error> {
        let day = Day::look(&collection.notes, collection.pages.reader(), settings, now_ms)?;
        self.look_again_ms = day.end_ms();
        let room = settings.batch_pages.min(day.left().unwrap_or(usize::MAX));
        let mut standings = self.judge_sites_now(collection, settings, &day, now_ms)?;
        let mut chosen = front_pages(collection, settings, &mut standings, room, now_ms)?;
        let room = Room {
            pages: room.saturating_sub(chosen.len()),
            reserved: reserved(settings, room).saturating_sub(chosen.len()),
            per_site: settings.batch_pages_per_site,
        };
        if room.pages > 0 {
            let candidates = self.best(collection, settings, &standings, &day, now_ms)?;
            chosen.extend(select(candidates, room, |site| day.left_of(site)));
        }
        let (batch, rejected) = compose(collection, settings, self.number + 1, &chosen, seconds(now_ms))?;
        self.number += u64::from(!batch.sites.is_empty());
        Ok((batch, rejected))
    }

    /// The best pages of each kind.
    fn best(
        &mut self,
        collection: &Collection,
        settings: &CrawlSettings,
        standings: &[Standing],
        day: &Day,
        now_ms: u64,
    ) -> Result<Candidates, Error> {
        let pages = collection.pages.reader();
        let links = LinkLogReader::open(collection.folder(), collection.manifest()?)?;
        let fetched = standings.iter().map(|standing| u64::from(standing.fetched)).sum();
        self.ranks.refresh(collection.folder(), &links, settings, pages.pages(), fetched)?;
        let sites: Vec<SiteFacts> = standings.iter().map(|standing| standing.facts).collect();
        let facts = Facts { sites: &sites, ranks: &self.ranks };
        let survey = match self.survey.take().filter(|survey| survey.holds_for(pages.pages())) {
            Some(survey) => survey,
            None => facts.survey(pages)?,
        };
        let now_s = seconds(now_ms);
        let appraisal = Appraisal::new(facts, &survey, settings, now_s);
        let judge = |(survey, soonest): &mut (Survey, Soonest), row: &ScanRow| {
            let page = facts.of(row);
            survey.see(row, &page);
            let standing = standings.get(row.site.index())?;
            if standing.open || standing.take == Take::FrontPage || !standing.take.admits(row) {
                return None;
            }
            let list = list(row.stage)?;
            let due = due(settings, standing, day, row);
            soonest.see(due, now_ms);
            (due.time_ms <= now_ms).then(|| (list, appraisal.profit(row, &page)))
        };
        let (lists, parts) =
            pages.top_lists(3, settings.batch_pages, settings.batch_pages_per_site, judge)?;
        let (surveys, soonest): (Vec<Survey>, Vec<Soonest>) = parts.into_iter().unzip();
        self.survey = Some(Survey::of(surveys));
        let soonest = Soonest::of(soonest).map(|due| due.time_ms);
        self.look_again_ms = soonest.map_or(day.end_ms(), |due_ms| due_ms.min(day.end_ms()));
        let mut lists = lists.into_iter();
        let mut next = || lists.next().unwrap_or_default();
        Ok(Candidates { new: next(), seen: next(), failed: next() })
    }

    /// When the next page was or will be due after this time: one that was not fetched yet, or has failed; with `revisits`,
    /// any.
    pub(crate) fn next_due(
        &self,
        collection: &Collection,
        settings: &CrawlSettings,
        revisits: bool,
        after_ms: u64,
    ) -> Result<Option<Due>, Error> {
        let standings = judge_sites(collection, settings)?;
        let day = Day::look(&collection.notes, collection.pages.reader(), settings, after_ms)?;
        let look = |soonest: &mut Soonest, row: &ScanRow| {
            let Some(standing) = standings.get(row.site.index()) else { return };
            let counts = match row.stage {
                Stage::New | Stage::Failed => true,
                Stage::Fetched => revisits,
                Stage::Queued | Stage::Rejected => false,
            };
            if counts && standing.take.admits(row) {
                soonest.see(due(settings, standing, &day, row), after_ms);
            }
        };
        let parts = collection.pages.reader().scan(&store::Column::ALL, look)?;
        Ok(Soonest::of(parts))
    }

    /// What can be taken from each site now.
    fn judge_sites_now(
        &mut self,
        collection: &mut Collection,
        settings: &CrawlSettings,
        day: &Day,
        now_ms: u64,
    ) -> Result<Vec<Standing>, Error> {
        mark_aliases(collection)?;
        let mut standings = judge_sites(collection, settings)?;
        let over_budget = standings.iter().filter(|standing| standing.over_budget).count();
        self.sites_held = (day.sites_done(), over_budget as u64);
        for (site, name) in referrals::all(&collection.notes) {
            if let Some(standing) = standings.get_mut(site.index())
                && self.open.busy.has_name(name)
            {
                standing.open = true;
            }
        }
        for (number, standing) in standings.iter_mut().enumerate() {
            let site = SiteId(number as u32);
            let is_busy = || standing.address.is_some_and(|address| self.open.busy.has(address));
            standing.open = standing.open || self.open.holds(site) || is_busy();
            let rests = standing.open || standing.back_off_until_ms > now_ms || day.left_of(site) == Some(0);
            if standing.take == Take::FrontPage && rests {
                // It is not to be entered now; when its pages are due is seen from them.
                standing.take = Take::Pages;
            }
        }
        Ok(standings)
    }
}

/// The list of pages at a stage, in the order of [`Candidates`]; nothing if they are not to be chosen.
fn list(stage: Stage) -> Option<usize> {
    match stage {
        Stage::New => Some(0),
        Stage::Fetched => Some(1),
        Stage::Failed => Some(2),
        Stage::Queued | Stage::Rejected => None,
    }
}

/// How many of so many pages are reserved for those that nobody has seen.
fn reserved(settings: &CrawlSettings, pages: usize) -> usize {
    (f64::from(settings.discovery_share) * pages as f64).ceil() as usize
}

/// What robots.txt forbade before it changed is new again.
pub(crate) fn release_forbidden(collection: &mut Collection, sites: &HashSet<SiteId>) -> store::Result<()> {
    if sites.is_empty() {
        return Ok(());
    }
    let columns = [store::Column::Site, store::Column::Marks];
    let parts = collection.pages.reader().scan(&columns, |pages: &mut Vec<PageId>, row| {
        if row.reason == Reason::RobotsForbid.code() && sites.contains(&row.site) {
            pages.push(row.page);
        }
    })?;
    let mut pages = parts.concat();
    pages.sort_unstable();
    collection.pages.update(&pages, |_, record| (record.stage, record.reason) = (Stage::New, 0))
}
