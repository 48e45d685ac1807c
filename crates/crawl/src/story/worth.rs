//! What is a visit to a page worth, and why?

use model::PageId;
use serde::Serialize;
use store::{PageRecord, ScanRow, SiteRecord, Snapshot, Stage};

use crate::appraisal::judge;
use crate::clock::seconds;
use crate::crawl_settings::CrawlSettings;
use crate::error::Error;

/// What a visit is worth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Worth {
    /// From 0 to 1: the sum of the terms' values.
    pub quality: f32,
    /// What it is made of.
    pub terms: Vec<WorthTerm>,
    /// How often it changes.
    pub changes_per_day: f32,
    /// How likely the copy is still what the page is.
    pub fresh: Option<f32>,
    /// Whether its site says that it has changed.
    pub known_stale: bool,
    /// What visits are to gain.
    pub aim: &'static str,
    /// What a visit gains.
    pub profit: f32,
    /// From when on it may be visited; nothing if it is not to be visited.
    pub due_ms: Option<u64>,
}

/// What a term of the quality says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorthTerm {
    /// Its name.
    pub term: &'static str,
    /// From 0 to 1.
    pub score: f32,
    /// As it was set.
    pub weight: f32,
    /// What it adds to the quality.
    pub value: f32,
}

impl Worth {
    /// What a visit is worth; nothing where a rank is asked for that nobody has computed.
    pub(super) fn of(
        snapshot: &Snapshot,
        rules: &CrawlSettings,
        page: PageId,
        record: &PageRecord,
        site: Option<&SiteRecord>,
        now_ms: u64,
    ) -> Result<Option<Worth>, Error> {
        let judged = match judge(snapshot, rules, page, record, seconds(now_ms)) {
            Err(Error::NotAnalysed { .. }) => return Ok(None),
            judged => judged?,
        };
        let terms = judged.terms.iter().map(|part| WorthTerm {
            term: part.term.as_str(),
            score: part.score,
            weight: part.weight,
            value: part.value,
        });
        let back_off_ms = site.map_or(0, |site| site.back_off_until_ms);
        let due_ms = (u64::from(rules.revisits.due_s(&ScanRow::of(page, record))) * 1_000).max(back_off_ms);
        Ok(Some(Worth {
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
