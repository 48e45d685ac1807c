//! The tables of sites and of domains: one row each, from the aggregates over pages and the rank columns of sites.

use std::collections::{BTreeMap, HashMap};

use model::{CanonicalUrl, SiteId, UrlRules};
use store::{DerivedTable, DomainRow, DomainRows, SiteRecord, SiteRow, SiteRows, Snapshot, UrlReader};

use crate::error::Result;
use crate::structure::bow_tie::BowTiePart;
use crate::tables::page_ranks::{SiteColumns, SiteRankValues};
use crate::tables::site_aggregates::{SiteAggregates, SiteMedians, SiteServers};

/// Maximum number of cached names; pages of a site are mostly adjacent.
const MAX_CACHED_NAMES: usize = 1 << 16;

/// Parsed URLs of sites, cached.
pub(crate) struct SiteNames<'u> {
    urls: &'u UrlReader,
    rules: UrlRules,
    cache: HashMap<SiteId, Option<CanonicalUrl>>,
}

impl<'u> SiteNames<'u> {
    pub(crate) fn new(urls: &'u UrlReader) -> SiteNames<'u> {
        SiteNames { urls, rules: UrlRules::default(), cache: HashMap::new() }
    }

    /// URL of the front page of a site. The name of a site is a valid URL without its path.
    pub(crate) fn get(&mut self, site: SiteId) -> Option<&CanonicalUrl> {
        if self.cache.len() >= MAX_CACHED_NAMES && !self.cache.contains_key(&site) {
            self.cache.clear();
        }
        let SiteNames { urls, rules, cache } = self;
        let read = || rules.canonical(&format!("{}/", urls.site_name(site)?)).ok();
        cache.entry(site).or_insert_with(read).as_ref()
    }
}

/// Aggregates over the pages.
pub(crate) struct PageAggregates<'p> {
    pub(crate) sums: &'p [SiteAggregates],
    pub(crate) servers: &'p SiteServers,
    pub(crate) latencies: &'p SiteMedians,
    pub(crate) speeds: &'p SiteMedians,
}

/// Writes the tables of sites and of domains, and returns the number of domains.
pub(crate) fn write_sites(snapshot: &Snapshot, pages: &PageAggregates<'_>) -> Result<u64> {
    let (collection, generation) = (snapshot.dir(), snapshot.manifest.generation);
    let sites = 0..snapshot.site_state.sites();
    let numbers = SiteColumns::open(collection, generation)?.read(&sites)?;
    let mut names = SiteNames::new(&snapshot.urls);
    let mut domains: BTreeMap<String, DomainAggregates> = BTreeMap::new();
    let mut table = DerivedTable::<SiteRows>::create(collection, generation)?;
    for (id, record) in records(snapshot)? {
        let Some(url) = names.get(id) else { continue };
        let row = site_row(id.0, &record, url, pages, &numbers);
        table.push(&row)?;
        let domain = row.url_host_registered_domain.unwrap_or(row.url_host_name);
        match domains.get_mut(domain) {
            Some(cache) => cache.add(&row),
            None => domains.entry(domain.to_owned()).or_default().add(&row),
        }
    }
    table.finish()?;
    write_domains(snapshot, &domains)?;
    Ok(domains.len() as u64)
}

fn records(snapshot: &Snapshot) -> Result<Vec<(SiteId, SiteRecord)>> {
    let parts = snapshot.site_state.scan(|records: &mut Vec<(SiteId, SiteRecord)>, id, record| {
        records.push((id, *record));
    })?;
    let mut records = parts.concat();
    records.sort_unstable_by_key(|(id, _)| *id);
    Ok(records)
}

fn site_row<'a>(
    id: u32,
    record: &SiteRecord,
    url: &'a CanonicalUrl,
    pages: &PageAggregates<'a>,
    numbers: &SiteRankValues,
) -> SiteRow<'a> {
    let sums = &pages.sums[id as usize];
    SiteRow {
        site_id: id,
        site: url.site(),
        url_host_name: url.host(),
        url_host_registered_domain: url.registered_domain(),
        url_host_tld: url.top_level_domain(),
        url_protocol: url.scheme().as_str(),
        pages_known: sums.pages,
        pages_fetched: sums.fetched,
        pages_failed: sums.failed,
        pages_static: sums.pages - sums.dynamic,
        pages_dynamic: sums.dynamic,
        content_bytes: sums.bytes,
        internal_links: sums.links_internal,
        external_links: sums.links_external,
        age_days_min: sums.ages.min(),
        age_days_mean: sums.ages.mean(),
        age_days_max: sums.ages.max(),
        depth_min: sums.depths.min().map(|depth| depth as i16),
        depth_mean: sums.depths.mean(),
        depth_max: sums.depths.max().map(|depth| depth as i16),
        in_degree: numbers.in_degree.get(id).map(i64::from),
        out_degree: numbers.out_degree.get(id).map(i64::from),
        site_rank: numbers.site_rank.get(id),
        harmonic_centrality: numbers.harmonic.get(id),
        pagerank_sum: numbers.pagerank.get(id),
        component: numbers.component.get(id),
        bow_tie_part: numbers.part.get(id).and_then(BowTiePart::name_of),
        server: pages.servers.software(id),
        http_version: pages.servers.http_version(id),
        latency_ms: pages.latencies.get(id),
        bytes_per_second: pages.speeds.get(id),
        robots_status: (record.robots_fetched_s != 0).then_some(record.robots_status.cast_signed()),
        alias_of: record.alias_of.map(|site| site.0),
        mirror_of: numbers.mirror_of.get_id(id),
    }
}

/// Sums over the sites of a domain.
#[derive(Default)]
struct DomainAggregates {
    tld: Option<String>,
    sites: i64,
    pages: i64,
    fetched: i64,
    bytes: i64,
    pagerank: Option<f64>,
}

impl DomainAggregates {
    fn add(&mut self, site: &SiteRow<'_>) {
        if self.sites == 0 {
            self.tld = site.url_host_tld.map(str::to_owned);
        }
        self.sites += 1;
        self.pages += site.pages_known;
        self.fetched += site.pages_fetched;
        self.bytes += site.content_bytes;
        if let Some(rank) = site.pagerank_sum {
            *self.pagerank.get_or_insert(0.0) += f64::from(rank);
        }
    }
}

fn write_domains(snapshot: &Snapshot, domains: &BTreeMap<String, DomainAggregates>) -> Result<()> {
    let mut table = DerivedTable::<DomainRows>::create(snapshot.dir(), snapshot.manifest.generation)?;
    for (name, domain) in domains {
        table.push(&DomainRow {
            url_host_registered_domain: name,
            url_host_tld: domain.tld.as_deref(),
            sites: domain.sites,
            pages_known: domain.pages,
            pages_fetched: domain.fetched,
            content_bytes: domain.bytes,
            pagerank_sum: domain.pagerank.map(|rank| rank as f32),
        })?;
    }
    Ok(table.finish()?)
}
