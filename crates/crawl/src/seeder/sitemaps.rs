//! URLs of sitemaps and feeds: new pages, dates of changes, and the yield by which sitemaps are polled.
//!
//! By the sitemaps protocol a sitemap may list URLs of another site if the robots.txt of that site names the sitemap. So the
//! stored robots.txt decides. All other URLs of other sites are refused and counted.

use std::collections::{BTreeMap, HashMap};

use frontier::PollIntervals;
use harvest::item::harvest_event::{SitemapOutcome, UrlList, UrlListKind};
use harvest::settings::crawl_settings::CrawlSettings;
use model::{CanonicalUrl, PageId, SiteId, UrlBatch, UrlClass};
use parse::RobotsRules;
use store::{Collection, PageFlags, ResolvedBatch, Result};

use crate::ingest::page_policy::PagePolicy;
use crate::ingest::visit;

/// Maximum number of sitemaps on other sites that a robots.txt can name.
const MAX_SITEMAPS_ON_OTHER_SITES: usize = 100;

/// URL to add: whether it is dynamic, and its modification date.
type Entry = (bool, u32);

/// Adds the URLs of a sitemap or feed; their depth is 1, as if the front page linked to them. Returns the number of new pages.
pub(crate) fn add_listed_urls(
    collection: &mut Collection,
    policy: &mut PagePolicy,
    settings: &CrawlSettings,
    list: &UrlList,
) -> Result<u64> {
    let gather = &settings.gathering;
    let own_name = collection.urls.reader().site_name(list.site).unwrap_or_default().to_owned();
    let mut permissions = Permissions { file: &list.file, by_site: HashMap::new() };
    let mut urls = UrlBatch::new();
    let mut entries: Vec<Entry> = Vec::with_capacity(list.urls.len());
    let mut refused = 0;
    for entry in &list.urls {
        let Ok(url) = gather.rules.canonical(&entry.url) else { continue };
        if url.site() != own_name && !permissions.permits(collection, settings, &url)? {
            refused += 1;
            continue;
        }
        entries.push((url.class(&gather.scope.extensions) == UrlClass::Dynamic, entry.modified_s));
        urls.push(&url);
    }
    let resolved = add_pages(collection, policy, &urls, &entries, PageFlags::default(), 0)?;
    let reported = record_dates(collection, &resolved, &entries)?;
    let new_pages = resolved.new_pages.len() as u64;
    collection.site_state.update(&[list.site], |_, record| {
        if list.kind == UrlListKind::Sitemap {
            let found = u32::try_from(new_pages).unwrap_or(u32::MAX).saturating_add(reported);
            record.sitemap_yield = record.sitemap_yield.saturating_add(found);
        }
        record.sitemap_refusals = record.sitemap_refusals.saturating_add(refused);
    })?;
    Ok(new_pages)
}

/// Adds sitemaps on other sites that a robots.txt names: pages of these sites that are polled like feeds. A sitemap that the
/// robots.txt of its own site names is read with the sitemaps of that site.
pub(crate) fn add_sitemaps_on_other_sites(
    collection: &mut Collection,
    policy: &mut PagePolicy,
    settings: &CrawlSettings,
    site: SiteId,
    named: &[String],
    now_s: u32,
) -> Result<()> {
    let gather = &settings.gathering;
    let name = collection.urls.reader().site_name(site).unwrap_or_default().to_owned();
    let Ok(front_page) = gather.rules.canonical(&format!("{name}/")) else { return Ok(()) };
    let mut urls = UrlBatch::new();
    let mut entries: Vec<Entry> = Vec::new();
    let is_own = |url: &CanonicalUrl| {
        let mut permissions = Permissions { file: url.as_str(), by_site: HashMap::new() };
        permissions.permits(collection, settings, url)
    };
    let others = named.iter().filter_map(|url| gather.rules.join(&front_page, url).ok());
    for url in others.filter(|url| url.site() != name).take(MAX_SITEMAPS_ON_OTHER_SITES) {
        if let Ok(class) = gather.scope.check(&url)
            && !is_own(&url)?
        {
            urls.push(&url);
            entries.push((class == UrlClass::Dynamic, 0));
        }
    }
    if !entries.is_empty() {
        add_pages(collection, policy, &urls, &entries, PageFlags::FEED, now_s)?;
    }
    Ok(())
}

