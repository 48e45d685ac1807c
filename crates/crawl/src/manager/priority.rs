//! Priority of pages: the value of fetching each page now.
//!
//! [`Quality`] is the quality of a page and [`PriorityModel`] the gain of a fetch; this module collects the facts for both from
//! the page record, the site record and the ranks. Facts are scaled by their maxima in the collection ([`FactMaxima`]), and a
//! page without comparable fetches gets the change rate of similar pages: both come from a scan ([`FactSurvey`]). The manager
//! uses the survey of its previous scan until the collection has grown by a tenth, so that each batch needs one scan.
//!
//! It scores pages, eligible or not, and changes nothing.

use frontier::{
    ChangePriors, DEFAULT_CHANGES_PER_DAY, FactMaxima, PageFacts, PriorityModel, Quality, TermContribution,
    dequantize_u16, fresh_probability,
};
use harvest::settings::crawl_settings::CrawlSettings;
use model::{PageId, SiteId};
use store::{
    PageColumn, PageFlags, PageRecord, PageStage, PageStateReader, ScanRow, SiteRecord, SiteStateReader,
    Snapshot,
};

use crate::error::Error;
use crate::manager::page_ranks::PageRanks;

/// Facts of a site that its pages share.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SiteFacts {
    /// Pages not fetched yet.
    pub(crate) unfetched_pages: u32,
    /// Links from other sites.
    pub(crate) inlinks: u32,
}

/// Source of the facts about pages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FactSource<'a> {
    /// By site id.
    pub(crate) sites: &'a [SiteFacts],
    pub(crate) ranks: &'a PageRanks,
}

/// Maxima and priors over all pages.
#[derive(Debug, Clone, Default)]
pub(crate) struct FactSurvey {
    pages: u32,
    maxima: FactMaxima,
    priors: ChangePriors,
}

/// A survey is valid until the collection has grown by this share: 1/10.
const RESCAN_GROWTH: u32 = 10;

/// Priority of a retry relative to a first fetch, since a failed page may fail again.
const RETRY_PRIORITY_FACTOR: f32 = 0.25;

/// Scorer of the pages of a collection at one moment.
#[derive(Debug)]
pub(crate) struct PriorityScorer<'a> {
    facts: FactSource<'a>,
    quality: Quality,
    /// Prior change rate of the pages of each site.
    expected_rates: Vec<f32>,
    model: PriorityModel,
    now_s: u32,
}

/// Explanation of the priority of a page.
#[derive(Debug, Clone, PartialEq)]
pub struct PriorityExplanation {
    /// Contribution of each term to the quality.
    pub terms: Vec<TermContribution>,
    /// Quality, 0 to 1.
    pub quality: f32,
    /// Estimated changes per day; the prior for a page without history.
    pub changes_per_day: f32,
    /// Probability that the copy is up to date; `None` for a page without a copy.
    pub fresh_probability: Option<f32>,
    /// Whether a sitemap reports a change.
    pub reported_changed: bool,
    /// Priority: of two due pages, the one with the higher priority is fetched first.
    pub priority: f32,
}

impl SiteFacts {
    pub(crate) fn from_record(record: &SiteRecord) -> SiteFacts {
        let pending = record.pages_known.saturating_sub(record.pages_fetched);
        SiteFacts { unfetched_pages: pending, inlinks: record.inlinks }
    }

    pub(crate) fn load(sites: &SiteStateReader) -> store::Result<Vec<SiteFacts>> {
        let mut all = vec![SiteFacts::default(); sites.sites() as usize];
        let parts = sites
            .scan(|facts: &mut Vec<_>, site, record| facts.push((site, SiteFacts::from_record(record))))?;
        for (site, facts) in parts.into_iter().flatten() {
            all[site.index()] = facts;
        }
        Ok(all)
    }
}

impl FactSource<'_> {
    pub(crate) fn page_facts(&self, row: &ScanRow) -> PageFacts {
        let site = self.sites.get(row.site.index()).copied().unwrap_or_default();
        PageFacts {
            page: row.page,
            depth: row.depth,
            is_dynamic: row.flags.has(PageFlags::DYNAMIC),
            inlinks: row.inlinks,
            site_inlinks: site.inlinks,
            site_unfetched_pages: site.unfetched_pages,
            cash: row.cash + row.cash_history,
            url_score: dequantize_u16(row.url_score),
            topic_relevance: dequantize_u16(row.topic_relevance),
            ranks: self.ranks.for_page(row),
        }
    }

    /// Scans all pages.
    pub(crate) fn survey(&self, pages: &PageStateReader) -> store::Result<FactSurvey> {
        Ok(FactSurvey::merge(pages.scan(&PageColumn::ALL, |survey: &mut FactSurvey, row| {
            survey.observe(row, &self.page_facts(row));
        })?))
    }
}

