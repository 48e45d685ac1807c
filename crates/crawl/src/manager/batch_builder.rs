//! Construction of a batch from the selected pages, site by site, with everything that a harvester needs.

use std::collections::{HashMap, HashSet};

use harvest::item::batch::{Batch, BatchPage, BatchSite, RobotsRedirect};
use harvest::item::robots_response::RobotsResponse;
use harvest::settings::crawl_settings::CrawlSettings;
use model::{PageId, Reason, SiteId};
use store::{Collection, PageFlags, PageRecord, PageStage, Result, SiteRecord};

use super::page_check::check_settings;
use super::poll_times::are_sitemaps_due;
use super::site_url::front_page;
use super::validators;
use crate::state::crawl_state::CrawlState;
use crate::state::stages::never_fetched;
use crate::state::{robots_redirects, shared_cash};

/// Builds a batch of the selected pages, best first, and marks them as queued; `polled` are further sites, of which only
/// robots.txt and sitemaps are fetched. Pages that the current settings reject are skipped; returns their number.
pub(super) fn build_batch(
    collection: &mut Collection,
    settings: &CrawlSettings,
    id: u64,
    selected: &[PageId],
    polled: &[SiteId],
    now_ms: u64,
) -> Result<(Batch, usize)> {
    let mut sorted = selected.to_vec();
    sorted.sort_unstable();
    let urls = collection.urls.reader().urls(&sorted)?;
    let mut urls: HashMap<PageId, String> =
        sorted.iter().copied().zip(urls).filter_map(|(page, url)| Some((page, url?))).collect();
    let records: HashMap<PageId, PageRecord> =
        sorted.iter().copied().zip(collection.page_state.reader().get_many(&sorted)?).collect();
    let mut validators = validators::read(collection, &records)?;
    let mut rejected = Vec::new();
    let mut order: Vec<SiteId> = Vec::new();
    let mut pages_of: HashMap<SiteId, Vec<BatchPage>> = HashMap::new();
    for page in selected {
        let (Some(url), Some(record)) = (urls.remove(page), records.get(page)) else { continue };
        let site = record.site;
        let canonical = settings.gathering.rules.canonical(&url).map_err(|_| Reason::RejectedByPattern);
        if let Err(reason) =
            canonical.and_then(|url| check_settings(settings, &url, record.depth, record.flags))
        {
            rejected.push((*page, reason));
            continue;
        }
        let pages = pages_of.entry(site).or_insert_with(|| {
            order.push(site);
            Vec::new()
        });
        // A fetch that the user has requested is unconditional.
        let validators = validators.remove(page).filter(|_| !record.flags.has(PageFlags::REFETCH));
        pages.push(BatchPage { page: *page, url, validators: validators.unwrap_or_default() });
    }
    let rejected_pages = rejected.len();
    reject(collection, rejected)?;
    let mut batch = Batch { id, ..Batch::default() };
    let state = CrawlState::load(collection)?;
    for site in order {
        let mut pages = pages_of.remove(&site).unwrap_or_default();
        let Some(record) = collection.site_state.reader().get(site)? else { continue };
        let max_pages = front_page(collection.urls.reader(), settings, site)
            .and_then(|url| settings.override_for(&url)?.max_pages);
        if let Some(max_pages) = max_pages {
            let mut room = max_pages.saturating_sub(record.pages_fetched);
            pages.retain(|page| !records.get(&page.page).is_some_and(never_fetched) || decrement(&mut room));
        }
        batch.sites.extend(batch_site(collection, &state, settings, site, &record, pages, now_ms)?);
    }
    batch.sites.retain(|site| !site.pages.is_empty());
    add_polled_sites(collection, &state, settings, &mut batch, polled, now_ms)?;
    mark_queued(collection, &batch)?;
    Ok((batch, rejected_pages))
}