/// Ends a poll of the sitemaps of a site: adapts the interval to its yield. Sitemaps that could not be fetched are requested
/// again after the minimum interval. A site without sitemaps need not be contacted: robots.txt names new ones.
pub(crate) fn finish_sitemap_polls(
    collection: &mut Collection,
    polls: &PollIntervals,
    finished: &BTreeMap<SiteId, SitemapOutcome>,
) -> Result<()> {
    let sites: Vec<SiteId> = finished.keys().copied().collect();
    let outcomes: Vec<SitemapOutcome> = finished.values().copied().collect();
    collection.site_state.update(&sites, |index, record| {
        record.sitemap_interval_s = match outcomes[index] {
            SitemapOutcome::Absent => polls.max_s,
            SitemapOutcome::Read => polls.adapted_s(record.sitemap_interval_s, record.sitemap_yield > 0),
            SitemapOutcome::Failed => polls.min_s,
        };
        record.sitemap_yield = 0;
    })
}

/// Permissions of other sites for a sitemap, by their robots.txt.
struct Permissions<'f> {
    file: &'f str,
    by_site: HashMap<String, bool>,
}

impl Permissions<'_> {
    /// Whether the robots.txt of the site of `url` names the sitemap. A site that was never contacted has none.
    fn permits(
        &mut self,
        collection: &Collection,
        settings: &CrawlSettings,
        url: &CanonicalUrl,
    ) -> Result<bool> {
        if let Some(permits) = self.by_site.get(url.site()) {
            return Ok(*permits);
        }
        let site = collection.urls.reader().find_site(url.site());
        let text = site.map(|site| collection.site_state.reader().robots_text(site)).transpose()?.flatten();
        let rules = &settings.gathering.rules;
        let is_file = |named: &String| rules.join(url, named).is_ok_and(|named| named.as_str() == self.file);
        let permits = text.is_some_and(|text| RobotsRules::parse(&text, "").sitemaps.iter().any(is_file));
        self.by_site.insert(url.site().to_owned(), permits);
        Ok(permits)
    }
}

/// Adds pages of depth 1 as far as the limits allow, and counts them.
fn add_pages(
    collection: &mut Collection,
    policy: &mut PagePolicy,
    urls: &UrlBatch,
    entries: &[Entry],
    flags: PageFlags,
    now_s: u32,
) -> Result<ResolvedBatch<Option<PageId>>> {
    let mut counts: BTreeMap<SiteId, (u32, u32)> = BTreeMap::new();
    let resolved = collection.resolve_admitted(
        urls,
        now_s,
        |site| policy.admits(site),
        |new| {
            let (dynamic, modified_s) = entries[new.link_index as usize];
            let count = counts.entry(new.site).or_default();
            *(if dynamic { &mut count.1 } else { &mut count.0 }) += 1;
            let site_pages = policy.pages_known(new.site) + count.0 + count.1;
            let mut record = policy.new_page_record(new.site, site_pages, 1, 0, dynamic);
            record.flags = record.flags.with(flags);
            record.last_change_s = modified_s;
            let url = urls.url(new.link_index as usize);
            record.url_score = policy.url_scorer.score(url);
            policy.apply_template_budget(&mut record, url, None);
            record
        },
    )?;
    let sites: Vec<SiteId> = counts.keys().copied().collect();
    let counts: Vec<(u32, u32)> = counts.into_values().collect();
    collection.site_state.update(&sites, |index, record| {
        let (new_static, new_dynamic) = counts[index];
        record.pages_known += new_static + new_dynamic;
        record.pages_static += new_static;
        record.pages_dynamic += new_dynamic;
        policy.record_site_size(sites[index], record.pages_known);
    })?;
    policy.record_collection_size(collection);
    Ok(resolved)
}

/// Stores the modification dates of known pages. A date later than the last fetch marks the copy as stale; an old date proves
/// nothing. Returns the number of pages that were marked.
fn record_dates(
    collection: &mut Collection,
    resolved: &ResolvedBatch<Option<PageId>>,
    entries: &[Entry],
) -> Result<u32> {
    let dated = resolved.pages.iter().zip(entries);
    let mut changes: Vec<(PageId, u32)> = dated
        .filter_map(|(page, (_, modified_s))| Some(((*page)?, *modified_s)))
        .filter(|(page, time_s)| *page < resolved.first_new_page && *time_s > 0)
        .collect();
    changes.sort_unstable();
    // A page may be listed twice; the latest date counts.
    changes.reverse();
    changes.dedup_by_key(|(page, _)| *page);
    changes.reverse();
    let pages: Vec<PageId> = changes.iter().map(|(page, _)| *page).collect();
    let mut reported = 0;
    collection.page_state.update(&pages, |index, record| {
        let modified_s = changes[index].1;
        record.last_change_s = record.last_change_s.max(modified_s);
        if visit::is_reported_stale(record, modified_s) {
            reported += u32::from(!record.flags.has(PageFlags::REPORTED_STALE));
            record.flags = record.flags.with(PageFlags::REPORTED_STALE);
        }
    })?;
    Ok(reported)
}
