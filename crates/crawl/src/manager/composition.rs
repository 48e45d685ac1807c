//! How do chosen pages become a batch? Site by site, with all that a harvester must know.

use std::collections::HashMap;
use std::net::IpAddr;

use model::{CanonicalUrl, PageId, Reason, SiteId};
use store::{Collection, PageRecord, Result, SiteRecord, Stage};

use super::front_page::front_page;
use crate::batch::{Batch, BatchPage, BatchSite, Referral, RobotsCopy};
use crate::common_cash;
use crate::crawl_settings::CrawlSettings;
use crate::fold::is_unseen;
use crate::referrals;
use crate::validators;

/// Makes the batch of this number of pages, best first, and marks them. Pages that no longer belong by the settings are left
/// out; tells how many.
pub(super) fn compose(
    collection: &mut Collection,
    settings: &CrawlSettings,
    number: u64,
    chosen: &[PageId],
    now_s: u32,
) -> Result<(Batch, usize)> {
    let mut sorted = chosen.to_vec();
    sorted.sort_unstable();
    let urls = collection.urls.known().urls(&sorted)?;
    let mut urls: HashMap<PageId, String> =
        sorted.iter().copied().zip(urls).filter_map(|(page, url)| Some((page, url?))).collect();
    let records: HashMap<PageId, PageRecord> =
        sorted.iter().copied().zip(collection.pages.reader().get_many(&sorted)?).collect();
    let mut held = validators::read(collection, &records)?;
    let mut rejected = Vec::new();
    let mut order: Vec<SiteId> = Vec::new();
    let mut pages_of: HashMap<SiteId, Vec<BatchPage>> = HashMap::new();
    for page in chosen {
        let (Some(url), Some(record)) = (urls.remove(page), records.get(page)) else { continue };
        let site = record.site;
        let canonical = settings.gather.rules.canonical(&url).map_err(|_| Reason::RejectedByPattern);
        if let Err(reason) = canonical.and_then(|url| judge(settings, &url, record.depth)) {
            rejected.push((*page, reason));
            continue;
        }
        let pages = pages_of.entry(site).or_insert_with(|| {
            order.push(site);
            Vec::new()
        });
        pages.push(BatchPage { page: *page, url, validators: held.remove(page).unwrap_or_default() });
    }
    let left_out = rejected.len();
    reject(collection, rejected)?;
    let mut batch = Batch { number, ..Batch::default() };
    for site in order {
        let mut pages = pages_of.remove(&site).unwrap_or_default();
        let Some(record) = collection.sites.reader().get(site)? else { continue };
        let own =
            front_page(collection.urls.known(), settings, site).and_then(|url| settings.site(&url)?.pages);
        if let Some(most) = own {
            let mut room = most.saturating_sub(record.pages_fetched);
            pages.retain(|page| !records.get(&page.page).is_some_and(is_unseen) || take_one(&mut room));
        }
        batch.sites.extend(batch_site(collection, settings, site, &record, pages, now_s)?);
    }
    batch.sites.retain(|site| !site.pages.is_empty());
    mark_queued(collection, &batch)?;
    Ok((batch, left_out))
}

/// Whether a page still belongs, by settings that may have changed since it became known.
pub(super) fn judge(
    settings: &CrawlSettings,
    url: &CanonicalUrl,
    depth: u8,
) -> std::result::Result<(), Reason> {
    settings.gather.scope.judge(url)?;
    // A host that is an address can be judged without asking anybody.
    let address = url.host().trim_matches(['[', ']']).parse::<IpAddr>();
    if address.is_ok_and(|address| !settings.fetch.networks.permits(address)) {
        return Err(Reason::BlockedAddress);
    }
    let deepest = settings.site(url).and_then(|site| site.depth);
    if deepest.is_some_and(|deepest| depth > deepest) { Err(Reason::TooDeep) } else { Ok(()) }
}

fn reject(collection: &mut Collection, mut rejected: Vec<(PageId, Reason)>) -> Result<()> {
    rejected.sort_unstable_by_key(|(page, _)| *page);
    let pages: Vec<PageId> = rejected.iter().map(|(page, _)| *page).collect();
    collection.pages.update(&pages, |index, record| {
        (record.stage, record.reason) = (Stage::Rejected, rejected[index].1.code());
    })
}

fn mark_queued(collection: &mut Collection, batch: &Batch) -> Result<()> {
    let of_site = |site: &BatchSite| site.pages.iter().map(|page| page.page).collect::<Vec<_>>();
    let mut pages: Vec<PageId> = batch.sites.iter().flat_map(of_site).collect();
    pages.sort_unstable();
    let known = collection.pages.reader().pages();
    let cash = common_cash::take(&mut collection.notes, pages.len(), known);
    collection.pages.update(&pages, |_, record| {
        record.stage = Stage::Queued;
        record.cash += cash;
    })?;
    let mut counts: Vec<(SiteId, u32)> =
        batch.sites.iter().map(|site| (site.site, site.pages.len() as u32)).collect();
    counts.sort_unstable();
    let sites: Vec<SiteId> = counts.iter().map(|(site, _)| *site).collect();
    collection.sites.update(&sites, |index, record| record.pages_queued += counts[index].1)
}

/// Takes one, if there is one left.
fn take_one(room: &mut u32) -> bool {
    let is_left = *room > 0;
    *room = room.saturating_sub(1);
    is_left
}

fn batch_site(
    collection: &Collection,
    settings: &CrawlSettings,
    site: SiteId,
    record: &SiteRecord,
    pages: Vec<BatchPage>,
    now_s: u32,
) -> Result<Option<BatchSite>> {
    let reader = collection.sites.reader();
    let Some(name) = collection.urls.known().site_name(site) else { return Ok(None) };
    let robots = match record.robots_fetched_s {
        0 => None,
        fetched_s => Some(RobotsCopy {
            fetched_s,
            status: record.robots_status,
            text: reader.robots_text(site)?.unwrap_or_default(),
        }),
    };
    let wants_sitemaps = settings.sitemaps || settings.robots_rdf;
    Ok(Some(BatchSite {
        site,
        name: name.to_owned(),
        address: record.address,
        resolve_again_s: record.resolve_again_s,
        not_before_ms: record.next_request_ms.max(record.back_off_until_ms),
        errors_in_a_row: record.errors_in_a_row,
        asked_wait_ms: record.asked_wait_ms.into(),
        pages_known: record.pages_known,
        robots,
        refers: referrals::of(&collection.notes, site)
            .map(|name| Referral { name: name.to_owned(), address: None })
            .collect(),
        sitemaps_due: wants_sitemaps
            && record.sitemaps_read_s.saturating_add(settings.sitemap_period_s) <= now_s,
        pages,
    }))
}