/// Adds sites without pages, as far as they are in scope.
fn add_polled_sites(
    collection: &Collection,
    state: &CrawlState,
    settings: &CrawlSettings,
    batch: &mut Batch,
    polled: &[SiteId],
    now_ms: u64,
) -> Result<()> {
    let in_batch: HashSet<SiteId> = batch.sites.iter().map(|site| site.site).collect();
    for site in polled.iter().copied().filter(|site| !in_batch.contains(site)) {
        let front = front_page(collection.urls.reader(), settings, site);
        let in_scope =
            front.is_some_and(|url| check_settings(settings, &url, 0, PageFlags::default()).is_ok());
        let Some(record) = collection.site_state.reader().get(site)?.filter(|_| in_scope) else { continue };
        batch.sites.extend(batch_site(collection, state, settings, site, &record, Vec::new(), now_ms)?);
    }
    Ok(())
}

fn reject(collection: &mut Collection, mut rejected: Vec<(PageId, Reason)>) -> Result<()> {
    rejected.sort_unstable_by_key(|(page, _)| *page);
    let pages: Vec<PageId> = rejected.iter().map(|(page, _)| *page).collect();
    collection.page_state.update(&pages, |index, record| {
        record.reason = Some(rejected[index].1);
        // The content of a fetched page is kept; its reason excludes it from further batches.
        if record.stage != PageStage::Fetched || !rejected[index].1.excludes() {
            record.stage = PageStage::Rejected;
        }
    })
}

fn mark_queued(collection: &mut Collection, batch: &Batch) -> Result<()> {
    let of_site = |site: &BatchSite| site.pages.iter().map(|page| page.page).collect::<Vec<_>>();
    let mut pages: Vec<PageId> = batch.sites.iter().flat_map(of_site).collect();
    pages.sort_unstable();
    let known = collection.page_state.reader().pages();
    let cash =
        CrawlState::update(collection, |state| shared_cash::withdraw_shares(state, pages.len(), known))?;
    collection.page_state.update(&pages, |_, record| {
        record.stage = PageStage::Queued;
        record.cash += cash;
    })?;
    let mut counts: Vec<(SiteId, u32)> =
        batch.sites.iter().map(|site| (site.site, site.pages.len() as u32)).collect();
    counts.sort_unstable();
    let sites: Vec<SiteId> = counts.iter().map(|(site, _)| *site).collect();
    collection.site_state.update(&sites, |index, record| record.pages_queued += counts[index].1)
}

/// Decrements a counter; false if it was zero.
fn decrement(room: &mut u32) -> bool {
    let is_positive = *room > 0;
    *room = room.saturating_sub(1);
    is_positive
}

fn batch_site(
    collection: &Collection,
    state: &CrawlState,
    settings: &CrawlSettings,
    site: SiteId,
    record: &SiteRecord,
    pages: Vec<BatchPage>,
    now_ms: u64,
) -> Result<Option<BatchSite>> {
    let reader = collection.site_state.reader();
    let Some(name) = collection.urls.reader().site_name(site) else { return Ok(None) };
    let robots = match record.robots_fetched_s {
        0 => None,
        fetched_s => Some(RobotsResponse {
            fetched_s,
            status: record.robots_status,
            text: reader.robots_text(site)?.unwrap_or_default(),
        }),
    };
    Ok(Some(BatchSite {
        site,
        name: name.to_owned(),
        address: record.address,
        address_expires_s: record.address_expires_s,
        earliest_request_ms: record.earliest_request_ms.max(record.back_off_until_ms),
        consecutive_errors: record.consecutive_errors,
        throttle_delay_ms: record.throttle_delay_ms.into(),
        pages_known: record.pages_known,
        robots,
        robots_redirects: robots_redirects::hosts(state, site)
            .map(|name| RobotsRedirect { name: name.to_owned(), address: None })
            .collect(),
        sitemaps_due: are_sitemaps_due(settings, record, now_ms),
        pages,
    }))
}

#[cfg(test)]
mod tests {
    use harvest::SiteOverride;

    use super::*;
    use crate::test_collection::{NOON_MS, NOON_S, TestCollection, batch_urls, override_for};

