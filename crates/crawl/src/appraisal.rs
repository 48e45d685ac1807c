//! What is a visit to each page worth now?
//!
//! [`Quality`] says how good a page is and [`Profit`] what a visit gains; this module gathers the facts that both want from
//! where they lie: the page's row, its site, and ranks. Facts are scaled by the largest of the collection ([`Most`]), which a
//! scan has to find first. The manager scales by those of its previous scan, which are hardly different, and so looks
//! through all pages once for each batch.
//!
//! It judges pages, whether they may be visited or not, and changes nothing.

use frontier::{Contribution, Most, PageFacts, Profit, Quality, UNKNOWN_CHANGES_PER_DAY, fresh_probability};
use model::PageId;
use store::{Column, PageFlags, PageRecord, PageStateReader, ScanRow, SiteStateReader, Snapshot, Stage};

use crate::crawl_settings::CrawlSettings;
use crate::error::Error;
use crate::focus::from_16_bits;
use crate::page_ranks::PageRanks;

/// What a site gives its pages.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SiteFacts {
    /// Pages that were not fetched yet.
    pub(crate) pending: u32,
    /// Links from other sites.
    pub(crate) in_links: u32,
}

/// Where the facts about pages are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    /// By number.
    pub(crate) sites: &'a [SiteFacts],
    pub(crate) ranks: &'a PageRanks,
}

/// Judges the pages of a collection at one moment.
#[derive(Debug)]
pub(crate) struct Appraisal<'a> {
    facts: Facts<'a>,
    quality: Quality,
    profit: Profit,
    now_s: u32,
}

/// Why a page is as much worth as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// What each term adds to the quality.
    pub terms: Vec<Contribution>,
    /// From 0 to 1.
    pub quality: f32,
    /// How often it is believed to change; for a page of which nothing is known, what is believed of any page.
    pub changes_per_day: f32,
    /// How likely the copy is still what the page is; nothing for a page without a copy.
    pub fresh: Option<f32>,
    /// Whether its site says that it has changed.
    pub known_stale: bool,
    /// What a visit gains; of two pages that are due, the one with more comes first.
    pub profit: f32,
}

impl SiteFacts {
    pub(crate) fn of_all(sites: &SiteStateReader) -> store::Result<Vec<SiteFacts>> {
        let mut all = vec![SiteFacts::default(); sites.sites() as usize];
        let parts = sites.scan(|found: &mut Vec<_>, site, record| {
            let pending = record.pages_known.saturating_sub(record.pages_fetched);
            found.push((site, SiteFacts { pending, in_links: record.in_links }));
        })?;
        for (site, facts) in parts.into_iter().flatten() {
            all[site.index()] = facts;
        }
        Ok(all)
    }
}

impl Facts<'_> {
    pub(crate) fn of(&self, row: &ScanRow) -> PageFacts {
        let site = self.sites.get(row.site.index()).copied().unwrap_or_default();
        PageFacts {
            page: row.page,
            depth: row.depth,
            dynamic: row.flags.has(PageFlags::DYNAMIC),
            in_links: row.in_links,
            site_in_links: site.in_links,
            site_pending: site.pending,
            cash: row.cash + row.cash_history,
            location: from_16_bits(row.location),
            relevance: from_16_bits(row.relevance),
            ranks: self.ranks.of(row),
        }
    }

    /// The most that any page has of each fact.
    pub(crate) fn most(&self, pages: &PageStateReader) -> store::Result<Most> {
        let parts = pages.scan(&Column::ALL, |most: &mut Most, row| most.see(&self.of(row)))?;
        Ok(merged(parts))
    }
}

/// What all parts of a scan have seen.
pub(crate) fn merged(parts: impl IntoIterator<Item = Most>) -> Most {
    parts.into_iter().fold(Most::default(), |mut all, part| {
        all.merge(&part);
        all
    })
}

impl<'a> Appraisal<'a> {
    pub(crate) fn new(facts: Facts<'a>, most: &Most, settings: &CrawlSettings, now_s: u32) -> Appraisal<'a> {
        let quality = Quality::new(settings.weights(), most);
        Appraisal { facts, quality, profit: settings.profit, now_s }
    }

    /// What a visit to a page gains, of which these are the facts.
    pub(crate) fn profit(&self, row: &ScanRow, facts: &PageFacts) -> f32 {
        self.profit_of(row, self.quality.of(facts))
    }

    fn profit_of(&self, row: &ScanRow, quality: f32) -> f32 {
        match row.stage {
            // Of a page that failed, there may be nothing yet.
            _ if row.last_visit_s == 0 => self.profit.of_new(quality),
            Stage::Failed => self.profit.of_new(quality),
            _ => {
                let known_stale = row.flags.has(PageFlags::STALE);
                self.profit.of_visited(quality, changes_per_day(row), self.age_days(row), known_stale)
            }
        }
    }

    fn age_days(&self, row: &ScanRow) -> f32 {
        self.now_s.saturating_sub(row.last_visit_s) as f32 / 86_400.0
    }

    fn judge(&self, row: &ScanRow) -> Judgement {
        let facts = self.facts.of(row);
        let quality = self.quality.of(&facts);
        let known_stale = row.flags.has(PageFlags::STALE);
        let fresh =
            || fresh_probability(f64::from(changes_per_day(row)), f64::from(self.age_days(row))) as f32;
        Judgement {
            terms: self.quality.explain(&facts),
            quality,
            changes_per_day: changes_per_day(row),
            fresh: (row.stage == Stage::Fetched).then(|| if known_stale { 0.0 } else { fresh() }),
            known_stale,
            profit: self.profit_of(row, quality),
        }
    }
}

fn changes_per_day(row: &ScanRow) -> f32 {
    if row.changes_per_day > 0.0 { row.changes_per_day } else { UNKNOWN_CHANGES_PER_DAY }
}

/// Judges one page as the manager would at this time, in Unix seconds. Looks through all pages.
pub fn judge(
    snapshot: &Snapshot,
    settings: &CrawlSettings,
    page: PageId,
    record: &PageRecord,
    now_s: u32,
) -> Result<Judgement, Error> {
    let sites = SiteFacts::of_all(&snapshot.sites)?;
    let mut ranks = PageRanks::default();
    let fetched = sites_fetched(&snapshot.sites)?;
    ranks.refresh(snapshot.folder(), &snapshot.links, settings, snapshot.pages.pages(), fetched)?;
    let facts = Facts { sites: &sites, ranks: &ranks };
    let most = facts.most(&snapshot.pages)?;
    Ok(Appraisal::new(facts, &most, settings, now_s).judge(&ScanRow::of(page, record)))
}

/// How many pages of all sites were fetched.
pub(crate) fn sites_fetched(sites: &SiteStateReader) -> store::Result<u64> {
    let parts = sites.scan(|sum: &mut u64, _, record| *sum += u64::from(record.pages_fetched))?;
    Ok(parts.into_iter().sum())
}
