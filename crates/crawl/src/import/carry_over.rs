//! Carry-over from an old collection to a new one: sites, pages without inlinks, and change rates.
//!
//! A page without inlinks (a seed, or a page known only from a sitemap) cannot be found by following links, so it becomes a
//! seed of the new crawl. All other pages are discovered again, unless they are gone.

use std::collections::BTreeMap;

use harvest::settings::clock::CrawlClock;
use model::{CanonicalUrl, PageId, UrlRules};
use store::{Collection, PageFlags, PageStage, Snapshot};

use crate::error::Error;

/// Page that is carried over.
#[derive(Debug, Clone, PartialEq)]
pub struct CarryOver {
    /// Its URL.
    pub url: CanonicalUrl,
    /// Estimated changes per day; 0 if unknown.
    pub changes_per_day: f32,
}

/// Lists the front pages of all sites that ever responded and, unless `front_pages_only`, their pages without inlinks and all
/// seeds. Aliases of sites, and rejected or failed pages, are not carried over.
pub fn list_carry_over(
    old: &Snapshot,
    rules: &UrlRules,
    front_pages_only: bool,
) -> Result<Vec<CarryOver>, Error> {
    let mut rates: BTreeMap<String, f32> = BTreeMap::new();
    let parts = old.site_state.scan(|sites: &mut Vec<_>, site, record| {
        if record.last_seen_s > 0 && record.alias_of.is_none() {
            sites.push(site);
        }
    })?;
    let mut sites = parts.concat();
    sites.sort_unstable();
    let names = sites.iter().filter_map(|site| old.urls.site_name(*site));
    rates.extend(names.map(|name| (format!("{name}/"), 0.0)));
    let parts = old.page_state.scan_records(|pages: &mut Vec<(PageId, f32, bool)>, page, record| {
        let known = matches!(record.stage, PageStage::Discovered | PageStage::Queued | PageStage::Fetched);
        let is_seed = record.flags.has(PageFlags::SEED);
        let isolated = is_seed || record.inlinks == 0;
        let of_site = sites.binary_search(&record.site).is_ok();
        // Front pages have depth 0 and are recognised by their URL below. Seeds count even if their site was never contacted.
        if known && (is_seed || of_site && (isolated || record.depth == 0)) {
            pages.push((page, record.changes_per_day, isolated));
        }
    })?;
    let mut pages = parts.concat();
    pages.sort_unstable_by_key(|(page, ..)| *page);
    for chunk in pages.chunks(CHUNK_PAGES) {
        let ids: Vec<PageId> = chunk.iter().map(|(page, ..)| *page).collect();
        for (url, (_, rate, isolated)) in old.urls.urls(&ids)?.into_iter().zip(chunk) {
            let Some(url) = url else { continue };
            if rates.contains_key(&url) || (*isolated && !front_pages_only) {
                rates.insert(url, *rate);
            }
        }
    }
    let carry_over = |(url, changes_per_day): (String, f32)| {
        Some(CarryOver { url: rules.canonical(&url).ok()?, changes_per_day })
    };
    Ok(rates.into_iter().filter_map(carry_over).collect())
}

/// URLs read at once.
const CHUNK_PAGES: usize = 1 << 16;

/// Stores the change rates in the pages of a new collection, and commits.
pub fn apply_carry_over(collection: &mut Collection, pages: &[CarryOver]) -> Result<(), Error> {
    let mut rates = Vec::with_capacity(pages.len());
    for page in pages.iter().filter(|page| page.changes_per_day > 0.0) {
        rates.extend(collection.urls.reader().find(&page.url)?.map(|id| (id, page.changes_per_day)));
    }
    rates.sort_unstable_by_key(|(page, _)| *page);
    let pages: Vec<PageId> = rates.iter().map(|(page, _)| *page).collect();
    collection.page_state.update(&pages, |index, record| {
        // Both the current estimate, and the prior against which the first visits are weighed.
        (record.changes_per_day, record.carried_over_changes_per_day) = (rates[index].1, rates[index].1);
    })?;
    collection.commit(CrawlClock::start().now_ms() as i64)?;
    Ok(())
}
