//! The seeder: takes what harvesters bring into the collection, and with it the pages that nobody knew.
//!
//! Pages go through [`Fold`]; this module takes the rest: what was left out and why, what came back unvisited, what sites
//! say about themselves, and when they may be asked again.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use frontier::Waits;
use model::{PageId, SiteId, UrlClass};
use store::{Collection, PageFlags, PageRecord, Resolved, Result, Stage, UrlBatch};

use crate::batch::RobotsCopy;
use crate::crawl_settings::CrawlSettings;
use crate::fold::{Fold, Folded};
use crate::found::Found;
use crate::gathered::Gathered;
use crate::harvest::{FoundPage, HarvestNews, ReasonCode, SiteReport};
use crate::noted_rests::{self, NotedRest};
use crate::referrals;
use crate::robots_answer::Robots;
use crate::rules::Rules;
use crate::visit;

/// Takes news in, in batches.
pub(crate) struct Seeder {
    fold: Fold,
    pages: Vec<Gathered>,
    bytes: u64,
    news: Vec<HarvestNews>,
    settings: Arc<CrawlSettings>,
}

/// What a batch of news brought.
#[derive(Debug, Default)]
pub(crate) struct Seeded {
    pub(crate) folded: Folded,
    pub(crate) bytes: u64,
    /// Sites that came back.
    pub(crate) done: Vec<SiteId>,
    /// Sites of which pages came back unasked, and how many.
    pub(crate) unasked: Vec<(SiteId, u32)>,
    /// Sites whose robots.txt is not what it was.
    pub(crate) changed_robots: Vec<SiteId>,
}

/// As many bodies as the page store remembers by default.
pub(crate) const DUPLICATE_WINDOW: usize = 1 << 20;

impl Seeder {
    pub(crate) fn new(settings: &Arc<CrawlSettings>, collection: &Collection) -> Result<Seeder> {
        let mut rules = Rules::new(settings);
        rules.count(collection)?;
        let settings = Arc::clone(settings);
        let fold = Fold::by(DUPLICATE_WINDOW, rules);
        Ok(Seeder { fold, pages: Vec::new(), bytes: 0, news: Vec::new(), settings })
    }

    /// Goes by these settings from now on.
    pub(crate) fn follow(&mut self, settings: &Arc<CrawlSettings>) {
        if !Arc::ptr_eq(&self.settings, settings) {
            self.settings = Arc::clone(settings);
            self.fold.rules.follow(settings);
        }
    }

    /// Keeps a page until [`Seeder::seed`].
    pub(crate) fn take_page(&mut self, page: Gathered) {
        self.bytes += page.content_bytes();
        self.pages.push(page);
    }

    /// Keeps news until [`Seeder::seed`].
    pub(crate) fn take_news(&mut self, news: HarvestNews) {
        self.news.push(news);
    }

    /// How many bytes of pages wait.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.bytes
    }

    /// How many pages and pieces of news wait.
    pub(crate) fn waiting(&self) -> usize {
        self.pages.len() + self.news.len()
    }

    /// Takes everything that waits into the collection: pages before the reports of their sites.
    pub(crate) fn seed(&mut self, collection: &mut Collection) -> Result<Seeded> {
        let mut seeded = Seeded { bytes: std::mem::take(&mut self.bytes), ..Seeded::default() };
        seeded.folded = self.fold.fold(collection, std::mem::take(&mut self.pages))?;
        let noted = note_news(collection, std::mem::take(&mut self.news), &self.settings.waits)?;
        for (site, pages) in &noted.found {
            seeded.folded.new_pages += self.note_found(collection, *site, pages)?;
        }
        (seeded.done, seeded.unasked) = (noted.done, noted.unasked);
        seeded.changed_robots = noted.changed_robots;
        Ok(seeded)
    }

    /// Takes links that somebody else has gathered into the collection.
    pub(crate) fn take_links(&mut self, collection: &mut Collection, found: &[Found]) -> Result<Folded> {
        self.fold.take_links(collection, found)
    }

    /// Pages that a site names itself; they are one link away from its front page.
    pub(crate) fn note_found(
        &mut self,
        collection: &mut Collection,
        site: SiteId,
        pages: &[FoundPage],
    ) -> Result<u64> {
        let rules = &self.fold.rules;
        let gather = &self.settings.gather;
        let mut urls = UrlBatch::new();
        let mut found = Vec::with_capacity(pages.len());
        for page in pages {
            if let Ok(url) = gather.rules.canonical(&page.url) {
                urls.push(&url);
                found.push((url.class(&gather.scope.extensions) == UrlClass::Dynamic, page.modified_s));
            }
        }
        let (mut new_static, mut new_dynamic) = (0, 0);
        let resolved = collection.resolve_where(
            &urls,
            // The site is known, so that no new one needs a time.
            0,
            |site| rules.admits(site),
            |new| {
                let (dynamic, modified_s) = found[new.link as usize];
                if dynamic {
                    new_dynamic += 1;
                } else {
                    new_static += 1;
                }
                let site_pages = rules.pages_known(new.site) + new_static + new_dynamic;
                let mut record = rules.new_page(new.site, site_pages, 1, 0, dynamic);
                record.last_change_s = modified_s;
                record.location = rules.promise.of(urls.url(new.link as usize));
                record
            },
        )?;
        note_changes(collection, &resolved, &found)?;
        collection.sites.update(&[site], |_, record| {
            record.pages_known += new_static + new_dynamic;
            record.pages_static += new_static;
            record.pages_dynamic += new_dynamic;
        })?;
        let known = collection.sites.reader().get(site)?.map_or(0, |record| record.pages_known);
        self.fold.rules.note_site(site, known);
        self.fold.rules.note_size(collection);
        Ok(u64::from(new_static + new_dynamic))
    }
}