    const ONE: &str = "http://a.example/1";
    const TWO: &str = "http://a.example/2";

    fn build(test: &mut TestCollection, settings: &CrawlSettings, urls: &[&str]) -> (Batch, usize) {
        let selected: Vec<PageId> = urls.iter().map(|url| test.page_id(url)).collect();
        build_batch(&mut test.collection, settings, 7, &selected, &[], NOON_MS).unwrap()
    }

    #[test]
    fn pages_of_a_batch_are_queued_best_first() {
        let mut test = TestCollection::contacted(&[ONE, TWO]);
        let (batch, rejected) = build(&mut test, &CrawlSettings::default(), &[TWO, ONE]);
        let urls: Vec<&str> = batch.sites[0].pages.iter().map(|page| page.url.as_str()).collect();
        assert_eq!((batch.id, rejected, urls), (7, 0, vec![TWO, ONE]));
        assert_eq!([ONE, TWO].map(|url| test.page(url).stage), [PageStage::Queued; 2]);
        assert_eq!(test.site("http://a.example").pages_queued, 2);
    }

    #[test]
    fn pages_that_the_current_settings_reject_are_skipped_with_their_reason() {
        let image = "http://a.example/x.jpg";
        let mut test = TestCollection::contacted(&[ONE, TWO, image]);
        test.update_page(TWO, |page| page.depth = 3);
        let mut settings = CrawlSettings::default();
        settings.site_overrides.push(SiteOverride { max_depth: Some(2), ..override_for("a.example") });
        let (batch, rejected) = build(&mut test, &settings, &[ONE, TWO, image]);
        assert_eq!((batch_urls(&batch), rejected), (vec![ONE], 2));
        let outcome = |url| (test.page(url).stage, test.page(url).reason);
        assert_eq!(outcome(TWO), (PageStage::Rejected, Some(Reason::TooDeep)));
        assert_eq!(outcome(image), (PageStage::Rejected, Some(Reason::FileExtension)));
    }

    #[test]
    fn a_page_limit_of_a_site_admits_revisits_but_not_more_new_pages() {
        let urls = ["http://a.example/", ONE, TWO];
        let mut test = TestCollection::contacted(&urls);
        test.update_page(urls[0], |page| {
            (page.stage, page.status, page.fetch_count) = (PageStage::Fetched, 200, 1);
        });
        test.update_site("http://a.example", |site| site.pages_fetched = 1);
        let mut settings = CrawlSettings::default();
        settings.site_overrides.push(SiteOverride { max_pages: Some(2), ..override_for("a.example") });
        let (batch, _) = build(&mut test, &settings, &[TWO, ONE, urls[0]]);
        assert_eq!(batch_urls(&batch), [urls[0], TWO]);
        assert_eq!(test.page(ONE).stage, PageStage::Discovered);
    }

    #[test]
    fn a_batch_carries_the_robots_txt_and_the_longer_of_cooldown_and_back_off() {
        let mut test = TestCollection::contacted(&[ONE]);
        let site = test.site_id("http://a.example");
        test.collection.site_state.set_robots_text(site, b"User-agent: *\nDisallow: /x\n").unwrap();
        test.update_site("http://a.example", |site| {
            (site.robots_fetched_s, site.robots_status) = (NOON_S, 200);
            (site.earliest_request_ms, site.back_off_until_ms) = (NOON_MS + 1, NOON_MS + 2);
            (site.throttle_delay_ms, site.consecutive_errors) = (30_000, 4);
        });
        let (batch, _) = build(&mut test, &CrawlSettings::default(), &[ONE]);
        let site = &batch.sites[0];
        let robots = site.robots.as_ref().unwrap();
        assert_eq!((robots.status, robots.text.as_slice()), (200, &b"User-agent: *\nDisallow: /x\n"[..]));
        assert_eq!((site.earliest_request_ms, site.throttle_delay_ms), (NOON_MS + 2, 30_000));
        assert_eq!((site.consecutive_errors, site.sitemaps_due), (4, true));
    }
}
