//! What is a visit to each page worth now?
//!
//! [`Quality`] says how good a page is and [`Profit`] what a visit gains; this module gathers the facts that both want from
//! where they lie: the page's row, its site, and ranks. Facts are scaled by the largest of the collection ([`Most`]), and a
//! page that nobody could compare with itself is believed to change as often as its like: a scan has to find out both first
//! ([`Survey`]). The manager goes by its previous scan as long as the collection has not grown by a tenth since, and so looks
//! through all pages once for each batch.
//!
//! It judges pages, whether they may be visited or not, and changes nothing.

use frontier::{
    ChangePriors, Contribution, Most, PageFacts, Profit, Quality, UNKNOWN_CHANGES_PER_DAY, fresh_probability,
};
use model::{PageId, SiteId};
use store::{
    Column, PageFlags, PageRecord, PageStateReader, ScanRow, SiteRecord, SiteStateReader, Snapshot, Stage,
};

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

/// What a scan finds out about all pages.
#[derive(Debug, Clone, Default)]
pub(crate) struct Survey {
    pages: u32,
    most: Most,
    priors: ChangePriors,
}

/// A survey holds until there are so many more pages: 1/10.
const GROWTH: u32 = 10;

/// What failed before may fail again: another try is worth this share of a first one.
const FAILED_SHARE: f32 = 0.25;

/// Judges the pages of a collection at one moment.
#[derive(Debug)]
pub(crate) struct Appraisal<'a> {
    facts: Facts<'a>,
    quality: Quality,
    /// How often a page of each site changes, as long as nothing better is known.
    expected_rates: Vec<f32>,
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
    /// How often it is believed to change; for a page of which nothing is known, what is believed of its like.
    pub changes_per_day: f32,
    /// How likely the copy is still what the page is; nothing for a page without a copy.
    pub fresh: Option<f32>,
    /// Whether its site says that it has changed.
    pub known_stale: bool,
    /// What a visit gains; of two pages that are due, the one with more comes first.
    pub profit: f32,
}

impl SiteFacts {
    pub(crate) fn of(record: &SiteRecord) -> SiteFacts {
        let pending = record.pages_known.saturating_sub(record.pages_fetched);
        SiteFacts { pending, in_links: record.in_links }
    }

    pub(crate) fn of_all(sites: &SiteStateReader) -> store::Result<Vec<SiteFacts>> {
        let mut all = vec![SiteFacts::default(); sites.sites() as usize];
        let parts =
            sites.scan(|found: &mut Vec<_>, site, record| found.push((site, SiteFacts::of(record))))?;
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

    /// Looks through all pages.
    pub(crate) fn survey(&self, pages: &PageStateReader) -> store::Result<Survey> {
        Ok(Survey::of(pages.scan(&Column::ALL, |survey: &mut Survey, row| survey.see(row, &self.of(row)))?))
    }
}

impl Survey {
    /// Takes a page into account.
    pub(crate) fn see(&mut self, row: &ScanRow, facts: &PageFacts) {
        self.pages += 1;
        self.most.see(facts);
        if row.changes_per_day > 0.0 {
            self.priors.replace(row.site, 0.0, row.changes_per_day);
        }
    }

    /// Whether it still holds when there are so many pages.
    pub(crate) fn holds_for(&self, pages: u32) -> bool {
        pages <= self.pages + self.pages / GROWTH
    }

    /// What all parts of a scan have found.
    pub(crate) fn of(parts: impl IntoIterator<Item = Survey>) -> Survey {
        parts.into_iter().fold(Survey::default(), |mut all, part| {
            all.pages += part.pages;
            all.most.merge(&part.most);
            all.priors.merge(&part.priors);
            all
        })
    }
}

impl<'a> Appraisal<'a> {
    pub(crate) fn new(
        facts: Facts<'a>,
        survey: &Survey,
        settings: &CrawlSettings,
        now_s: u32,
    ) -> Appraisal<'a> {
        let expected_rates = (0..facts.sites.len()).map(|site| survey.priors.of(SiteId(site as u32)));
        Appraisal {
            quality: Quality::new(settings.weights(), &survey.most),
            expected_rates: expected_rates.collect(),
            profit: settings.profit,
            facts,
            now_s,
        }
    }

    /// What a visit to a page gains, of which these are the facts.
    pub(crate) fn profit(&self, row: &ScanRow, facts: &PageFacts) -> f32 {
        self.profit_of(row, self.quality.of(facts))
    }

    fn profit_of(&self, row: &ScanRow, quality: f32) -> f32 {
        match row.stage {
            // Of a page that failed, there may be nothing yet.
            Stage::Failed => FAILED_SHARE * self.profit.of_new(quality),
            _ if row.last_visit_s == 0 => self.profit.of_new(quality),
            _ => {
                let known_stale = row.flags.has(PageFlags::STALE);
                self.profit.of_visited(quality, self.changes_per_day(row), self.age_days(row), known_stale)
            }
        }
    }

    fn changes_per_day(&self, row: &ScanRow) -> f32 {
        if row.changes_per_day > 0.0 {
            return row.changes_per_day;
        }
        self.expected_rates.get(row.site.index()).copied().unwrap_or(UNKNOWN_CHANGES_PER_DAY)
    }

    fn age_days(&self, row: &ScanRow) -> f32 {
        self.now_s.saturating_sub(row.last_visit_s) as f32 / 86_400.0
    }

    fn judge(&self, row: &ScanRow, last_content_s: u32) -> Judgement {
        let facts = self.facts.of(row);
        let quality = self.quality.of(&facts);
        let known_stale = row.flags.has(PageFlags::STALE);
        // The copy is as old as the visit that brought it, whatever later ones met with. Of a page that leads elsewhere, what was
        // seen is that.
        let seen_s = match (last_content_s, row.stage) {
            (0, Stage::Fetched) => Some(row.last_visit_s),
            (0, _) => None,
            (seen_s, _) => Some(seen_s),
        };
        let fresh = |seen_s: u32| {
            let seen_days = f64::from(self.now_s.saturating_sub(seen_s)) / 86_400.0;
            fresh_probability(f64::from(self.changes_per_day(row)), seen_days) as f32
        };
        Judgement {
            terms: self.quality.explain(&facts),
            quality,
            changes_per_day: self.changes_per_day(row),
            fresh: seen_s.map(|seen_s| if known_stale { 0.0 } else { fresh(seen_s) }),
            known_stale,
            profit: self.profit_of(row, quality),
        }
    }
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
    let survey = facts.survey(&snapshot.pages)?;
    Ok(Appraisal::new(facts, &survey, settings, now_s)
        .judge(&ScanRow::of(page, record), record.last_content_s))
}

/// How many pages of all sites were fetched.
pub(crate) fn sites_fetched(sites: &SiteStateReader) -> store::Result<u64> {
    let parts = sites.scan(|sum: &mut u64, _, record| *sum += u64::from(record.pages_fetched))?;
    Ok(parts.into_iter().sum())
}