/// What news meant.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    /// Sites that came back.
    pub(crate) done: Vec<SiteId>,
    /// Sites of which pages came back unasked, and how many.
    pub(crate) unasked: Vec<(SiteId, u32)>,
    /// Sites whose robots.txt is not what it was.
    pub(crate) changed_robots: Vec<SiteId>,
    /// Pages that sites name themselves.
    pub(crate) found: Vec<(SiteId, Vec<FoundPage>)>,
}

/// Takes news into the states of pages and sites.
pub(crate) fn note_news(collection: &mut Collection, news: Vec<HarvestNews>, waits: &Waits) -> Result<Noted> {
    let mut noted = Noted::default();
    let (mut marks, mut reports) = (BTreeMap::new(), Vec::new());
    for news in news {
        match news {
            HarvestNews::Left { page, reason } => {
                marks.insert(page, Mark::Left(reason));
            }
            HarvestNews::Back { page, reason } => {
                marks.insert(page, Mark::Back(reason));
            }
            HarvestNews::Robots { site, robots } => {
                referrals::forget(&mut collection.notes, site);
                if note_robots(collection, site, &robots)? {
                    noted.changed_robots.push(site);
                }
            }
            HarvestNews::Refers { site, name } => referrals::note(&mut collection.notes, site, &name),
            HarvestNews::BackOff { site, until_ms, errors_in_a_row } => {
                collection.sites.update(&[site], |_, record| {
                    record.back_off_until_ms = record.back_off_until_ms.max(until_ms);
                    record.errors_in_a_row = errors_in_a_row;
                })?;
            }
            HarvestNews::Asked { name, address, ended_ms, until_ms } => {
                let rest = NotedRest { name: &name, address, until_ms };
                noted_rests::note(collection, &rest, ended_ms, waits)?;
            }
            HarvestNews::Found { site, pages } => noted.found.push((site, pages)),
            HarvestNews::Done(report) => reports.push(report),
        }
    }
    noted.unasked = mark_pages(collection, &marks)?;
    reports.sort_unstable_by_key(|report| report.site);
    noted.done = note_reports(collection, &reports)?;
    Ok(noted)
}

/// What happened to a page that was not asked for.
#[derive(Debug, Clone, Copy)]
enum Mark {
    Left(ReasonCode),
    Back(Option<ReasonCode>),
}

/// Marks pages; tells how many of each site were in a batch.
fn mark_pages(collection: &mut Collection, marks: &BTreeMap<PageId, Mark>) -> Result<Vec<(SiteId, u32)>> {
    let pages: Vec<PageId> = marks.keys().copied().collect();
    let values: Vec<Mark> = marks.values().copied().collect();
    let mut dequeued: BTreeMap<SiteId, u32> = BTreeMap::new();
    collection.pages.update(&pages, |index, record| {
        *dequeued.entry(record.site).or_default() += u32::from(record.stage == Stage::Queued);
        match values[index] {
            Mark::Left(reason) => (record.stage, record.reason) = (Stage::Rejected, reason.0),
            Mark::Back(reason) => {
                record.stage = stage_before(record);
                record.reason = reason.map_or(record.reason, |reason| reason.0);
            }
        }
    })?;
    let sites: Vec<SiteId> = dequeued.keys().copied().collect();
    let counts: Vec<u32> = dequeued.values().copied().collect();
    collection.sites.update(&sites, |index, record| {
        record.pages_queued = record.pages_queued.saturating_sub(counts[index]);
    })?;
    Ok(dequeued.into_iter().collect())
}

