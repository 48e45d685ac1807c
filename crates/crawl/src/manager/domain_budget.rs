//! Page budget of registered domains (IRLbot): the more domains link to a domain, the more of its pages are fetched.

use std::collections::HashMap;

use harvest::settings::crawl_settings::CrawlSettings;
use model::{PageId, Reason, SiteId};
use store::{Collection, PageColumn, PageStage, Result, SiteStateReader, UrlReader};

use crate::manager::site_url::front_page;

/// Pages of each registered domain that may still be fetched.
#[derive(Debug, Default)]
pub(crate) struct DomainRooms {
    /// Index of the domain of each site; empty if no domain can reach its budget.
    of_site: Vec<Option<u32>>,
    domains: Vec<DomainRoom>,
}

#[derive(Debug, Clone, Copy, Default)]
struct DomainRoom {
    fetched: u64,
    queued: u64,
    linking_domains_sketch: u64,
    /// Pages that may be selected.
    room: u64,
    is_over_budget: bool,
}

/// Pages of a site, and the sketch of the domains that link to it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SitePages {
    pub(crate) fetched: u32,
    pub(crate) queued: u32,
    pub(crate) linking_domains_sketch: u64,
}

impl DomainRooms {
    /// Computes the rooms of all domains from the pages of each site, in the order of ids.
    pub(crate) fn new(
        urls: &UrlReader,
        settings: &CrawlSettings,
        all: impl Iterator<Item = SitePages>,
    ) -> DomainRooms {
        let budget = &settings.limits.domain;
        // In a smaller collection no domain can reach its budget.
        if u64::from(urls.pages()) < budget.base_pages {
            return DomainRooms::default();
        }
        let (mut numbers, mut rooms) = (HashMap::<String, u32>::new(), DomainRooms::default());
        for (number, pages) in all.enumerate() {
            let Some(url) = front_page(urls, settings, SiteId(number as u32)) else {
                rooms.of_site.push(None);
                continue;
            };
            let domain = url.registered_domain().unwrap_or(url.host());
            let next = numbers.len() as u32;
            let index = match numbers.get(domain) {
                Some(index) => *index,
                None => *numbers.entry(domain.to_owned()).or_insert(next),
            };
            rooms.of_site.push(Some(index));
            rooms.domains.resize(numbers.len(), DomainRoom::default());
            let domain = &mut rooms.domains[index as usize];
            domain.fetched += u64::from(pages.fetched);
            domain.queued += u64::from(pages.queued);
            domain.linking_domains_sketch |= pages.linking_domains_sketch;
        }
        for domain in &mut rooms.domains {
            let linking_domains = frontier::estimate_linking_domains(domain.linking_domains_sketch);
            let unused = budget.allowed_pages(linking_domains).saturating_sub(domain.fetched);
            // Pages in open batches will be fetched.
            (domain.room, domain.is_over_budget) = (unused.saturating_sub(domain.queued), unused == 0);
        }
        rooms
    }

    /// Computes the rooms of all domains at a commit.
    pub(crate) fn load(
        urls: &UrlReader,
        sites: &SiteStateReader,
        settings: &CrawlSettings,
    ) -> Result<DomainRooms> {
        let parts = sites.scan(|all: &mut Vec<(SiteId, SitePages)>, site, record| {
            let pages = SitePages {
                fetched: record.pages_fetched,
                queued: record.pages_queued,
                linking_domains_sketch: record.linking_domains_sketch,
            };
            all.push((site, pages));
        })?;
        let mut all = parts.concat();
        all.sort_unstable_by_key(|(site, _)| *site);
        Ok(DomainRooms::new(urls, settings, all.into_iter().map(|(_, pages)| pages)))
    }

    /// Whether another page of a site may be selected that was never fetched.
    pub(crate) fn has_room(&self, site: SiteId) -> bool {
        self.index(site).is_none_or(|index| self.domains[index].room > 0)
    }

    /// Takes the room of a page that was never fetched; false if there is none.
    pub(crate) fn take(&mut self, site: SiteId) -> bool {
        let Some(index) = self.index(site) else { return true };
        let domain = &mut self.domains[index];
        let has_room = domain.room > 0;
        domain.room = domain.room.saturating_sub(1);
        has_room
    }

    /// Whether the domain of a site has used its budget.
    pub(crate) fn is_over_budget(&self, site: SiteId) -> bool {
        self.index(site).is_some_and(|index| self.domains[index].is_over_budget)
    }

    /// Sites of domains that have used their budget.
    pub(crate) fn over_budget_sites(&self) -> impl Iterator<Item = SiteId> {
        let sites = (0..self.of_site.len() as u32).map(SiteId);
        sites.filter(|site| self.is_over_budget(*site))
    }

    fn index(&self, site: SiteId) -> Option<usize> {
        self.of_site.get(site.index()).copied().flatten().map(|index| index as usize)
    }
}

/// Sets the reason of discovered pages that wait for the budget of their domain or for the page limit of their `[[site]]` entry, and
/// clears it otherwise; for inspection after the last batch.
pub(crate) fn mark_waiting_pages(collection: &mut Collection, settings: &CrawlSettings) -> Result<()> {
    let urls = collection.urls.reader();
    let domains = DomainRooms::load(urls, collection.site_state.reader(), settings)?;
    let full_sites = full_sites(collection, settings)?;
    let reason_of = |site: SiteId| {
        let is_full = full_sites.get(site.index()).copied().unwrap_or(false);
        let over_budget = domains.is_over_budget(site).then_some(Reason::DomainBudget);
        is_full.then_some(Reason::SitePageLimit).or(over_budget)
    };
    let parts = collection.page_state.reader().scan(
        &[PageColumn::Site, PageColumn::StageAndFlags],
        |pages: &mut Vec<(PageId, Option<Reason>)>, row| {
            let is_waiting = matches!(row.reason, None | Some(Reason::DomainBudget | Reason::SitePageLimit));
            let reason = if row.stage == PageStage::Discovered { reason_of(row.site) } else { None };
            if is_waiting && row.stage != PageStage::Rejected && reason != row.reason {
                pages.push((row.page, reason));
            }
        },
    )?;
    let mut pages = parts.concat();
    pages.sort_unstable();
    let ids: Vec<PageId> = pages.iter().map(|(page, _)| *page).collect();
    collection.page_state.update(&ids, |index, record| record.reason = pages[index].1)
}

/// Whether each site has reached the page limit of its `[[site]]` entry; empty if no entry has one.
fn full_sites(collection: &Collection, settings: &CrawlSettings) -> Result<Vec<bool>> {
    if !settings.site_overrides.iter().any(|site| site.max_pages.is_some()) {
        return Ok(Vec::new());
    }
    let mut full = vec![false; collection.site_state.reader().sites() as usize];
    let parts = collection.site_state.reader().scan(|all: &mut Vec<(SiteId, u32)>, site, record| {
        all.push((site, record.pages_fetched));
    })?;
    for (site, fetched) in parts.into_iter().flatten() {
        let front = front_page(collection.urls.reader(), settings, site);
        let max_pages = front.and_then(|url| settings.override_for(&url)?.max_pages);
        full[site.index()] = max_pages.is_some_and(|max_pages| fetched >= max_pages);
    }
    Ok(full)
}