impl FactSurvey {
    /// Observes a page.
    pub(crate) fn observe(&mut self, row: &ScanRow, facts: &PageFacts) {
        self.pages += 1;
        self.maxima.observe(facts);
        if row.changes_per_day > 0.0 {
            self.priors.update(row.site, 0.0, row.changes_per_day);
        }
    }

    /// Whether the survey is still valid for this number of pages.
    pub(crate) fn is_valid_for(&self, pages: u32) -> bool {
        pages <= self.pages + self.pages / RESCAN_GROWTH
    }

    /// Merges the results of the parts of a scan.
    pub(crate) fn merge(parts: impl IntoIterator<Item = FactSurvey>) -> FactSurvey {
        parts.into_iter().fold(FactSurvey::default(), |mut all, part| {
            all.pages += part.pages;
            all.maxima.merge(&part.maxima);
            all.priors.merge(&part.priors);
            all
        })
    }
}

impl<'a> PriorityScorer<'a> {
    pub(crate) fn new(
        facts: FactSource<'a>,
        survey: &FactSurvey,
        settings: &CrawlSettings,
        now_s: u32,
    ) -> PriorityScorer<'a> {
        let expected_rates = (0..facts.sites.len()).map(|site| survey.priors.for_site(SiteId(site as u32)));
        PriorityScorer {
            quality: Quality::new(settings.weights(), &survey.maxima),
            expected_rates: expected_rates.collect(),
            model: settings.priority,
            facts,
            now_s,
        }
    }

    /// Priority of a page with these facts.
    pub(crate) fn priority(&self, row: &ScanRow, facts: &PageFacts) -> f32 {
        self.priority_with_quality(row, self.quality.evaluate(facts))
    }

    fn priority_with_quality(&self, row: &ScanRow, quality: f32) -> f32 {
        match row.stage {
            // A failed page may have no copy.
            PageStage::Failed => RETRY_PRIORITY_FACTOR * self.model.for_new_page(quality),
            _ if row.last_visit_s == 0 => self.model.for_new_page(quality),
            _ => {
                let reported_changed = row.flags.has(PageFlags::REPORTED_STALE);
                self.model.for_visited_page(
                    quality,
                    self.changes_per_day(row),
                    self.age_days(row),
                    reported_changed,
                )
            }
        }
    }

    fn changes_per_day(&self, row: &ScanRow) -> f32 {
        if row.changes_per_day > 0.0 {
            return row.changes_per_day;
        }
        self.expected_rates.get(row.site.index()).copied().unwrap_or(DEFAULT_CHANGES_PER_DAY)
    }

    fn age_days(&self, row: &ScanRow) -> f32 {
        self.now_s.saturating_sub(row.last_visit_s) as f32 / 86_400.0
    }

    fn explain(&self, row: &ScanRow, last_content_s: u32) -> PriorityExplanation {
        let facts = self.facts.page_facts(row);
        let quality = self.quality.evaluate(&facts);
        let reported_changed = row.flags.has(PageFlags::REPORTED_STALE);
        // The age of the copy counts from the fetch that returned it, whatever later fetches returned. For a redirect the last
        // fetch counts.
        let seen_s = match (last_content_s, row.stage) {
            (0, PageStage::Fetched) => Some(row.last_visit_s),
            (0, _) => None,
            (seen_s, _) => Some(seen_s),
        };
        let fresh_since = |seen_s: u32| {
            let seen_days = f64::from(self.now_s.saturating_sub(seen_s)) / 86_400.0;
            fresh_probability(f64::from(self.changes_per_day(row)), seen_days) as f32
        };
        PriorityExplanation {
            terms: self.quality.explain(&facts),
            quality,
            changes_per_day: self.changes_per_day(row),
            fresh_probability: seen_s.map(|seen_s| if reported_changed { 0.0 } else { fresh_since(seen_s) }),
            reported_changed,
            priority: self.priority_with_quality(row, quality),
        }
    }
}

/// Explains the priority of one page as the manager would compute it now (Unix seconds). Scans all pages.
pub fn explain_priority(
    snapshot: &Snapshot,
    settings: &CrawlSettings,
    page: PageId,
    record: &PageRecord,
    now_s: u32,
) -> Result<PriorityExplanation, Error> {
    let sites = SiteFacts::load(&snapshot.site_state)?;
    let mut ranks = PageRanks::default();
    let fetched = total_fetched(&snapshot.site_state)?;
    ranks.refresh(snapshot.dir(), &snapshot.links, settings, snapshot.page_state.pages(), fetched)?;
    let facts = FactSource { sites: &sites, ranks: &ranks };
    let survey = facts.survey(&snapshot.page_state)?;
    Ok(PriorityScorer::new(facts, &survey, settings, now_s)
        .explain(&ScanRow::from_record(page, record), record.last_success_s))
}

/// Number of fetched pages of all sites.
pub(crate) fn total_fetched(sites: &SiteStateReader) -> store::Result<u64> {
    let parts = sites.scan(|sum: &mut u64, _, record| *sum += u64::from(record.pages_fetched))?;
    Ok(parts.into_iter().sum())
}
