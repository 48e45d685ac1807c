//! Sites of a collection, with their counts and state.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;

use harvest::settings::crawl_settings::CrawlSettings;
use model::{AddressGroup, SiteId};
use serde::Serialize;
use store::{Result, SiteRecord, Snapshot};

use crate::robots_state::RobotsState;

/// Query for sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SiteQuery<'q> {
    /// Sort order.
    pub sort: SiteSort,
    /// Only sites whose name contains this text.
    pub filter: Option<&'q str>,
    /// Number of sites to skip.
    pub offset: usize,
    /// Maximum number of sites.
    pub limit: Option<usize>,
}

/// Sort order of sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SiteSort {
    /// Most known pages.
    Known,
    /// Most fetched pages.
    #[default]
    Fetched,
    /// Most queued pages.
    Queued,
    /// Most failed fetches.
    Failed,
    /// Most bytes received.
    Bytes,
    /// Most inlinks from other sites.
    Inlinks,
    /// Name, alphabetically.
    Name,
}

/// Counts and state of a site. The field names are part of the JSON interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SiteSummary {
    /// Scheme, host and port.
    pub site: String,
    /// Site id.
    pub site_id: u32,
    /// Known pages.
    pub pages_known: u32,
    /// Pages whose last fetch succeeded.
    pub pages_fetched: u32,
    /// Pages in an open batch.
    pub pages_queued: u32,
    /// Failed fetches.
    pub failed_fetches: u32,
    /// Bytes received.
    pub bytes_received: u64,
    /// In-links from other sites.
    pub inlinks: u32,
    /// IP address of the last request.
    pub ip_address: Option<String>,
    /// Delay between two requests.
    pub delay_ms: u64,
    /// State of its robots.txt.
    pub robots: RobotsState,
    /// HTTP status of its robots.txt; 0 without a response.
    pub robots_status: Option<u16>,
    /// Consecutive failures.
    pub consecutive_failures: u16,
    /// End of the back-off, if it is in one.
    pub back_off_until_ms: Option<u64>,
    /// Site of which it is an alias.
    pub alias_of: Option<String>,
    /// Sites at the same IP address (IPv6: in the same /64), including itself; they are fetched one at a time.
    pub sites_at_ip: u64,
}

/// Lists the sites of a query at the time `now_ms` (Unix milliseconds); also returns their number without offset and limit.
pub fn list_sites(
    snapshot: &Snapshot,
    settings: &CrawlSettings,
    query: &SiteQuery<'_>,
    now_ms: u64,
) -> Result<(Vec<SiteSummary>, usize)> {
    let (sites, all) = select_sites(snapshot, query)?;
    let by_address = count_sites_by_address(snapshot)?;
    let mut summaries = Vec::with_capacity(sites.len());
    for site in sites {
        let Some(record) = snapshot.site_state.get(site)? else { continue };
        let mut summary = summarize(snapshot, settings, site, &record, now_ms);
        summary.sites_at_ip = record.address.and_then(|at| by_address.get(&at.into()).copied()).unwrap_or(0);
        summaries.push(summary);
    }
    Ok((summaries, all))
}

/// Counts and state of one site; `None` if it is unknown.
pub fn site_summary(
    snapshot: &Snapshot,
    settings: &CrawlSettings,
    site: SiteId,
    now_ms: u64,
) -> Result<Option<SiteSummary>> {
    let Some(record) = snapshot.site_state.get(site)? else { return Ok(None) };
    let mut summary = summarize(snapshot, settings, site, &record, now_ms);
    summary.sites_at_ip = count_sites_at_address(snapshot, record.address)?;
    Ok(Some(summary))
}

/// Number of sites at an address.
pub(crate) fn count_sites_at_address(snapshot: &Snapshot, address: Option<IpAddr>) -> Result<u64> {
    let Some(address) = address.map(AddressGroup::from) else { return Ok(0) };
    let parts = snapshot.site_state.scan(|sites: &mut u64, _, record| {
        *sites += u64::from(record.address.map(AddressGroup::from) == Some(address));
    })?;
    Ok(parts.into_iter().sum())
}

/// Number of sites at each address.
fn count_sites_by_address(snapshot: &Snapshot) -> Result<HashMap<AddressGroup, u64>> {
    let parts = snapshot.site_state.scan(|counts: &mut HashMap<AddressGroup, u64>, _, record| {
        if let Some(address) = record.address {
            *counts.entry(address.into()).or_default() += 1;
        }
    })?;
    let mut all = HashMap::new();
    for (address, sites) in parts.into_iter().flatten() {
        *all.entry(address).or_default() += sites;
    }
    Ok(all)
}

/// Sites of a query in order, and their number without offset and limit.
fn select_sites(snapshot: &Snapshot, query: &SiteQuery<'_>) -> Result<(Vec<SiteId>, usize)> {
    let name = |site: SiteId| snapshot.urls.site_name(site).unwrap_or_default();
    let matches = |site: SiteId| query.filter.is_none_or(|text| name(site).contains(text));
    let parts = snapshot.site_state.scan(|sites: &mut Vec<(u64, SiteId)>, site, record| {
        if matches(site) {
            sites.push((query.sort.key(record), site));
        }
    })?;
    let mut sites = parts.concat();
    match query.sort {
        SiteSort::Name => sites.sort_unstable_by_key(|(_, site)| name(*site)),
        _ => sites.sort_unstable_by_key(|(key, site)| (Reverse(*key), *site)),
    }
    let all = sites.len();
    let page = sites.into_iter().skip(query.offset).take(query.limit.unwrap_or(usize::MAX));
    Ok((page.map(|(_, site)| site).collect(), all))
}

impl SiteSort {
    fn key(self, record: &SiteRecord) -> u64 {
        match self {
            SiteSort::Known => u64::from(record.pages_known),
            SiteSort::Fetched => u64::from(record.pages_fetched),
            SiteSort::Queued => u64::from(record.pages_queued),
            SiteSort::Failed => u64::from(record.failed_requests),
            SiteSort::Bytes => record.bytes_received,
            SiteSort::Inlinks => u64::from(record.inlinks),
            SiteSort::Name => 0,
        }
    }
}

fn summarize(
    snapshot: &Snapshot,
    settings: &CrawlSettings,
    site: SiteId,
    record: &SiteRecord,
    now_ms: u64,
) -> SiteSummary {
    let name = |site: SiteId| snapshot.urls.site_name(site).unwrap_or_default().to_owned();
    let front = settings.gathering.rules.canonical(&format!("{}/", name(site)));
    let override_ms = front.ok().and_then(|front| settings.override_for(&front)?.delay_ms);
    SiteSummary {
        site: name(site),
        site_id: site.0,
        pages_known: record.pages_known,
        pages_fetched: record.pages_fetched,
        pages_queued: record.pages_queued,
        failed_fetches: record.failed_requests,
        bytes_received: record.bytes_received,
        inlinks: record.inlinks,
        ip_address: record.address.map(|address| address.to_string()),
        delay_ms: crawl::site_delay_ms(settings, record, override_ms),
        robots: RobotsState::from_record(record),
        robots_status: (record.robots_fetched_s != 0).then_some(record.robots_status),
        consecutive_failures: record.consecutive_errors,
        back_off_until_ms: Some(record.back_off_until_ms).filter(|until_ms| *until_ms > now_ms),
        alias_of: record.alias_of.map(name),
        sites_at_ip: 0,
    }
}
