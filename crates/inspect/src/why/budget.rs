//! Budgets of a URL in a report: of the day, of its site and of its domain.

use harvest::settings::crawl_settings::CrawlSettings;
use model::{CanonicalUrl, SiteId};
use serde::Serialize;
use store::Snapshot;

use crate::error::Error;
use crawl::CrawlState;
use crawl::DayBudget;

/// Budgets and their use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BudgetInfo {
    /// Registered domain.
    pub domain: String,
    /// Fetched pages of the domain.
    pub domain_pages: u64,
    /// Page budget of the domain, by its linking domains.
    pub domain_max_pages: u64,
    /// Page requests today, of all sites.
    pub requests_today: u64,
    /// Maximum number of page requests per day; `None` is unlimited.
    pub max_requests_per_day: Option<u64>,
    /// Remaining requests of the site today; `None` is unlimited.
    pub site_requests_remaining: Option<u64>,
    /// End of the day, in Unix milliseconds.
    pub day_end_ms: u64,
}

impl BudgetInfo {
    pub(crate) fn load(
        snapshot: &Snapshot,
        settings: &CrawlSettings,
        url: &CanonicalUrl,
        site: SiteId,
        now_ms: u64,
    ) -> Result<BudgetInfo, Error> {
        let state = CrawlState::from_manifest(&snapshot.manifest)?;
        let today = crawl::daily_budgets(&state, settings, now_ms);
        let day = DayBudget::load(&state, &snapshot.page_state, &snapshot.site_state, settings, now_ms)?;
        let domain = url.registered_domain().unwrap_or(url.host());
        let (domain_pages, linking_domains) = pages_of(snapshot, settings, domain)?;
        Ok(BudgetInfo {
            domain: domain.to_owned(),
            domain_pages,
            domain_max_pages: settings
                .limits
                .domain
                .allowed_pages(frontier::estimate_linking_domains(linking_domains)),
            requests_today: today.requests_today,
            max_requests_per_day: today.max_requests_per_day,
            site_requests_remaining: day.remaining_for_site(site).map(|remaining| remaining as u64),
            day_end_ms: today.day_end_ms,
        })
    }

    /// Budgets that prevent a fetch now.
    pub(crate) fn notes(&self, is_new: bool) -> Vec<String> {
        let mut notes = Vec::new();
        let day_end = parse::format_date(self.day_end_ms as i64 / 1_000);
        if self.max_requests_per_day.is_some_and(|max| self.requests_today >= max) {
            notes.push(format!("daily request limit reached until {day_end}"));
        }
        if self.site_requests_remaining == Some(0) {
            notes.push(format!("daily request limit of the site reached until {day_end}"));
        }
        if is_new && self.domain_pages >= self.domain_max_pages {
            let BudgetInfo { domain, domain_pages, domain_max_pages, .. } = self;
            notes.push(format!(
                "domain {domain} has used its page budget: {domain_pages} of {domain_max_pages} pages"
            ));
        }
        notes
    }
}

/// Number of fetched pages of a domain, and sketch of its linking domains.
fn pages_of(snapshot: &Snapshot, settings: &CrawlSettings, domain: &str) -> Result<(u64, u64), Error> {
    let is_in_domain = |site: SiteId| {
        // Cheap test first: most names do not contain the domain.
        let name = snapshot.urls.site_name(site).filter(|name| name.contains(domain))?;
        let front = settings.gathering.rules.canonical(&format!("{name}/")).ok()?;
        Some(front.registered_domain().unwrap_or(front.host()) == domain)
    };
    let parts = snapshot.site_state.scan(|(pages, sketch): &mut (u64, u64), site, record| {
        if is_in_domain(site) == Some(true) {
            *pages += u64::from(record.pages_fetched);
            *sketch |= record.linking_domains_sketch;
        }
    })?;
    Ok(parts.into_iter().fold((0, 0), |all, part| (all.0 + part.0, all.1 | part.1)))
}
