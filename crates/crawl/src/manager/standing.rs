//! What may be taken from each site now? Its front page, any of its pages, those that were fetched before, or nothing.

use std::net::IpAddr;

use model::SiteId;
use store::{Collection, Result, ScanRow, SiteRecord, Stage};

use super::front_page::front_page;
use crate::appraisal::SiteFacts;
use crate::crawl_settings::{CrawlSettings, SiteOverride};
use crate::domain_budget;

/// What the manager thinks of a site.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Standing {
    pub(super) take: Take,
    pub(super) facts: SiteFacts,
    pub(super) fetched: u32,
    /// The sketch of the domains that link to it.
    pub(super) linking_domains: u64,
    pub(super) back_off_until_ms: u64,
    pub(super) address: Option<IpAddr>,
    /// Whether it is in an open batch.
    pub(super) open: bool,
    /// Whether its domain has as many pages as it has earned.
    pub(super) over_budget: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Take {
    #[default]
    Nothing,
    /// It has as many pages as it may have; those are kept fresh.
    Revisits,
    FrontPage,
    Pages,
}

impl Take {
    /// Whether a page may be taken.
    pub(super) fn admits(self, row: &ScanRow) -> bool {
        match self {
            Take::Nothing => false,
            // Of a page that failed, it is known that it was here before if it could be seen to change, or not to.
            Take::Revisits => {
                row.stage == Stage::Fetched || row.stage == Stage::Failed && row.changes_per_day > 0.0
            }
            Take::FrontPage | Take::Pages => true,
        }
    }

    /// What is left to a site that has as many pages as it may have.
    fn of_full(self) -> Take {
        if self == Take::Nothing { Take::Nothing } else { Take::Revisits }
    }
}

/// What could be taken from each site if it were at rest.
pub(super) fn judge_sites(collection: &Collection, settings: &CrawlSettings) -> Result<Vec<Standing>> {
    let parts = collection.sites.reader().scan(|all: &mut Vec<(SiteId, Standing)>, site, record| {
        let take = match record {
            SiteRecord { alias_of: Some(_), .. } => Take::Nothing,
            SiteRecord { resolved_s: 0, last_seen_s: 0, .. } => Take::FrontPage,
            _ => Take::Pages,
        };
        all.push((
            site,
            Standing {
                take,
                facts: SiteFacts::of(record),
                fetched: record.pages_fetched,
                linking_domains: record.linking_domains,
                back_off_until_ms: record.back_off_until_ms,
                address: record.address,
                open: false,
                over_budget: false,
            },
        ));
    })?;
    let mut standings = vec![Standing::default(); collection.sites.reader().sites() as usize];
    for (site, standing) in parts.into_iter().flatten() {
        standings[site.index()] = standing;
    }
    skip_sites(collection, settings, &mut standings);
    hold_to_budget(collection, settings, &mut standings);
    Ok(standings)
}

/// Sites that the settings leave out, or that have as many pages as the settings allow them.
fn skip_sites(collection: &Collection, settings: &CrawlSettings, standings: &mut [Standing]) {
    if !settings.sites.iter().any(|site| site.skip || site.pages.is_some()) {
        return;
    }
    for (number, standing) in standings.iter_mut().enumerate() {
        let front = front_page(collection.urls.known(), settings, SiteId(number as u32));
        let own = front.and_then(|url| settings.site(&url));
        let is_full = |site: &SiteOverride| site.pages.is_some_and(|most| standing.fetched >= most);
        standing.take = match own {
            Some(site) if site.skip => Take::Nothing,
            Some(site) if is_full(site) => standing.take.of_full(),
            _ => standing.take,
        };
    }
}

/// Sites of a registered domain that has as many pages as it has earned.
fn hold_to_budget(collection: &Collection, settings: &CrawlSettings, standings: &mut [Standing]) {
    let all = standings.iter().map(|standing| (standing.fetched, standing.linking_domains));
    let over = domain_budget::sites_over(collection.urls.known(), settings, all);
    for site in over {
        let standing = &mut standings[site.index()];
        (standing.take, standing.over_budget) = (standing.take.of_full(), true);
    }
}
