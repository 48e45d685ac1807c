//! Use of the request and page budgets at a commit.

use harvest::control::budgets::Budgets;
use harvest::settings::crawl_settings::CrawlSettings;
use store::{Result, Snapshot};

use crate::manager::day_budget;
use crate::manager::day_budget::DayBudget;
use crate::manager::domain_budget::DomainRooms;
use crate::state::crawl_state::CrawlState;

/// Computes the use of the budgets at a commit; `now_ms` is in Unix milliseconds.
pub fn read_budgets(snapshot: &Snapshot, settings: &CrawlSettings, now_ms: u64) -> Result<Budgets> {
    let state = CrawlState::from_manifest(&snapshot.manifest)?;
    let day = DayBudget::load(&state, &snapshot.page_state, &snapshot.site_state, settings, now_ms)?;
    let domains = DomainRooms::load(&snapshot.urls, &snapshot.site_state, settings)?;
    Ok(Budgets {
        sites_at_daily_limit: day.sites_at_limit(),
        sites_at_domain_budget: domains.over_budget_sites().count() as u64,
        ..day_budget::daily_budgets(&state, settings, now_ms)
    })
}
