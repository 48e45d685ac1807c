//! Priority of a page in a report.

use harvest::settings::clock::seconds;
use harvest::settings::crawl_settings::CrawlSettings;
use model::PageId;
use serde::Serialize;
use store::{PageRecord, PageStage, ScanRow, SiteRecord, Snapshot};

use crate::error::Error;
use crawl::explain_priority;

/// Priority of a page and its parts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PriorityInfo {
    /// Quality, 0 to 1: the sum of the contributions.
    pub quality: f32,
    /// Terms of the quality.
    pub terms: Vec<TermInfo>,
    /// Estimated changes per day.
    pub changes_per_day: f32,
    /// Probability that the copy is up to date.
    pub freshness: Option<f32>,
    /// Whether a sitemap reports a change.
    pub reported_changed: bool,
    /// Revisit objective.
    pub objective: &'static str,
    /// Priority.
    pub value: f32,
    /// Earliest time of the next fetch, in Unix milliseconds; `None` for a rejected page.
    pub due_ms: Option<u64>,
}

/// Term of the quality.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TermInfo {
    /// Name of the term.
    pub name: &'static str,
    /// Score, 0 to 1.
    pub score: f32,
    /// Weight of the settings.
    pub weight: f32,
    /// Contribution to the quality.
    pub contribution: f32,
}

impl PriorityInfo {
    /// Computes the priority of a page; `None` if a rank with a weight is not computed.
    pub(crate) fn load(
        snapshot: &Snapshot,
        settings: &CrawlSettings,
        page: PageId,
        record: &PageRecord,
        site: Option<&SiteRecord>,
        now_ms: u64,
    ) -> Result<Option<PriorityInfo>, Error> {
        let explanation = match explain_priority(snapshot, settings, page, record, seconds(now_ms)) {
            Err(crawl::Error::RankNotComputed { .. }) => return Ok(None),
            explanation => explanation?,
        };
        let terms = explanation.terms.iter().map(|part| TermInfo {
            name: part.term.as_str(),
            score: part.score,
            weight: part.weight,
            contribution: part.value,
        });
        let back_off_ms = site.map_or(0, |site| site.back_off_until_ms);
        let due_ms = (u64::from(crawl::page_due_s(&settings.revisits, &ScanRow::from_record(page, record)))
            * 1_000)
            .max(back_off_ms);
        Ok(Some(PriorityInfo {
            quality: explanation.quality,
            terms: terms.collect(),
            changes_per_day: explanation.changes_per_day,
            freshness: explanation.fresh_probability,
            reported_changed: explanation.reported_changed,
            objective: settings.priority.objective.as_str(),
            value: explanation.priority,
            due_ms: (record.stage != PageStage::Rejected).then_some(due_ms),
        }))
    }
}
