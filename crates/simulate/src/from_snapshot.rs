//! Web model of a crawled collection: its pages, links and sites as of a snapshot, with estimated change rates and
//! measured response times.
//!
//! What the crawl did not see is missing: pages that were never fetched have no links.

use std::net::{IpAddr, Ipv6Addr};

use frontier::ChangePriors;
use model::{PageId, SiteId};
use store::{PageFlags, PageRecord, PageStage, SiteRecord, Snapshot, for_each_response_time};

use crate::error::Error;
use crate::synthetic::response_ms;
use crate::web_model::{WebModel, WebPage, WebSite};

/// Reads a snapshot; response times that were not measured are drawn with `seed`.
pub fn web_from_snapshot(snapshot: &Snapshot, seed: u64) -> Result<WebModel, Error> {
    let records = records(snapshot)?;
    if records.is_empty() {
        return Err(Error::EmptyWeb { reason: "the collection has no pages" });
    }
    let mut sites = sites(snapshot, seed)?;
    set_response_times(snapshot, &records, &mut sites)?;
    for (index, record) in records.iter().enumerate() {
        // The first page with depth 0 is the entry page of its site.
        let front = &mut sites[record.site.index()].front_page;
        if record.depth == 0 && record.stage != PageStage::Rejected && front.is_none() {
            *front = Some(PageId(index as u32));
        }
    }
    let priors = priors(&records);
    let page = |record: &PageRecord| WebPage {
        site: record.site,
        is_dynamic: record.flags.has(PageFlags::DYNAMIC),
        has_last_modified: record.flags.has(PageFlags::HAS_LAST_MODIFIED),
        changes_per_day: match record.changes_per_day {
            rate if rate > 0.0 => rate,
            _ => priors.for_site(record.site),
        },
        has_content: record.stage == PageStage::Fetched,
    };
    let pages = records.iter().map(page).collect();
    let mut web = WebModel::new(pages, sites, seeds(&records));
    push_links(snapshot, &records, &mut web)?;
    Ok(web)
}

/// Records of all pages, by id.
fn records(snapshot: &Snapshot) -> Result<Vec<PageRecord>, Error> {
    let parts = snapshot.page_state.scan_records(|all: &mut Vec<(PageId, PageRecord)>, page, record| {
        all.push((page, *record));
    })?;
    let mut all: Vec<(PageId, PageRecord)> = parts.into_iter().flatten().collect();
    all.sort_unstable_by_key(|(page, _)| *page);
    Ok(all.into_iter().map(|(_, record)| record).collect())
}

/// All sites; a site without an IP address gets an IPv6 network of its own.
fn sites(snapshot: &Snapshot, seed: u64) -> Result<Vec<WebSite>, Error> {
    let parts = snapshot.site_state.scan(|all: &mut Vec<(SiteId, SiteRecord)>, site, record| {
        all.push((site, *record));
    })?;
    let mut all: Vec<(SiteId, SiteRecord)> = parts.into_iter().flatten().collect();
    all.sort_unstable_by_key(|(site, _)| *site);
    let site = |(site, record): (SiteId, SiteRecord)| WebSite {
        ip_address: record.address.unwrap_or(IpAddr::V6(Ipv6Addr::from_bits(u128::from(site.0) << 64))),
        front_page: None,
        response_ms: response_ms(seed, site.0),
        crawl_delay_ms: record.crawl_delay_ms,
    };
    Ok(all.into_iter().map(site).collect())
}

/// Sets the mean response time of sites that responded.
fn set_response_times(
    snapshot: &Snapshot,
    records: &[PageRecord],
    sites: &mut [WebSite],
) -> Result<(), Error> {
    let mut times = vec![(0u64, 0u64); sites.len()];
    for_each_response_time(snapshot.dir(), &snapshot.manifest, |page, duration_ms| {
        if let Some(record) = records.get(page.index()) {
            let (sum, count) = &mut times[record.site.index()];
            *sum += u64::from(duration_ms);
            *count += 1;
        }
    })?;
    for (site, (sum, count)) in sites.iter_mut().zip(times) {
        if let Some(mean) = sum.checked_div(count) {
            site.response_ms = mean.try_into().unwrap_or(u32::MAX);
        }
    }
    Ok(())
}

/// Priors for pages that were not compared yet, as in the crawl.
fn priors(records: &[PageRecord]) -> ChangePriors {
    let mut priors = ChangePriors::default();
    records.iter().for_each(|record| priors.update(record.site, 0.0, record.changes_per_day));
    priors
}

/// The seeds of the crawl; an import has none, and starts with its first page.
fn seeds(records: &[PageRecord]) -> Vec<PageId> {
    let seeds = (0..).map(PageId).zip(records).filter(|(_, record)| record.flags.has(PageFlags::SEED));
    let seeds: Vec<PageId> = seeds.map(|(page, _)| page).collect();
    if seeds.is_empty() { vec![PageId(0)] } else { seeds }
}

/// Adds the links of all pages, without those to rejected pages.
fn push_links(snapshot: &Snapshot, records: &[PageRecord], web: &mut WebModel) -> Result<(), Error> {
    let is_open =
        |page: &PageId| records.get(page.index()).is_some_and(|record| record.stage != PageStage::Rejected);
    let (mut next, mut targets) = (0, Vec::new());
    snapshot.links.for_each(|source, links| {
        while next < source.0 {
            web.push_links(&mut Vec::new());
            next += 1;
        }
        targets.clear();
        targets.extend(links.iter().map(|link| link.target).filter(is_open));
        web.push_links(&mut targets);
        next += 1;
        Ok(())
    })?;
    (next..records.len() as u32).for_each(|_| web.push_links(&mut Vec::new()));
    Ok(())
}
