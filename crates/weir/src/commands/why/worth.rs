//! What is a visit to a page worth, and why?

use crawl::CrawlSettings;
use model::PageId;
use serde::Serialize;
use store::{PageRecord, ScanRow, SiteRecord, Snapshot, Stage};

use super::facts::now_ms;

/// What a visit is worth.
#[derive(Serialize)]
pub(super) struct WorthAnswer {
    /// From 0 to 1: the sum of the terms' values.
    pub(super) quality: f32,
    pub(super) terms: Vec<TermAnswer>,
    pub(super) changes_per_day: f32,
    /// How likely the copy is still what the page is.
    pub(super) fresh: Option<f32>,
    pub(super) known_stale: bool,
    pub(super) aim: &'static str,
    pub(super) profit: f32,
    /// From when on it may be visited; nothing if it is not to be visited.
    pub(super) due_ms: Option<u64>,
}

/// What a term of the quality says.
#[derive(Serialize)]
pub(super) struct TermAnswer {
    pub(super) term: &'static str,
    /// From 0 to 1.
    pub(super) score: f32,
    /// As it was set.
    pub(super) weight: f32,
    /// What it adds to the quality.
    pub(super) value: f32,
}

impl WorthAnswer {
    /// What a visit is worth; nothing where a rank is asked for that nobody has computed.
    pub(super) fn of(
        snapshot: &Snapshot,
        rules: &CrawlSettings,
        page: PageId,
        record: &PageRecord,
        site: Option<&SiteRecord>,
    ) -> anyhow::Result<Option<WorthAnswer>> {
        let judged = match crawl::judge(snapshot, rules, page, record, (now_ms() / 1_000) as u32) {
            Err(crawl::Error::NotAnalysed { .. }) => return Ok(None),
            judged => judged?,
        };
        let terms = judged.terms.iter().map(|part| TermAnswer {
            term: part.term.as_str(),
            score: part.score,
            weight: part.weight,
            value: part.value,
        });
        let back_off_ms = site.map_or(0, |site| site.back_off_until_ms);
        let due_ms = (u64::from(rules.revisits.due_s(&ScanRow::of(page, record))) * 1_000).max(back_off_ms);
        Ok(Some(WorthAnswer {
            quality: judged.quality,
            terms: terms.collect(),
            changes_per_day: judged.changes_per_day,
            fresh: judged.fresh,
            known_stale: judged.known_stale,
            aim: rules.profit.aim.as_str(),
            profit: judged.profit,
            due_ms: (record.stage != Stage::Rejected).then_some(due_ms),
        }))
    }
}
