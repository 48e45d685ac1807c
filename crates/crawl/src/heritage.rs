//! What does a new crawl inherit from an old one? Its sites, the pages that no link leads to, and how often they change.
//!
//! A page that no link leads to (a seed, or one that only a sitemap named) would never be found again by following links: so
//! it is a seed of the next crawl. Everything else is found anew, or is gone.

use std::collections::BTreeMap;

use model::{CanonicalUrl, PageId, UrlRules};
use store::{Collection, PageFlags, Snapshot, Stage};

use crate::clock::Clock;
use crate::error::Error;

/// A page that a new crawl begins with.
#[derive(Debug, Clone, PartialEq)]
pub struct Heir {
    /// Which.
    pub url: CanonicalUrl,
    /// How often it changes, as far as the old crawl knows; else 0.
    pub changes_per_day: f32,
}

/// The front pages of all sites that ever answered, and, unless `roots_only`, their pages that no link leads to, and all seeds.
/// Other names of sites, and pages that were rejected or failed, stay behind.
pub fn heirs(old: &Snapshot, rules: &UrlRules, roots_only: bool) -> Result<Vec<Heir>, Error> {
    let mut rates: BTreeMap<String, f32> = BTreeMap::new();
    let parts = old.sites.scan(|sites: &mut Vec<_>, site, record| {
        if record.last_seen_s > 0 && record.alias_of.is_none() {
            sites.push(site);
        }
    })?;
    let mut sites = parts.concat();
    sites.sort_unstable();
    let names = sites.iter().filter_map(|site| old.urls.site_name(*site));
    rates.extend(names.map(|name| (format!("{name}/"), 0.0)));
    let parts = old.pages.scan_records(|pages: &mut Vec<(PageId, f32, bool)>, page, record| {
        let known = matches!(record.stage, Stage::New | Stage::Queued | Stage::Fetched);
        let is_seed = record.flags.has(PageFlags::SEED);
        let isolated = is_seed || record.in_links == 0;
        let of_site = sites.binary_search(&record.site).is_ok();
        // Front pages are found by their URL; they are not deep. What the user named counts even where nobody has been.
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
            if rates.contains_key(&url) || (*isolated && !roots_only) {
                rates.insert(url, *rate);
            }
        }
    }
    let heir = |(url, changes_per_day): (String, f32)| {
        Some(Heir { url: rules.canonical(&url).ok()?, changes_per_day })
    };
    Ok(rates.into_iter().filter_map(heir).collect())
}

/// URLs that are read at a time.
const CHUNK_PAGES: usize = 1 << 16;

/// Tells the pages of a new collection how often they change; commits.
pub fn inherit(collection: &mut Collection, heirs: &[Heir]) -> Result<(), Error> {
    let mut rates = Vec::with_capacity(heirs.len());
    for heir in heirs.iter().filter(|heir| heir.changes_per_day > 0.0) {
        rates.extend(collection.urls.known().find(&heir.url)?.map(|page| (page, heir.changes_per_day)));
    }
    rates.sort_unstable_by_key(|(page, _)| *page);
    let pages: Vec<PageId> = rates.iter().map(|(page, _)| *page).collect();
    collection.pages.update(&pages, |index, record| {
        // What it is believed to be until the first visits tell, and what they are weighed against.
        (record.changes_per_day, record.inherited_changes_per_day) = (rates[index].1, rates[index].1);
    })?;
    collection.commit(Clock::start().now_ms() as i64)?;
    Ok(())
}
