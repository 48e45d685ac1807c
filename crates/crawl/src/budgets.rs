//! How much may still be fetched: today, of a site, of a domain?

use serde::Serialize;
use store::{Result, Snapshot};

use crate::crawl_settings::CrawlSettings;
use crate::domain_budget;
use crate::manager::day::{self, Day};

/// What the settings allow, and how much of it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Budgets {
    /// Requests for pages that are counted for today.
    pub requests_today: u64,
    /// Most of them; nothing stands for any number.
    pub requests_per_day: Option<u64>,
    /// When the day ends.
    pub day_ends_ms: u64,
    /// Most requests of a site in a day; nothing stands for any number.
    pub requests_per_site_per_day: Option<u64>,
    /// Sites that have had theirs today.
    pub sites_done_today: u64,
    /// Sites whose registered domain has as many pages as it has earned: none is fetched for the first time.
    pub sites_over_domain_budget: u64,
}

impl Budgets {
    /// By a commit, the settings of its crawl, and the time in Unix milliseconds.
    pub fn of(snapshot: &Snapshot, rules: &CrawlSettings, now_ms: u64) -> Result<Budgets> {
        let notes = &snapshot.manifest.notes;
        let day = Day::look(notes, &snapshot.pages, rules, now_ms)?;
        let sites = domain_budget::fetched_pages(&snapshot.sites)?;
        let over = domain_budget::sites_over(&snapshot.urls, rules, sites.into_iter());
        Ok(Budgets {
            sites_done_today: day.sites_done(),
            sites_over_domain_budget: over.len() as u64,
            ..day::budgets(notes, rules, now_ms)
        })
    }
}