/// The stage of a page before it was put into a batch.
pub(crate) fn stage_before(record: &PageRecord) -> Stage {
    match record {
        PageRecord { visits: 0, .. } => Stage::New,
        PageRecord { status: 200..400, .. } => Stage::Fetched,
        _ => Stage::Failed,
    }
}

/// Pages that are still queued though nobody works on them are free again: after a death, or at the end of a crawl.
/// `lent` are sites whose batches are elsewhere.
pub(crate) fn release_queued(collection: &mut Collection, lent: &HashSet<SiteId>) -> Result<()> {
    release(collection, |site| !lent.contains(&site))
}

/// The same for some sites alone.
pub(crate) fn release_queued_of(collection: &mut Collection, sites: &HashSet<SiteId>) -> Result<()> {
    release(collection, |site| sites.contains(&site))
}

fn release(collection: &mut Collection, is_free: impl Fn(SiteId) -> bool + Sync) -> Result<()> {
    let columns = [store::Column::Site, store::Column::Marks];
    let parts = collection.pages.reader().scan(&columns, |pages: &mut Vec<PageId>, row| {
        if row.stage == Stage::Queued && is_free(row.site) {
            pages.push(row.page);
        }
    })?;
    let marks = parts.into_iter().flatten().map(|page| (page, Mark::Back(None))).collect();
    mark_pages(collection, &marks).map(drop)
}

/// A page changed when its site says so, if that is news. Then it is worth a visit; that a site tells of no change is no
/// proof that there was none.
fn note_changes(collection: &mut Collection, resolved: &Resolved, found: &[(bool, u32)]) -> Result<()> {
    let known = resolved.pages.iter().zip(found).filter(|(page, _)| **page < resolved.first_new);
    let mut changes: Vec<(PageId, u32)> =
        known.map(|(page, (_, modified_s))| (*page, *modified_s)).filter(|(_, time_s)| *time_s > 0).collect();
    changes.sort_unstable();
    // A page may be named twice; the latest date is the last.
    changes.reverse();
    changes.dedup_by_key(|(page, _)| *page);
    changes.reverse();
    let pages: Vec<PageId> = changes.iter().map(|(page, _)| *page).collect();
    collection.pages.update(&pages, |index, record| {
        let modified_s = changes[index].1;
        record.last_change_s = record.last_change_s.max(modified_s);
        if visit::is_told_stale(record, modified_s) {
            record.flags = record.flags.with(PageFlags::STALE);
        }
    })
}

/// Keeps a robots.txt; tells whether it is another than before.
fn note_robots(collection: &mut Collection, site: SiteId, robots: &RobotsCopy) -> Result<bool> {
    let Some(before) = collection.sites.reader().get(site)? else { return Ok(false) };
    if before.robots_fetched_s > robots.fetched_s {
        return Ok(false);
    }
    let rules = Robots::of(robots, "");
    // The last good text is kept when there is none to be had.
    let text_counts = matches!(rules, Robots::Rules(_));
    if text_counts {
        collection.sites.set_robots_text(site, &robots.text)?;
    }
    collection.sites.update(&[site], |_, record| {
        record.robots_fetched_s = robots.fetched_s;
        record.robots_status = robots.status;
        if let Robots::Rules(rules) = &rules {
            let delay = rules.crawl_delay.unwrap_or_default().as_millis();
            record.crawl_delay_ms = u32::try_from(delay).unwrap_or(u32::MAX);
        }
    })?;
    let after = collection.sites.reader().get(site)?.map_or(0, |record| record.robots_hash());
    Ok(before.robots_fetched_s != 0 && (after, robots.status) != (before.robots_hash(), before.robots_status))
}

fn note_reports(collection: &mut Collection, reports: &[SiteReport]) -> Result<Vec<SiteId>> {
    let sites: Vec<SiteId> = reports.iter().map(|report| report.site).collect();
    collection.sites.update(&sites, |index, record| {
        let report = &reports[index];
        record.address = report.address.or(record.address);
        if report.resolved_s != 0 {
            record.resolved_s = report.resolved_s;
        }
        record.resolve_again_s = report.resolve_again_s;
        record.next_request_ms = record.next_request_ms.max(report.next_request_ms);
        record.errors_in_a_row = report.errors_in_a_row;
        record.back_off_until_ms = report.back_off_until_ms;
        record.asked_wait_ms = u32::try_from(report.asked_wait_ms).unwrap_or(u32::MAX);
        record.sitemaps_read_s = record.sitemaps_read_s.max(report.sitemaps_read_s);
    })?;
    Ok(sites)
}
