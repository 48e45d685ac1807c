//! Construction of a batch from the selected pages, site by site, with everything that a harvester needs.

use std::collections::HashMap;

use harvest::item::batch::{Batch, BatchPage, BatchSite, RobotsRedirect};
use harvest::item::robots_response::RobotsResponse;
use harvest::settings::crawl_settings::CrawlSettings;
use model::{PageId, Reason, SiteId};
use store::{Collection, PageRecord, PageStage, Result, SiteRecord};

use super::page_check::check_settings;
use super::site_url::front_page;
use super::validators;
use crate::state::crawl_state::CrawlState;
use crate::state::stages::never_fetched;
use crate::state::{robots_redirects, shared_cash};

/// Builds a batch of the selected pages, best first, and marks them as queued. Pages that the current settings reject are
/// skipped; returns their number.
pub(super) fn build_batch(
    collection: &mut Collection,
    settings: &CrawlSettings,
    id: u64,
    selected: &[PageId],
    now_s: u32,
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
        if let Err(reason) = canonical.and_then(|url| check_settings(settings, &url, record.depth)) {
            rejected.push((*page, reason));
            continue;
        }
        let pages = pages_of.entry(site).or_insert_with(|| {
            order.push(site);
            Vec::new()
        });
        pages.push(BatchPage { page: *page, url, validators: validators.remove(page).unwrap_or_default() });
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
        batch.sites.extend(batch_site(collection, &state, settings, site, &record, pages, now_s)?);
    }
    batch.sites.retain(|site| !site.pages.is_empty());
    mark_queued(collection, &batch)?;
    Ok((batch, rejected_pages))
}

fn reject(collection: &mut Collection, mut rejected: Vec<(PageId, Reason)>) -> Result<()> {
    rejected.sort_unstable_by_key(|(page, _)| *page);
    let pages: Vec<PageId> = rejected.iter().map(|(page, _)| *page).collect();
    collection.page_state.update(&pages, |index, record| {
        (record.stage, record.reason) = (PageStage::Rejected, Some(rejected[index].1));
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
    now_s: u32,
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
    let wants_sitemaps = settings.sitemaps.enabled || settings.sitemaps.robots_rdf;
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
        sitemaps_due: wants_sitemaps
            && record.sitemaps_read_s.saturating_add(settings.sitemaps.max_age_s) <= now_s,
        pages,
    }))
}
