//! Eligibility of sites: which of their pages may be selected.

use std::net::IpAddr;

use harvest::settings::crawl_settings::{CrawlSettings, SiteOverride};
use model::SiteId;
use store::{Collection, PageStage, Result, ScanRow, SiteRecord};

use super::site_url::front_page;
use crate::manager::domain_budget::{DomainRooms, SitePages};
use crate::manager::poll_times::next_poll_s;
use crate::manager::priority::SiteFacts;

/// Eligibility of a site.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SiteEligibility {
    pub(super) allowed: AllowedPages,
    pub(super) facts: SiteFacts,
    pub(super) fetched: u32,
    pub(super) queued: u32,
    /// Sketch of the linking domains.
    pub(super) linking_domains_sketch: u64,
    pub(super) back_off_until_ms: u64,
    /// Time of the next poll of robots.txt or sitemaps, in Unix seconds; `None` if it was never contacted.
    pub(super) next_poll_s: Option<u32>,
    pub(super) address: Option<IpAddr>,
    /// Whether the site, or a site at the same address, is in an open batch.
    pub(super) open: bool,
    /// Whether its domain has used its page budget.
    pub(super) over_budget: bool,
}

/// Pages of a site that may be selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum AllowedPages {
    #[default]
    None,
    /// The site has reached its page limit; only pages fetched before are revisited.
    RevisitsOnly,
    FrontPageOnly,
    All,
}

impl AllowedPages {
    /// Whether a page may be selected.
    pub(super) fn allows(self, row: &ScanRow) -> bool {
        match self {
            AllowedPages::None => false,
            // A failed page with a change rate was fetched successfully before.
            AllowedPages::RevisitsOnly => {
                row.stage == PageStage::Fetched || row.stage == PageStage::Failed && row.changes_per_day > 0.0
            }
            AllowedPages::FrontPageOnly | AllowedPages::All => true,
        }
    }

    /// Pages of a site that has reached its page limit.
    fn at_limit(self) -> AllowedPages {
        if self == AllowedPages::None { AllowedPages::None } else { AllowedPages::RevisitsOnly }
    }
}

/// Eligibility of all sites, without regard to open batches and cooldowns, and the page budgets of their domains.
pub(super) fn evaluate_sites(
    collection: &Collection,
    settings: &CrawlSettings,
) -> Result<(Vec<SiteEligibility>, DomainRooms)> {
    let parts =
        collection.site_state.reader().scan(|all: &mut Vec<(SiteId, SiteEligibility)>, site, record| {
            let take = match record {
                SiteRecord { alias_of: Some(_), .. } => AllowedPages::None,
                SiteRecord { resolved_s: 0, last_seen_s: 0, .. } => AllowedPages::FrontPageOnly,
                _ => AllowedPages::All,
            };
            all.push((
                site,
                SiteEligibility {
                    allowed: take,
                    facts: SiteFacts::from_record(record),
                    fetched: record.pages_fetched,
                    queued: record.pages_queued,
                    linking_domains_sketch: record.linking_domains_sketch,
                    back_off_until_ms: record.back_off_until_ms,
                    next_poll_s: next_poll_s(settings, record),
                    address: record.address,
                    open: false,
                    over_budget: false,
                },
            ));
        })?;
    let mut eligibilities = vec![SiteEligibility::default(); collection.site_state.reader().sites() as usize];
    for (site, eligibility) in parts.into_iter().flatten() {
        eligibilities[site.index()] = eligibility;
    }
    apply_site_overrides(collection, settings, &mut eligibilities);
    let domains = apply_domain_budget(collection, settings, &mut eligibilities);
    Ok((eligibilities, domains))
}

