//! Carry-over from an old collection to a new one: sites, isolated pages, and change rates.
//!
//! Two kinds of pages become seeds of the new crawl, as in WebBase: pages without inlinks (seeds, or pages known only from a
//! sitemap), which cannot be found by following links, and pages that were linked but not reached, so that the next crawl does
//! not miss them again. All other pages are discovered again, unless they are gone.

use std::collections::BTreeMap;

use harvest::settings::clock::CrawlClock;
use model::{CanonicalUrl, PageId, SiteId, UrlRules};
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

/// Lists the front pages of all sites that ever responded, the pages that were linked but not fetched and, unless
/// `front_pages_only`, fetched pages without inlinks and fetched seeds. Every listed page is accompanied by the front page of its
/// site. Aliases of sites, and rejected or failed pages, are not carried over.
pub fn list_carry_over(
    old: &Snapshot,
    rules: &UrlRules,
    front_pages_only: bool,
) -> Result<Vec<CarryOver>, Error> {
    let mut rates: BTreeMap<String, f32> = BTreeMap::new();
    let parts = old.site_state.scan(|sites: &mut Vec<_>, site, record| {
        sites.push((site, record.last_seen_s > 0, record.alias_of.is_some()));
    })?;
    let mut sites = parts.concat();
    sites.sort_unstable();
    let front_page = |site: SiteId| Some((format!("{}/", old.urls.site_name(site)?), 0.0));
    let responded = sites.iter().filter(|(_, has_responded, is_alias)| *has_responded && !*is_alias);
    rates.extend(responded.filter_map(|(site, ..)| front_page(*site)));
    let pages = list_pages(old, &sites, front_pages_only)?;
    let mut carried_sites: Vec<SiteId> =
        pages.iter().filter(|page| page.is_carried).map(|page| page.site).collect();
    carried_sites.dedup();
    rates.extend(carried_sites.into_iter().filter_map(front_page));
    for chunk in pages.chunks(CHUNK_PAGES) {
        let ids: Vec<PageId> = chunk.iter().map(|page| page.page).collect();
        for (url, page) in old.urls.urls(&ids)?.into_iter().zip(chunk) {
            let Some(url) = url else { continue };
            if page.is_carried || rates.contains_key(&url) {
                rates.insert(url, page.changes_per_day);
            }
        }
    }
    let carry_over = |(url, changes_per_day): (String, f32)| {
        Some(CarryOver { url: rules.canonical(&url).ok()?, changes_per_day })
    };
    Ok(rates.into_iter().filter_map(carry_over).collect())
}

/// Page that is carried over, or may be a front page.
#[derive(Clone, Copy)]
struct ListedPage {
    page: PageId,
    site: SiteId,
    changes_per_day: f32,
    is_carried: bool,
}

/// Pages to carry over, and those of depth 0, whose URLs show whether they are front pages. `sites` has all sites in order, with
/// whether they responded and whether they are aliases.
fn list_pages(
    old: &Snapshot,
    sites: &[(SiteId, bool, bool)],
    front_pages_only: bool,
) -> Result<Vec<ListedPage>, Error> {
    let parts = old.page_state.scan_records(|pages: &mut Vec<ListedPage>, page, record| {
        let Some((_, has_responded, false)) = sites.get(record.site.index()) else { return };
        let is_seed = record.flags.has(PageFlags::SEED);
        let is_carried = match record.stage {
            // Also of a site that was never contacted.
            PageStage::Discovered | PageStage::Queued => record.fetch_count == 0,
            PageStage::Fetched => !front_pages_only && (is_seed || *has_responded && record.inlinks == 0),
            PageStage::Failed | PageStage::Rejected => return,
        };
        if is_carried || record.depth == 0 {
            let (site, changes_per_day) = (record.site, record.changes_per_day);
            pages.push(ListedPage { page, site, changes_per_day, is_carried });
        }
    })?;
    let mut pages = parts.concat();
    pages.sort_unstable_by_key(|page| page.page);
    Ok(pages)
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
