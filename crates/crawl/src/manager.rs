//! The manager: which pages are worth fetching next?
//!
//! It looks through all sites, then through all pages, and makes a batch of the best, with a limit for each site. A site
//! that is in an open batch is left out until it comes back, so that its clocks are in one place. A site that nobody has
//! asked yet is first asked for its front page alone: what it is called besides, and what it allows, is known before it is
//! gone through.
//!
//! It reads states and marks pages as queued; it never fetches anything.

mod aliases;
mod composition;
mod front_page;
mod standing;

use std::collections::HashSet;

use frontier::{Most, PageFacts, Quality};
use model::{PageId, Reason, SiteId};
use store::{Collection, Result, ScanRow, Stage};

use crate::batch::Batch;
use crate::clock::seconds;
use crate::crawl_settings::CrawlSettings;
use aliases::mark_aliases;
use composition::compose;
pub(crate) use front_page::front_page;
use front_page::front_pages;
use standing::{Standing, Take, judge_sites};

/// Makes batches.
#[derive(Debug, Default)]
pub(crate) struct Manager {
    /// The last batch.
    pub(crate) number: u64,
    open_sites: HashSet<SiteId>,
    /// Sites whose robots.txt has changed: what it forbade before may be allowed now.
    pub(crate) changed_robots: HashSet<SiteId>,
}

/// More than any quality.
const SECOND_TRY: f32 = 2.0;

impl Manager {
    /// How many sites are in open batches.
    pub(crate) fn open_sites(&self) -> usize {
        self.open_sites.len()
    }

    /// A site came back.
    pub(crate) fn close(&mut self, site: SiteId) {
        self.open_sites.remove(&site);
    }

    /// Sites that somebody else harvests.
    pub(crate) fn lend(&mut self, sites: impl IntoIterator<Item = SiteId>) {
        self.open_sites.extend(sites);
    }

    /// The best pages at this time, if there are any; they count as queued from now on.
    pub(crate) fn prepare(
        &mut self,
        collection: &mut Collection,
        settings: &CrawlSettings,
        now_ms: u64,
    ) -> Result<Option<Batch>> {
        release_forbidden(collection, &std::mem::take(&mut self.changed_robots))?;
        // Pages that do not belong any more are found out when they are chosen: then there is another choice.
        loop {
            let (batch, rejected) = self.choose(collection, settings, now_ms)?;
            if !batch.sites.is_empty() || rejected == 0 {
                self.open_sites.extend(batch.sites.iter().map(|site| site.site));
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
    ) -> Result<(Batch, usize)> {
        let mut standings = self.judge_sites_now(collection, settings, now_ms)?;
        let mut chosen = front_pages(collection, settings, &mut standings, now_ms)?;
        let room = settings.batch_pages.saturating_sub(chosen.len());
        let now_s = seconds(now_ms);
        let quality = quality(collection, settings, &standings)?;
        let score = |row: &ScanRow| {
            let standing = standings.get(row.site.index())?;
            let due = match row.stage {
                Stage::New | Stage::Failed | Stage::Fetched => row.not_before_s <= now_s,
                Stage::Queued | Stage::Rejected => false,
            };
            // What has failed before comes after all that was never tried: it may fail again, and its site with it.
            let tried = if row.stage == Stage::Failed { SECOND_TRY } else { 0.0 };
            let score = || quality.of(&facts(row, standing)) - tried;
            (due && standing.take == Take::Pages).then(score)
        };
        let top = collection.pages.reader().top_k(room, settings.batch_pages_per_site, score)?;
        chosen.extend(top.into_iter().map(|(page, _)| page));
        let (batch, rejected) = compose(collection, settings, self.number + 1, &chosen, now_s)?;
        self.number += u64::from(!batch.sites.is_empty());
        Ok((batch, rejected))
    }

    /// When the next page was or will be due after this time: one that was not fetched yet, or has failed.
    pub(crate) fn next_due_ms(
        &self,
        collection: &Collection,
        settings: &CrawlSettings,
        after_ms: u64,
    ) -> Result<Option<u64>> {
        let standings = judge_sites(collection, settings)?;
        let parts =
            collection.pages.reader().scan(&store::Column::ALL, |soonest: &mut Option<u64>, row| {
                let Some(standing) = standings.get(row.site.index()) else { return };
                if standing.take != Take::Nothing && matches!(row.stage, Stage::New | Stage::Failed) {
                    let due_ms = (u64::from(row.not_before_s) * 1_000).max(standing.back_off_until_ms);
                    let sooner = soonest.is_none_or(|soonest| due_ms < soonest);
                    if due_ms > after_ms && sooner {
                        *soonest = Some(due_ms);
                    }
                }
            })?;
        Ok(parts.into_iter().flatten().min())
    }

    /// What can be taken from each site now.
    fn judge_sites_now(
        &self,
        collection: &mut Collection,
        settings: &CrawlSettings,
        now_ms: u64,
    ) -> Result<Vec<Standing>> {
        mark_aliases(collection)?;
        let mut standings = judge_sites(collection, settings)?;
        for (number, standing) in standings.iter_mut().enumerate() {
            let open = self.open_sites.contains(&SiteId(number as u32));
            if open || standing.back_off_until_ms > now_ms {
                standing.take = Take::Nothing;
            }
        }
        Ok(standings)
    }
}

/// The strategy's weights, scaled to what the collection has.
fn quality(collection: &Collection, settings: &CrawlSettings, standings: &[Standing]) -> Result<Quality> {
    let columns = [store::Column::Site, store::Column::Marks, store::Column::InLinks];
    let parts = collection.pages.reader().scan(&columns, |most: &mut Most, row| {
        if let Some(standing) = standings.get(row.site.index()) {
            most.see(&facts(row, standing));
        }
    })?;
    let mut most = Most::default();
    parts.iter().for_each(|part| most.merge(part));
    Ok(Quality::new(settings.strategy.weights(), &most))
}

fn facts(row: &ScanRow, standing: &Standing) -> PageFacts {
    PageFacts {
        page: row.page,
        depth: row.depth,
        in_links: row.in_links,
        site_pending: standing.pending,
        ..PageFacts::default()
    }
}

/// What robots.txt forbade before it changed is new again.
pub(crate) fn release_forbidden(collection: &mut Collection, sites: &HashSet<SiteId>) -> Result<()> {
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
