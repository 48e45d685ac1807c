//! What is known of each site and each domain? One row each, from the sums over pages and the columns of sites.

use std::collections::{BTreeMap, HashMap};

use model::{CanonicalUrl, SiteId, UrlRules};
use store::{
    DerivedTable, DomainRow, DomainRows, SiteRankRow, SiteRankRows, SiteRecord, Snapshot, UrlReader,
};

use super::page_ranks::{SiteColumns, SiteNumbers};
use super::part_word;
use super::site_sums::{Servers, SiteMedians, SiteSums};
use crate::error::Result;

/// Names that are kept; pages of a site mostly come together.
const MOST_NAMES: usize = 1 << 16;

/// The sites' names, taken apart once for many pages.
pub(super) struct SiteNames<'u> {
    urls: &'u UrlReader,
    rules: UrlRules,
    known: HashMap<SiteId, Option<CanonicalUrl>>,
}

impl<'u> SiteNames<'u> {
    pub(super) fn new(urls: &'u UrlReader) -> SiteNames<'u> {
        SiteNames { urls, rules: UrlRules::default(), known: HashMap::new() }
    }

    /// The URL of a site's front page. What was the site of a canonical URL makes one again.
    pub(super) fn of(&mut self, site: SiteId) -> Option<&CanonicalUrl> {
        if self.known.len() >= MOST_NAMES && !self.known.contains_key(&site) {
            self.known.clear();
        }
        let SiteNames { urls, rules, known } = self;
        let read = || rules.canonical(&format!("{}/", urls.site_name(site)?)).ok();
        known.entry(site).or_insert_with(read).as_ref()
    }
}

/// What was gathered from the pages.
pub(super) struct OfPages<'p> {
    pub(super) sums: &'p [SiteSums],
    pub(super) servers: &'p Servers,
    pub(super) latencies: &'p SiteMedians,
    pub(super) speeds: &'p SiteMedians,
}

/// Writes `site_ranks` and `domains`; tells how many domains there are.
pub(super) fn write(snapshot: &Snapshot, pages: &OfPages<'_>) -> Result<u64> {
    let (folder, generation) = (snapshot.folder(), snapshot.manifest.generation);
    let sites = 0..snapshot.sites.sites();
    let numbers = SiteColumns::open(folder, generation)?.read(&sites)?;
    let mut names = SiteNames::new(&snapshot.urls);
    let mut domains: BTreeMap<String, Domain> = BTreeMap::new();
    let mut table = DerivedTable::<SiteRankRows>::create(folder, generation)?;
    for (id, record) in records(snapshot)? {
        let Some(url) = names.of(id) else { continue };
        let row = site_row(id.0, &record, url, pages, &numbers);
        table.push(&row)?;
        let domain = row.registered_domain.unwrap_or(row.host);
        match domains.get_mut(domain) {
            Some(known) => known.add(&row),
            None => domains.entry(domain.to_owned()).or_default().add(&row),
        }
    }
    table.finish()?;
    write_domains(snapshot, &domains)?;
    Ok(domains.len() as u64)
}

fn records(snapshot: &Snapshot) -> Result<Vec<(SiteId, SiteRecord)>> {
    let parts = snapshot.sites.scan(|records: &mut Vec<(SiteId, SiteRecord)>, id, record| {
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
    pages: &OfPages<'a>,
    numbers: &SiteNumbers,
) -> SiteRankRow<'a> {
    let sums = &pages.sums[id as usize];
    SiteRankRow {
        site_id: id,
        site: url.site(),
        host: url.host(),
        registered_domain: url.registered_domain(),
        tld: url.top_level_domain(),
        protocol: url.scheme().as_str(),
        pages_known: sums.pages,
        pages_fetched: sums.fetched,
        pages_failed: sums.failed,
        pages_static: sums.pages - sums.dynamic,
        pages_dynamic: sums.dynamic,
        bytes: sums.bytes,
        links_internal: sums.links_internal,
        links_external: sums.links_external,
        age_days_min: sums.ages.min(),
        age_days_mean: sums.ages.mean(),
        age_days_max: sums.ages.max(),
        depth_min: sums.depths.min().map(|depth| depth as i16),
        depth_mean: sums.depths.mean(),
        depth_max: sums.depths.max().map(|depth| depth as i16),
        in_degree: numbers.in_degree.of(id).map(i64::from),
        out_degree: numbers.out_degree.of(id).map(i64::from),
        site_rank: numbers.site_rank.of(id),
        harmonic: numbers.harmonic.of(id),
        pagerank: numbers.pagerank.of(id),
        component: numbers.component.of(id),
        part: numbers.part.of(id).and_then(part_word),
        server: pages.servers.software(id),
        http_version: pages.servers.http_version(id),
        latency_ms: pages.latencies.of(id),
        bytes_per_second: pages.speeds.of(id),
        robots_status: (record.robots_fetched_s != 0).then_some(record.robots_status.cast_signed()),
        alias_of: record.alias_of.map(|site| site.0),
        mirror_of: numbers.mirror_of.id_of(id),
    }
}

/// Sums over the sites of a domain.
#[derive(Default)]
struct Domain {
    tld: Option<String>,
    sites: i64,
    pages: i64,
    fetched: i64,
    bytes: i64,
    pagerank: Option<f64>,
}

impl Domain {
    fn add(&mut self, site: &SiteRankRow<'_>) {
        if self.sites == 0 {
            self.tld = site.tld.map(str::to_owned);
        }
        self.sites += 1;
        self.pages += site.pages_known;
        self.fetched += site.pages_fetched;
        self.bytes += site.bytes;
        if let Some(rank) = site.pagerank {
            *self.pagerank.get_or_insert(0.0) += f64::from(rank);
        }
    }
}

fn write_domains(snapshot: &Snapshot, domains: &BTreeMap<String, Domain>) -> Result<()> {
    let mut table = DerivedTable::<DomainRows>::create(snapshot.folder(), snapshot.manifest.generation)?;
    for (name, domain) in domains {
        table.push(&DomainRow {
            registered_domain: name,
            tld: domain.tld.as_deref(),
            sites: domain.sites,
            pages: domain.pages,
            pages_fetched: domain.fetched,
            bytes: domain.bytes,
            pagerank: domain.pagerank.map(|rank| rank as f32),
        })?;
    }
    Ok(table.finish()?)
}