/// Applies the settings of single sites: skipped sites and page limits.
fn apply_site_overrides(
    collection: &Collection,
    settings: &CrawlSettings,
    eligibilities: &mut [SiteEligibility],
) {
    if !settings.site_overrides.iter().any(|site| site.skip || site.max_pages.is_some()) {
        return;
    }
    for (number, eligibility) in eligibilities.iter_mut().enumerate() {
        let front = front_page(collection.urls.reader(), settings, SiteId(number as u32));
        let site_override = front.and_then(|url| settings.override_for(&url));
        let is_full =
            |site: &SiteOverride| site.max_pages.is_some_and(|max_pages| eligibility.fetched >= max_pages);
        eligibility.allowed = match site_override {
            Some(site) if site.skip => AllowedPages::None,
            Some(site) if is_full(site) => eligibility.allowed.at_limit(),
            _ => eligibility.allowed,
        };
    }
}

/// Applies the page budget of registered domains.
fn apply_domain_budget(
    collection: &Collection,
    settings: &CrawlSettings,
    eligibilities: &mut [SiteEligibility],
) -> DomainRooms {
    let all = eligibilities.iter().map(|eligibility| SitePages {
        fetched: eligibility.fetched,
        queued: eligibility.queued,
        linking_domains_sketch: eligibility.linking_domains_sketch,
    });
    let domains = DomainRooms::new(collection.urls.reader(), settings, all);
    for site in domains.over_budget_sites() {
        let eligibility = &mut eligibilities[site.index()];
        (eligibility.allowed, eligibility.over_budget) = (eligibility.allowed.at_limit(), true);
    }
    domains
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_collection::{TestCollection, override_for};

    fn allowed(test: &TestCollection, settings: &CrawlSettings, name: &str) -> AllowedPages {
        evaluate_sites(&test.collection, settings).unwrap().0[test.site_id(name).index()].allowed
    }

    #[test]
    fn a_skipped_site_has_no_eligible_pages() {
        let test = TestCollection::contacted(&["http://a.example/", "http://b.example/"]);
        let mut settings = CrawlSettings::default();
        settings.site_overrides.push(SiteOverride { skip: true, ..override_for("a.example") });
        assert_eq!(allowed(&test, &settings, "http://a.example"), AllowedPages::None);
        assert_eq!(allowed(&test, &settings, "http://b.example"), AllowedPages::All);
    }

    #[test]
    fn a_site_at_its_page_limit_gets_only_revisits() {
        let mut test = TestCollection::contacted(&["http://a.example/"]);
        let mut settings = CrawlSettings::default();
        settings.site_overrides.push(SiteOverride { max_pages: Some(3), ..override_for("a.example") });
        for (fetched, expected) in [(2, AllowedPages::All), (3, AllowedPages::RevisitsOnly)] {
            test.update_site("http://a.example", |site| site.pages_fetched = fetched);
            assert_eq!(allowed(&test, &settings, "http://a.example"), expected);
        }
        let page = test.page_id("http://a.example/");
        let row = |stage, changes_per_day| {
            let record = store::PageRecord { stage, changes_per_day, ..test.page("http://a.example/") };
            AllowedPages::RevisitsOnly.allows(&ScanRow::from_record(page, &record))
        };
        assert!(row(PageStage::Fetched, 0.0) && row(PageStage::Failed, 0.1));
        assert!(!row(PageStage::Discovered, 0.0) && !row(PageStage::Failed, 0.0));
    }

    #[test]
    fn all_sites_of_a_domain_share_its_page_budget() {
        let sites = ["http://a.example.com", "http://b.example.com", "http://example.org"];
        let mut test =
            TestCollection::contacted(&sites.map(|name| format!("{name}/")).each_ref().map(String::as_str));
        let mut settings = CrawlSettings::default();
        settings.limits.domain.base_pages = 2;
        for name in sites {
            test.update_site(name, |site| site.pages_fetched = 1);
        }
        let expected = [AllowedPages::RevisitsOnly, AllowedPages::RevisitsOnly, AllowedPages::All];
        assert_eq!(sites.map(|name| allowed(&test, &settings, name)), expected);
        // A link from another domain raises the budget.
        settings.limits.domain.pages_per_linking_domain = 1;
        test.update_site(sites[0], |site| site.linking_domains_sketch = 1);
        assert_eq!(allowed(&test, &settings, sites[1]), AllowedPages::All);
    }
}
