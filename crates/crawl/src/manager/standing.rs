//! What may be taken from each site now? Its front page, any of its pages, or nothing.

use model::SiteId;
use store::{Collection, Result, SiteRecord};

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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Take {
    #[default]
    Nothing,
    FrontPage,
    Pages,
}

/// What could be taken from each site if it were at rest.
pub(super) fn judge_sites(collection: &Collection, settings: &CrawlSettings) -> Result<Vec<Standing>> {
    let parts = collection.sites.reader().scan(|all: &mut Vec<(SiteId, Standing)>, site, record| {
        let take = match record {
            SiteRecord { alias_of: Some(_), .. } => Take::Nothing,
            SiteRecord { resolved_s: 0, last_seen_s: 0, .. } => Take::FrontPage,
            _ => Take::Pages,
        };
        let pending = record.pages_known.saturating_sub(record.pages_fetched);
        all.push((
            site,
            Standing {
                take,
                facts: SiteFacts { pending, in_links: record.in_links },
                fetched: record.pages_fetched,
                linking_domains: record.linking_domains,
                back_off_until_ms: record.back_off_until_ms,
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
        let front = front_page(collection, settings, SiteId(number as u32));
        let own = front.and_then(|url| settings.site(&url));
        let is_full = |site: &SiteOverride| site.pages.is_some_and(|most| standing.fetched >= most);
        if own.is_some_and(|site| site.skip || is_full(site)) {
            standing.take = Take::Nothing;
        }
    }
}

/// Sites of a registered domain that has as many pages as it has earned.
fn hold_to_budget(collection: &Collection, settings: &CrawlSettings, standings: &mut [Standing]) {
    let all = standings.iter().map(|standing| (standing.fetched, standing.linking_domains));
    let over = domain_budget::sites_over(collection, settings, all);
    over.into_iter().for_each(|site| standings[site.index()].take = Take::Nothing);
}
