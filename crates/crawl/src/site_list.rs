//! Which sites has a collection, and what is known of each?

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;

use model::SiteId;
use store::{Result, SiteRecord, Snapshot};

use crate::crawl_settings::CrawlSettings;
use crate::site_status::SiteStatus;

/// Which sites are wanted, and in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SiteQuery<'q> {
    /// What comes first.
    pub sort: SiteOrder,
    /// Only sites with this text in their name.
    pub filter: Option<&'q str>,
    /// So many are left out at the beginning.
    pub from: usize,
    /// Only so many.
    pub most: Option<usize>,
}

/// What comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SiteOrder {
    /// Most pages known.
    Known,
    /// Most pages fetched.
    #[default]
    Fetched,
    /// Most pages queued.
    Queued,
    /// Most requests failed.
    Errors,
    /// Most bytes sent.
    Bytes,
    /// Most links from other sites.
    Links,
    /// By name.
    Name,
}

/// The sites that are wanted, as of this time in Unix milliseconds, and how many there are if all are counted.
pub fn list_sites(
    snapshot: &Snapshot,
    rules: &CrawlSettings,
    query: &SiteQuery<'_>,
    now_ms: u64,
) -> Result<(Vec<SiteStatus>, usize)> {
    let (sites, all) = chosen(snapshot, query)?;
    let at_address = at_address(snapshot)?;
    let mut statuses = Vec::with_capacity(sites.len());
    for site in sites {
        let Some(record) = snapshot.sites.get(site)? else { continue };
        let mut status = SiteStatus::of(snapshot, rules, site, &record, now_ms);
        status.sites_at_address = record.address.and_then(|at| at_address.get(&at).copied()).unwrap_or(0);
        statuses.push(status);
    }
    Ok((statuses, all))
}

/// What is known of one site; nothing if the collection does not know it.
pub fn site_status(
    snapshot: &Snapshot,
    rules: &CrawlSettings,
    site: SiteId,
    now_ms: u64,
) -> Result<Option<SiteStatus>> {
    let Some(record) = snapshot.sites.get(site)? else { return Ok(None) };
    let mut status = SiteStatus::of(snapshot, rules, site, &record, now_ms);
    status.sites_at_address = sites_at(snapshot, record.address)?;
    Ok(Some(status))
}

/// How many sites have this address.
pub(crate) fn sites_at(snapshot: &Snapshot, address: Option<IpAddr>) -> Result<u64> {
    let Some(address) = address else { return Ok(0) };
    let parts = snapshot.sites.scan(|sites: &mut u64, _, record| {
        *sites += u64::from(record.address == Some(address));
    })?;
    Ok(parts.into_iter().sum())
}

/// How many sites have each address.
fn at_address(snapshot: &Snapshot) -> Result<HashMap<IpAddr, u64>> {
    let parts = snapshot.sites.scan(|counts: &mut HashMap<IpAddr, u64>, _, record| {
        if let Some(address) = record.address {
            *counts.entry(address).or_default() += 1;
        }
    })?;
    let mut all = HashMap::new();
    for (address, sites) in parts.into_iter().flatten() {
        *all.entry(address).or_default() += sites;
    }
    Ok(all)
}

/// The wanted sites in the wanted order, and how many there are without the limit.
fn chosen(snapshot: &Snapshot, query: &SiteQuery<'_>) -> Result<(Vec<SiteId>, usize)> {
    let name = |site: SiteId| snapshot.urls.site_name(site).unwrap_or_default();
    let wanted = |site: SiteId| query.filter.is_none_or(|text| name(site).contains(text));
    let parts = snapshot.sites.scan(|found: &mut Vec<(u64, SiteId)>, site, record| {
        if wanted(site) {
            found.push((query.sort.key(record), site));
        }
    })?;
    let mut sites = parts.concat();
    match query.sort {
        SiteOrder::Name => sites.sort_unstable_by_key(|(_, site)| name(*site)),
        _ => sites.sort_unstable_by_key(|(key, site)| (Reverse(*key), *site)),
    }
    let all = sites.len();
    let shown = sites.into_iter().skip(query.from).take(query.most.unwrap_or(usize::MAX));
    Ok((shown.map(|(_, site)| site).collect(), all))
}

impl SiteOrder {
    fn key(self, record: &SiteRecord) -> u64 {
        match self {
            SiteOrder::Known => u64::from(record.pages_known),
            SiteOrder::Fetched => u64::from(record.pages_fetched),
            SiteOrder::Queued => u64::from(record.pages_queued),
            SiteOrder::Errors => u64::from(record.errors),
            SiteOrder::Bytes => record.bytes,
            SiteOrder::Links => u64::from(record.in_links),
            SiteOrder::Name => 0,
        }
    }
}
