//! The manager: which pages are worth fetching next?
//!
//! It looks through all sites, then through all pages, and makes a batch of the best, with a limit for each site. A site
//! that is in an open batch is left out until it comes back, so that its clocks are in one place. A site that nobody has
//! asked yet is first asked for its front page alone: what it is called besides, and what it allows, is known before it is
//! gone through.
//!
//! It reads states and marks pages as queued; it never fetches anything.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use model::{CanonicalUrl, PageId, Reason, SiteId};
use store::{Collection, PageFlags, PageRecord, Result, ScanRow, SiteRecord, Stage, UrlBatch};

use crate::batch::{Batch, BatchPage, BatchSite, RobotsCopy};
use crate::clock::seconds;
use crate::crawl_settings::{CrawlSettings, SiteOverride};
use crate::domain_budget;

/// Makes batches.
#[derive(Debug, Default)]
pub(crate) struct Manager {
    /// The last batch.
    pub(crate) number: u64,
    open_sites: HashSet<SiteId>,
    /// Sites whose robots.txt has changed: what it forbade before may be allowed now.
    pub(crate) changed_robots: HashSet<SiteId>,
}

/// More than any score.
const SECOND_TRY: f32 = 1e12;

/// What the manager thinks of a site.
#[derive(Debug, Clone, Copy, Default)]
struct Standing {
    take: Take,
    /// Pages that were not fetched yet.
    pending: u32,
    fetched: u32,
    /// The sketch of the domains that link to it.
    linking_domains: u64,
    back_off_until_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Take {
    #[default]
    Nothing,
    FrontPage,
    Pages,
}

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
        let mut standings = self.judge_sites(collection, settings, now_ms)?;
        let mut chosen = front_pages(collection, settings, &mut standings, now_ms)?;
        let room = settings.batch_pages.saturating_sub(chosen.len());
        let now_s = seconds(now_ms);
        let score = |row: &ScanRow| {
            let standing = standings.get(row.site.index())?;
            let due = match row.stage {
                Stage::New | Stage::Failed | Stage::Fetched => row.not_before_s <= now_s,
                Stage::Queued | Stage::Rejected => false,
            };
            // What has failed before comes after all that was never tried: it may fail again, and its site with it.
            let tried = if row.stage == Stage::Failed { SECOND_TRY } else { 0.0 };
            let score = || settings.strategy.score(row.depth, row.in_links, standing.pending) - tried;
            (due && standing.take == Take::Pages).then(score)
        };
        let top = collection.pages.reader().top_k(room, settings.batch_pages_per_site, score)?;
        chosen.extend(top.into_iter().map(|(page, _)| page));
        self.compose(collection, settings, &chosen, now_s)
    }

    /// When the next page was or will be due after this time: one that was not fetched yet, or has failed.
    pub(crate) fn next_due_ms(
        &self,
        collection: &Collection,
        settings: &CrawlSettings,
        after_ms: u64,
    ) -> Result<Option<u64>> {
        let standings = self.judge_sites_as_they_are(collection, settings)?;
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
    fn judge_sites(
        &self,
        collection: &mut Collection,
        settings: &CrawlSettings,
        now_ms: u64,
    ) -> Result<Vec<Standing>> {
        mark_aliases(collection)?;
        let mut standings = self.judge_sites_as_they_are(collection, settings)?;
        for (number, standing) in standings.iter_mut().enumerate() {
            let open = self.open_sites.contains(&SiteId(number as u32));
            if open || standing.back_off_until_ms > now_ms {
                standing.take = Take::Nothing;
            }
        }
        Ok(standings)
    }

    /// What could be taken from each site if it were at rest.
    fn judge_sites_as_they_are(
        &self,
        collection: &Collection,
        settings: &CrawlSettings,
    ) -> Result<Vec<Standing>> {
        let parts = collection.sites.reader().scan(|all: &mut Vec<(SiteId, Standing)>, site, record| {
            let take = match record {
                SiteRecord { alias_of: Some(_), .. } => Take::Nothing,
                SiteRecord { resolved_s: 0, last_seen_s: 0, .. } => Take::FrontPage,
                _ => Take::Pages,
            };
            let pending = record.pages_known.saturating_sub(record.pages_fetched);
            all.push((
                site,
                Standing {
                    take,
                    pending,
                    fetched: record.pages_fetched,
                    linking_domains: record.linking_domains,
                    back_off_until_ms: record.back_off_until_ms,
                },
            ));
        })?;
        let mut standings = vec![Standing::default(); collection.sites.reader().sites() as usize];
        for (site, standing) in parts.into_iter().flatten() {
            standings[site.index()] = standing;
        }
        skip_sites(collection, settings, &mut standings);
        hold_to_budget(collection, settings, &mut standings);
        Ok(standings)
    }

    /// Makes a batch of pages, best first, and marks them. Pages that no longer belong by the settings are left out; tells
    /// how many.
    fn compose(
        &mut self,
        collection: &mut Collection,
        settings: &CrawlSettings,
        chosen: &[PageId],
        now_s: u32,
    ) -> Result<(Batch, usize)> {
        let mut sorted = chosen.to_vec();
        sorted.sort_unstable();
        let urls = collection.urls.known().urls(&sorted)?;
        let mut urls: HashMap<PageId, String> =
            sorted.iter().copied().zip(urls).filter_map(|(page, url)| Some((page, url?))).collect();
        let records: HashMap<PageId, PageRecord> =
            sorted.iter().copied().zip(collection.pages.reader().get_many(&sorted)?).collect();
        let mut rejected = Vec::new();
        let mut order: Vec<SiteId> = Vec::new();
        let mut pages_of: HashMap<SiteId, Vec<BatchPage>> = HashMap::new();
        for page in chosen {
            let (Some(url), Some(record)) = (urls.remove(page), records.get(page)) else { continue };
            let site = record.site;
            let canonical = settings.gather.rules.canonical(&url).map_err(|_| Reason::RejectedByPattern);
            if let Err(reason) = canonical.and_then(|url| judge(settings, &url, record.depth)) {
                rejected.push((*page, reason));
                continue;
            }
            let pages = pages_of.entry(site).or_insert_with(|| {
                order.push(site);
                Vec::new()
            });
            pages.push(BatchPage { page: *page, url });
        }
        let left_out = rejected.len();
        reject(collection, rejected)?;
        let mut batch = Batch { number: self.number + 1, ..Batch::default() };
        for site in order {
            let pages = pages_of.remove(&site).unwrap_or_default();
            batch.sites.extend(batch_site(collection, settings, site, pages, now_s)?);
        }
        batch.sites.retain(|site| !site.pages.is_empty());
        mark_queued(collection, &batch)?;
        self.number += u64::from(!batch.sites.is_empty());
        Ok((batch, left_out))
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

/// The front pages of sites that nobody has asked yet, as many as fit. A site whose front page is not to be fetched is
/// entered anywhere.
fn front_pages(
    collection: &mut Collection,
    settings: &CrawlSettings,
    standings: &mut [Standing],
    now_ms: u64,
) -> Result<Vec<PageId>> {
    let mut urls = UrlBatch::new();
    for (number, standing) in standings.iter_mut().enumerate() {
        if standing.take == Take::FrontPage && urls.len() < settings.batch_pages {
            match front_page(collection, settings, SiteId(number as u32)) {
                Some(url) if judge(settings, &url, 0).is_ok() => urls.push(&url),
                _ => standing.take = Take::Pages,
            }
        }
    }
    let resolved = collection
        .resolve(&urls, seconds(now_ms), |new| PageRecord::new(new.site, 0, PageFlags::default()))?;
    let new: Vec<SiteId> = resolved.new.iter().map(|new| new.site).collect();
    collection.sites.update(&new, |_, record| {
        record.pages_known += 1;
        record.pages_static += 1;
    })?;
    let mut pages = resolved.pages;
    pages.sort_unstable();
    let records = collection.pages.reader().get_many(&pages)?;
    let mut due = Vec::with_capacity(pages.len());
    for (page, record) in pages.into_iter().zip(records) {
        match record.stage {
            Stage::New => due.push(page),
            _ => standings[record.site.index()].take = Take::Pages,
        }
    }
    Ok(due)
}

pub(crate) fn front_page(
    collection: &Collection,
    settings: &CrawlSettings,
    site: SiteId,
) -> Option<CanonicalUrl> {
    let name = collection.urls.known().site_name(site)?;
    settings.gather.rules.canonical(&format!("{name}/")).ok()
}

/// Sites that the settings leave out, or that have as many pages as the settings allow them.
fn skip_sites(collection: &Collection, settings: &CrawlSettings, standings: &mut [Standing]) {
    if !settings.sites.iter().any(|site| site.skip || site.pages.is_some()) {
        return;
    }
    for (number, standing) in standings.iter_mut().enumerate() {
        let front = front_page(collection, settings, SiteId(number as u32));
        let own = front.and_then(|url| settings.site(&url));
        let is_full = |site: &SiteOverride| site.pages.is_some_and(|most| standing.fetched >= most);
        if own.is_some_and(|site| site.skip || is_full(site)) {
            standing.take = Take::Nothing;
        }
    }
}

/// Sites of a registered domain that has as many pages as it has earned.
fn hold_to_budget(collection: &Collection, settings: &CrawlSettings, standings: &mut [Standing]) {
    let all = standings.iter().map(|standing| (standing.fetched, standing.linking_domains));
    let over = domain_budget::sites_over(collection, settings, all);
    over.into_iter().for_each(|site| standings[site.index()].take = Take::Nothing);
}

/// A site with the address, the robots.txt and the front page of another is that other, by another name. Virtual hosts
/// that share an address have front pages of their own.
fn mark_aliases(collection: &mut Collection) -> Result<()> {
    type Face = (IpAddr, u64, u64);
    let parts = collection.sites.reader().scan(|faces: &mut Vec<(SiteId, Face)>, site, record| {
        if let (Some(address), None) = (record.address, record.alias_of)
            && record.front_hash != 0
            && record.robots_fetched_s != 0
        {
            faces.push((site, (address, record.robots_hash(), record.front_hash)));
        }
    })?;
    let mut faces: Vec<(SiteId, Face)> = parts.concat();
    faces.sort_unstable_by_key(|(site, _)| *site);
    let mut first: HashMap<Face, SiteId> = HashMap::with_capacity(faces.len());
    let mut aliases = Vec::new();
    for (site, face) in faces {
        match first.get(&face) {
            Some(original) => aliases.push((site, *original)),
            None => {
                first.insert(face, site);
            }
        }
    }
    let sites: Vec<SiteId> = aliases.iter().map(|(site, _)| *site).collect();
    collection.sites.update(&sites, |index, record| record.alias_of = Some(aliases[index].1))
}

fn reject(collection: &mut Collection, mut rejected: Vec<(PageId, Reason)>) -> Result<()> {
    rejected.sort_unstable_by_key(|(page, _)| *page);
    let pages: Vec<PageId> = rejected.iter().map(|(page, _)| *page).collect();
    collection.pages.update(&pages, |index, record| {
        (record.stage, record.reason) = (Stage::Rejected, rejected[index].1.code());
    })
}

/// Whether a page still belongs, by settings that may have changed since it became known.
fn judge(settings: &CrawlSettings, url: &CanonicalUrl, depth: u8) -> std::result::Result<(), Reason> {
    settings.gather.scope.judge(url)?;
    // A host that is an address can be judged without asking anybody.
    let address = url.host().trim_matches(['[', ']']).parse::<IpAddr>();
    if address.is_ok_and(|address| !settings.fetch.networks.permits(address)) {
        return Err(Reason::BlockedAddress);
    }
    let deepest = settings.site(url).and_then(|site| site.depth);
    if deepest.is_some_and(|deepest| depth > deepest) { Err(Reason::TooDeep) } else { Ok(()) }
}

fn mark_queued(collection: &mut Collection, batch: &Batch) -> Result<()> {
    let of_site = |site: &BatchSite| site.pages.iter().map(|page| page.page).collect::<Vec<_>>();
    let mut pages: Vec<PageId> = batch.sites.iter().flat_map(of_site).collect();
    pages.sort_unstable();
    collection.pages.update(&pages, |_, record| record.stage = Stage::Queued)?;
    let mut counts: Vec<(SiteId, u32)> =
        batch.sites.iter().map(|site| (site.site, site.pages.len() as u32)).collect();
    counts.sort_unstable();
    let sites: Vec<SiteId> = counts.iter().map(|(site, _)| *site).collect();
    collection.sites.update(&sites, |index, record| record.pages_queued += counts[index].1)
}

fn batch_site(
    collection: &Collection,
    settings: &CrawlSettings,
    site: SiteId,
    mut pages: Vec<BatchPage>,
    now_s: u32,
) -> Result<Option<BatchSite>> {
    let reader = collection.sites.reader();
    let (Some(record), Some(name)) = (reader.get(site)?, collection.urls.known().site_name(site)) else {
        return Ok(None);
    };
    let own = front_page(collection, settings, site).and_then(|url| settings.site(&url)?.pages);
    if let Some(most) = own {
        pages.truncate(most.saturating_sub(record.pages_fetched) as usize);
    }
    let robots = match record.robots_fetched_s {
        0 => None,
        fetched_s => Some(RobotsCopy {
            fetched_s,
            status: record.robots_status,
            text: reader.robots_text(site)?.unwrap_or_default(),
        }),
    };
    let wants_sitemaps = settings.sitemaps || settings.robots_rdf;
    Ok(Some(BatchSite {
        site,
        name: name.to_owned(),
        address: record.address,
        resolve_again_s: record.resolve_again_s,
        not_before_ms: record.next_request_ms.max(record.back_off_until_ms),
        errors_in_a_row: record.errors_in_a_row,
        asked_wait_ms: record.asked_wait_ms.into(),
        pages_known: record.pages_known,
        robots,
        sitemaps_due: wants_sitemaps
            && record.sitemaps_read_s.saturating_add(settings.sitemap_period_s) <= now_s,
        pages,
    }))
}
