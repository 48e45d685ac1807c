//! Which sites have to wait because their registered domain has as many pages as it has earned? And what do their pages say
//! about it?

use std::collections::{HashMap, HashSet};

use model::{PageId, Reason, SiteId};
use store::{Collection, Column, Result, SiteStateReader, Stage, UrlReader};

use crate::crawl_settings::CrawlSettings;
use crate::manager::front_page;

/// The sites of domains that are over their budget. `all` tells of each site how many pages were fetched, and the sketch of
/// the domains that link to it.
pub(crate) fn sites_over(
    urls: &UrlReader,
    settings: &CrawlSettings,
    all: impl Iterator<Item = (u32, u64)>,
) -> Vec<SiteId> {
    let budget = &settings.limits.domain;
    // Nobody can be over it in a collection that is smaller.
    if u64::from(urls.pages()) < budget.base {
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
    let over =
        over.filter(|(fetched, sketch, _)| *fetched >= budget.pages(frontier::linking_domains(*sketch)));
    over.flat_map(|(_, _, sites)| sites).collect()
}

/// How many pages of each site were fetched, and the sketch of the domains that link to it.
pub(crate) fn fetched_pages(sites: &SiteStateReader) -> Result<Vec<(u32, u64)>> {
    let parts = sites.scan(|all: &mut Vec<(SiteId, (u32, u64))>, site, record| {
        all.push((site, (record.pages_fetched, record.linking_domains)));
    })?;
    let mut all = parts.concat();
    all.sort_unstable_by_key(|(site, _)| *site);
    Ok(all.into_iter().map(|(_, counts)| counts).collect())
}

/// Lets pages that were never fetched say that they wait for this reason, and others no longer: for whoever asks after the
/// manager has made its last batch.
pub(crate) fn note(collection: &mut Collection, settings: &CrawlSettings) -> Result<()> {
    let all = fetched_pages(collection.sites.reader())?;
    let over = sites_over(collection.urls.known(), settings, all.into_iter());
    let over: HashSet<SiteId> = over.into_iter().collect();
    let code = Reason::DomainBudget.code();
    let parts =
        collection.pages.reader().scan(&[Column::Site, Column::Marks], |pages: &mut Vec<PageId>, row| {
            let waits = row.stage == Stage::New && over.contains(&row.site);
            if waits && row.reason == 0 || !waits && row.reason == code {
                pages.push(row.page);
            }
        })?;
    let mut pages = parts.concat();
    pages.sort_unstable();
    collection.pages.update(&pages, |_, record| record.reason = if record.reason == code { 0 } else { code })
}
