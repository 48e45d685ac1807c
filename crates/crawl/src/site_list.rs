//! Which sites has a collection, and what is known of each?

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;

use model::SiteId;
use serde::Serialize;
use store::{Result, SiteRecord, Snapshot};

use crate::crawl_settings::CrawlSettings;
use crate::robots_kind::RobotsKind;

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

/// What is known of a site. Scripts rely on the names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SiteEntry {
    /// Scheme, host and port.
    pub site: String,
    /// Its number.
    pub site_id: u32,
    /// Pages whose URL is known.
    pub pages_known: u32,
    /// Pages whose last visit brought content.
    pub pages_fetched: u32,
    /// Pages in a batch.
    pub pages_queued: u32,
    /// Requests that failed.
    pub errors: u32,
    /// Bytes that it has sent.
    pub bytes: u64,
    /// Links from other sites.
    pub in_links: u32,
    /// Where it was found.
    pub address: Option<String>,
    /// Time between two requests.
    pub wait_ms: u64,
    /// What is known of its robots.txt.
    pub robots: RobotsKind,
    /// The status with which that came; 0 for no answer.
    pub robots_status: Option<u16>,
    /// Requests in a row that failed.
    pub errors_in_a_row: u16,
    /// Until when it is left alone after failures.
    pub back_off_until_ms: Option<u64>,
    /// The site that it is another name of.
    pub alias_of: Option<String>,
    /// Sites that share its address, itself included: they are asked in turn.
    pub sites_at_address: u64,
}

/// The sites that are wanted, as of this time in Unix milliseconds, and how many there are if all are counted.
pub fn list_sites(
    snapshot: &Snapshot,
    rules: &CrawlSettings,
    query: &SiteQuery<'_>,
    now_ms: u64,
) -> Result<(Vec<SiteEntry>, usize)> {
    let (sites, all) = chosen(snapshot, query)?;
    let at_address = at_address(snapshot)?;
    let mut entries = Vec::with_capacity(sites.len());
    for site in sites {
        let Some(record) = snapshot.sites.get(site)? else { continue };
        let mut entry = entry(snapshot, rules, site, &record, now_ms);
        entry.sites_at_address = record.address.and_then(|at| at_address.get(&at).copied()).unwrap_or(0);
        entries.push(entry);
    }
    Ok((entries, all))
}

/// What is known of one site; nothing if the collection does not know it.
pub fn site_entry(
    snapshot: &Snapshot,
    rules: &CrawlSettings,
    site: SiteId,
    now_ms: u64,
) -> Result<Option<SiteEntry>> {
    let Some(record) = snapshot.sites.get(site)? else { return Ok(None) };
    let mut entry = entry(snapshot, rules, site, &record, now_ms);
    entry.sites_at_address = sites_at(snapshot, record.address)?;
    Ok(Some(entry))
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

fn entry(
    snapshot: &Snapshot,
    rules: &CrawlSettings,
    site: SiteId,
    record: &SiteRecord,
    now_ms: u64,
) -> SiteEntry {
    let name = |site: SiteId| snapshot.urls.site_name(site).unwrap_or_default().to_owned();
    let front = rules.gather.rules.canonical(&format!("{}/", name(site)));
    let own_wait_ms = front.ok().and_then(|front| rules.site(&front)?.wait_ms);
    SiteEntry {
        site: name(site),
        site_id: site.0,
        pages_known: record.pages_known,
        pages_fetched: record.pages_fetched,
        pages_queued: record.pages_queued,
        errors: record.errors,
        bytes: record.bytes,
        in_links: record.in_links,
        address: record.address.map(|address| address.to_string()),
        wait_ms: rules.wait_ms(record, own_wait_ms),
        robots: RobotsKind::of(record),
        robots_status: (record.robots_fetched_s != 0).then_some(record.robots_status),
        errors_in_a_row: record.errors_in_a_row,
        back_off_until_ms: Some(record.back_off_until_ms).filter(|until_ms| *until_ms > now_ms),
        alias_of: record.alias_of.map(name),
        sites_at_address: 0,
    }
}
