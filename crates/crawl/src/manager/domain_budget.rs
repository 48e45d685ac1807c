//! Page budget of registered domains (IRLbot): the more domains link to a domain, the more of its pages are fetched.

use std::collections::{HashMap, HashSet};

use harvest::settings::crawl_settings::CrawlSettings;
use model::{PageId, Reason, SiteId};
use store::{Collection, PageColumn, PageStage, Result, SiteStateReader, UrlReader};

use crate::manager::site_url::front_page;

/// Sites of domains that have used their budget. `all` yields the number of fetched pages and the sketch of linking domains of
/// each site.
pub(crate) fn over_budget_sites(
    urls: &UrlReader,
    settings: &CrawlSettings,
    all: impl Iterator<Item = (u32, u64)>,
) -> Vec<SiteId> {
    let budget = &settings.limits.domain;
    // In a smaller collection no domain can reach its budget.
    if u64::from(urls.pages()) < budget.base_pages {
        return Vec::new();
    }
    let mut domains: HashMap<String, (u64, u64, Vec<SiteId>)> = HashMap::new();
    for (number, (fetched, linking_domains)) in all.enumerate() {
        let site = SiteId(number as u32);
        let Some(url) = front_page(urls, settings, site) else { continue };
        let domain = domains.entry(url.registered_domain().unwrap_or(url.host()).to_owned()).or_default();
        domain.0 += u64::from(fetched);
        domain.1 |= linking_domains;
        domain.2.push(site);
    }
    let over = domains.into_values();
    let over = over.filter(|(fetched, sketch, _)| {
        *fetched >= budget.allowed_pages(frontier::estimate_linking_domains(*sketch))
    });
    over.flat_map(|(_, _, sites)| sites).collect()
}

/// For each site, in the order of ids: the number of fetched pages, and the sketch of the domains that link to it.
pub(crate) fn fetched_pages(sites: &SiteStateReader) -> Result<Vec<(u32, u64)>> {
    let parts = sites.scan(|all: &mut Vec<(SiteId, (u32, u64))>, site, record| {
        all.push((site, (record.pages_fetched, record.linking_domains_sketch)));
    })?;
    let mut all = parts.concat();
    all.sort_unstable_by_key(|(site, _)| *site);
    Ok(all.into_iter().map(|(_, counts)| counts).collect())
}

/// Sets the reason of discovered pages that wait for their domain budget, and clears it otherwise; for inspection after the
/// last batch.
pub(crate) fn mark_waiting_pages(collection: &mut Collection, settings: &CrawlSettings) -> Result<()> {
    let all = fetched_pages(collection.site_state.reader())?;
    let over = over_budget_sites(collection.urls.reader(), settings, all.into_iter());
    let over: HashSet<SiteId> = over.into_iter().collect();
    let reason = Some(Reason::DomainBudget);
    let parts = collection.page_state.reader().scan(
        &[PageColumn::Site, PageColumn::StageAndFlags],
        |pages: &mut Vec<PageId>, row| {
            let is_waiting = row.stage == PageStage::Discovered && over.contains(&row.site);
            if is_waiting && row.reason.is_none() || !is_waiting && row.reason == reason {
                pages.push(row.page);
            }
        },
    )?;
    let mut pages = parts.concat();
    pages.sort_unstable();
    collection
        .page_state
        .update(&pages, |_, record| record.reason = if record.reason == reason { None } else { reason })
}
