//! How much may still be fetched where a URL belongs: today, of its site, of its domain?

use model::{CanonicalUrl, SiteId};
use serde::Serialize;
use store::Snapshot;

use crate::crawl_settings::CrawlSettings;
use crate::error::Error;
use crate::manager::day::{self, Day};

/// What of each budget is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BudgetStory {
    /// The registered domain.
    pub domain: String,
    /// Pages of it that were fetched.
    pub domain_pages: u64,
    /// How many it has earned, by the domains that link to it.
    pub domain_most_pages: u64,
    /// Requests for pages that are counted for today, of all sites.
    pub requests_today: u64,
    /// Most of them; nothing stands for any number.
    pub requests_per_day: Option<u64>,
    /// What is left of its site for today; nothing stands for any number.
    pub site_requests_left: Option<u64>,
    /// When the day ends, in Unix milliseconds.
    pub day_ends_ms: u64,
}

impl BudgetStory {
    pub(super) fn of(
        snapshot: &Snapshot,
        rules: &CrawlSettings,
        url: &CanonicalUrl,
        site: SiteId,
        now_ms: u64,
    ) -> Result<BudgetStory, Error> {
        let notes = &snapshot.manifest.notes;
        let today = day::budgets(notes, rules, now_ms);
        let day = Day::look(notes, &snapshot.pages, rules, now_ms)?;
        let domain = url.registered_domain().unwrap_or(url.host());
        let (domain_pages, linking_domains) = pages_of(snapshot, rules, domain)?;
        Ok(BudgetStory {
            domain: domain.to_owned(),
            domain_pages,
            domain_most_pages: rules.limits.domain.pages(frontier::linking_domains(linking_domains)),
            requests_today: today.requests_today,
            requests_per_day: today.requests_per_day,
            site_requests_left: day.left_of(site).map(|left| left as u64),
            day_ends_ms: today.day_ends_ms,
        })
    }

    /// What stands in the way of a page that was never fetched, or is to be fetched again.
    pub(super) fn notes(&self, is_new: bool) -> Vec<String> {
        let mut notes = Vec::new();
        let tomorrow = parse::date_text(self.day_ends_ms as i64 / 1_000);
        if self.requests_per_day.is_some_and(|most| self.requests_today >= most) {
            notes.push(format!("the requests of the day are used up until {tomorrow}"));
        }
        if self.site_requests_left == Some(0) {
            notes.push(format!("the requests of its site for the day are used up until {tomorrow}"));
        }
        if is_new && self.domain_pages >= self.domain_most_pages {
            let BudgetStory { domain, domain_pages, domain_most_pages, .. } = self;
            notes.push(format!(
                "{domain} has {domain_pages} pages of the {domain_most_pages} that it has earned"
            ));
        }
        notes
    }
}

/// How many pages of a domain were fetched, and the sketch of the domains that link to it.
fn pages_of(snapshot: &Snapshot, rules: &CrawlSettings, domain: &str) -> Result<(u64, u64), Error> {
    let belongs = |site: SiteId| {
        // Most are known by their names alone for others.
        let name = snapshot.urls.site_name(site).filter(|name| name.contains(domain))?;
        let front = rules.gather.rules.canonical(&format!("{name}/")).ok()?;
        Some(front.registered_domain().unwrap_or(front.host()) == domain)
    };
    let parts = snapshot.sites.scan(|(pages, sketch): &mut (u64, u64), site, record| {
        if belongs(site) == Some(true) {
            *pages += u64::from(record.pages_fetched);
            *sketch |= record.linking_domains;
        }
    })?;
    Ok(parts.into_iter().fold((0, 0), |all, part| (all.0 + part.0, all.1 | part.1)))
}
