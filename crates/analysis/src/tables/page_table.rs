//! The table `pages`, with `ranks` and `components`: one row per page with everything that is known about it.
//!
//! A row of `pages` joins the record of a page, its newest rows of `fetches` and `documents`, and the rank columns of
//! the earlier steps. Rows are built for a range of pages at a time, as large as the memory allows; usually one range
//! suffices. On the way, sums over sites, domains and components are collected for the other tables.

use std::ops::Range;

use model::{CanonicalUrl, PageId, Reason};
use serde::{Deserialize, Serialize};
use store::{
    ComponentRow, ComponentRows, DerivedTable, PageFlags, PageRecord, PageRow, PageRows, PageStage, RankRow,
    RankRows, Snapshot,
};

use crate::error::Result;
use crate::graph::link_graph::GraphSettings;
use crate::structure::bow_tie::BowTiePart;
use crate::tables::latest_rows::{LatestDocument, LatestFetch, LatestRows, PAGE_BYTES};
use crate::tables::page_ranks::{PageColumns, PageRankValues};
use crate::tables::site_aggregates::{SiteAggregates, SiteMedians, SiteServers};
use crate::tables::sites::{PageAggregates, SiteNames, write_sites};
use crate::tables::technology::technology;

/// Pages per batch of lookups.
const CHUNK_PAGES: u32 = 1 << 14;
/// Minimum size of a range, regardless of the memory limit.
const MIN_RANGE_PAGES: u64 = 1 << 16;
const DAY_MS: f64 = 86_400_000.0;
/// The Web began in 1990; earlier dates are invalid.
const WEB_EPOCH_MS: i64 = 631_152_000_000;

/// Number of rows that were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RowCounts {
    /// Rows of `pages` and `ranks`.
    pub pages: u64,
    /// Rows of the table of sites.
    pub sites: u64,
    /// Rows of `domains`.
    pub domains: u64,
    /// Rows of `components`.
    pub components: u64,
}

/// Writes `pages`, `ranks`, `components`, `sites` and `domains` for a commit. `on_progress` receives the share of pages
/// that are done.
pub(crate) fn write_tables(
    snapshot: &Snapshot,
    settings: &GraphSettings,
    on_progress: &mut dyn FnMut(f64),
) -> Result<RowCounts> {
    let (pages, sites) = (snapshot.page_state.pages(), snapshot.site_state.sites());
    let mut servers = SiteServers::new(sites);
    let mut writer = PageWriter::new(snapshot)?;
    let range_pages =
        (settings.memory_bytes / PAGE_BYTES).max(MIN_RANGE_PAGES).min(u64::from(u32::MAX)) as usize;
    for start in (0..pages).step_by(range_pages) {
        let range = start..pages.min(start.saturating_add(range_pages as u32));
        let first_pass_servers = (start == 0).then_some(&mut servers);
        let rows = LatestRows::read(snapshot, &range, first_pass_servers)?;
        for first in range.clone().step_by(CHUNK_PAGES as usize) {
            writer.write(first..range.end.min(first.saturating_add(CHUNK_PAGES)), range.start, &rows)?;
            on_progress((f64::from(first) + f64::from(CHUNK_PAGES)).min(f64::from(pages)) / f64::from(pages));
        }
    }
    let PageWriter { pages: table, ranks, components, mut sums, mut latencies, mut speeds, .. } = writer;
    table.finish()?;
    ranks.finish()?;
    latencies.sort();
    speeds.sort();
    sums.resize(sites as usize, SiteAggregates::default());
    let aggregates =
        PageAggregates { sums: &sums, servers: &servers, latencies: &latencies, speeds: &speeds };
    let domains = write_sites(snapshot, &aggregates)?;
    Ok(RowCounts {
        pages: u64::from(pages),
        sites: u64::from(sites),
        domains,
        components: components.write(snapshot)?,
    })
}

/// Writes the rows of pages, and collects the aggregates.
struct PageWriter<'s> {
    snapshot: &'s Snapshot,
    columns: PageColumns,
    names: SiteNames<'s>,
    pages: DerivedTable<PageRows>,
    ranks: DerivedTable<RankRows>,
    components: ComponentSizes,
    sums: Vec<SiteAggregates>,
    latencies: SiteMedians,
    speeds: SiteMedians,
}

impl<'s> PageWriter<'s> {
    fn new(snapshot: &'s Snapshot) -> Result<PageWriter<'s>> {
        let (collection, generation) = (snapshot.dir(), snapshot.manifest.generation);
        Ok(PageWriter {
            snapshot,
            columns: PageColumns::open(collection, generation)?,
            names: SiteNames::new(&snapshot.urls),
            pages: DerivedTable::create(collection, generation)?,
            ranks: DerivedTable::create(collection, generation)?,
            components: ComponentSizes::default(),
            sums: vec![SiteAggregates::default(); snapshot.site_state.sites() as usize],
            latencies: SiteMedians::default(),
            speeds: SiteMedians::default(),
        })
    }

    /// Writes consecutive pages; `rows` starts with the row of page `first_row`.
    fn write(&mut self, pages: Range<u32>, first_row: u32, rows: &LatestRows) -> Result<()> {
        let ids: Vec<PageId> = pages.clone().map(PageId).collect();
        let records = self.snapshot.page_state.get_many(&ids)?;
        let urls = self.snapshot.urls.urls(&ids)?;
        let numbers = self.columns.read(&pages)?;
        for ((id, record), url) in ids.iter().zip(&records).zip(&urls) {
            let index = (id.0 - first_row) as usize;
            let inputs = PageInputs {
                id: id.0,
                record,
                url: url.as_deref().unwrap_or_default(),
                fetch: &rows.fetches[index],
                document: &rows.documents[index],
                rows,
                numbers: &numbers,
            };
            let site = self.names.get(record.site);
            let row = inputs.row(site);
            if let Some(sums) = self.sums.get_mut(record.site.index()) {
                sums.add(&row);
            }
            add_timings(&row, &mut self.latencies, &mut self.speeds);
            self.components.add(id.0, &numbers);
            self.ranks.push(&rank_row(&row))?;
            self.pages.push(&row)?;
        }
        Ok(())
    }
}

fn add_timings(row: &PageRow<'_>, latencies: &mut SiteMedians, speeds: &mut SiteMedians) {
    if let Some(latency_ms) = row.latency_ms {
        latencies.add(row.site_id, latency_ms as f32);
    }
    let bytes = row.content_length.filter(|bytes| *bytes > 0);
    if let (Some(bytes), Some(duration_ms)) = (bytes, row.duration_ms.filter(|ms| *ms > 0)) {
        speeds.add(row.site_id, (1_000.0 * bytes as f64 / f64::from(duration_ms)) as f32);
    }
}

/// Sources of the row of one page.
struct PageInputs<'f> {
    id: u32,
    record: &'f PageRecord,
    url: &'f str,
    fetch: &'f LatestFetch,
    document: &'f LatestDocument,
    rows: &'f LatestRows,
    numbers: &'f PageRankValues,
}

impl<'f> PageInputs<'f> {
    /// Builds the row; `site` is the URL of the front page of its site.
    fn row(&self, site: Option<&'f CanonicalUrl>) -> PageRow<'f> {
        let PageInputs { id, record, fetch, document, rows, numbers, .. } = *self;
        let visited = record.fetch_count > 0;
        let is_parsed = document.exists();
        let has_content = fetch.has_content();
        let (age_days, age_basis) = age(document).unzip();
        PageRow {
            page_id: id,
            site_id: record.site.0,
            url: self.url,
            url_host_name: site.map_or("", CanonicalUrl::host),
            url_host_tld: site.and_then(CanonicalUrl::top_level_domain),
            url_host_registered_domain: site.and_then(CanonicalUrl::registered_domain),
            url_protocol: site.map_or("", |site| site.scheme().as_str()),
            depth: i16::from(record.depth),
            stage: stage(record.stage),
            fetch_status: visited.then_some(record.status.cast_signed()),
            outcome: rows.fetch_strings.get(fetch.outcome),
            reason: record.reason.map(Reason::as_str),
            mime_type: rows.fetch_strings.get(fetch.mime),
            charset: rows.document_strings.get(document.charset),
            language: rows.document_strings.get(document.language),
            language_confidence: rows
                .document_strings
                .get(document.language)
                .map(|_| document.language_confidence),
            content_length: has_content.then_some(fetch.content_length),
            text_length: is_parsed.then_some(document.text_length),
            title_chars: is_parsed.then_some(document.title_length),
            word_count: is_parsed.then_some(document.words),
            is_dynamic: record.flags.has(PageFlags::DYNAMIC),
            technology: technology(path(self.url)),
            is_seed: record.flags.has(PageFlags::SEED),
            fetch_count: i32::from(record.fetch_count),
            revisits_compared: i32::from(record.comparable_visits),
            change_count: i32::from(record.change_count),
            changes_per_day: Some(record.changes_per_day).filter(|rate| *rate > 0.0),
            first_fetch_time: optional_ms(record.first_visit_s),
            last_fetch_time: optional_ms(record.last_visit_s),
            published_time: document.published_ms,
            modified_time: document.modified_ms,
            age_days,
            age_source: age_basis,
            latency_ms: fetch.latency_ms.filter(|_| has_content),
            duration_ms: fetch.duration_ms.filter(|_| has_content),
            internal_links: is_parsed.then_some(document.links_internal),
            external_links: is_parsed.then_some(document.links_external),
            embedded_links: is_parsed.then_some(document.links_embedded),
            in_degree: numbers.in_degree.get(id).map(i64::from),
            out_degree: numbers.out_degree.get(id).map(i64::from),
            pagerank: numbers.pagerank.get(id),
            link_rank: numbers.link_rank.get(id),
            hub: numbers.hub.get(id),
            authority: numbers.authority.get(id),
            component: numbers.component.get(id),
            bow_tie_part: numbers.part.get(id).and_then(BowTiePart::name_of),
            duplicate_of: record.duplicate_of.map(|page| page.0),
            duplicate_group: numbers.duplicate_group.get_id(id),
            near_duplicate_group: numbers.near_group.get_id(id),
        }
    }
}

fn rank_row<'r>(page: &PageRow<'r>) -> RankRow<'r> {
    RankRow {
        page_id: page.page_id,
        in_degree: page.in_degree,
        out_degree: page.out_degree,
        pagerank: page.pagerank,
        link_rank: page.link_rank,
        hub: page.hub,
        authority: page.authority,
    }
}

/// Age in days, and the date it is based on.
fn age(document: &LatestDocument) -> Option<(f32, &'static str)> {
    let days = |date: Option<i64>| {
        let date = date.filter(|date| (WEB_EPOCH_MS..=document.time_ms).contains(date))?;
        Some(((document.time_ms - date) as f64 / DAY_MS) as f32)
    };
    let modified = days(document.modified_ms).map(|age| (age, "modified"));
    modified.or_else(|| days(document.published_ms).map(|age| (age, "published")))
}

/// Path of a canonical URL, without its query.
fn path(url: &str) -> &str {
    let path = url.splitn(4, '/').nth(3).unwrap_or_default();
    path.split('?').next().unwrap_or_default()
}

fn optional_ms(unix_s: u32) -> Option<i64> {
    (unix_s != 0).then(|| i64::from(unix_s) * 1_000)
}

fn stage(stage: PageStage) -> &'static str {
    match stage {
        PageStage::Discovered => "discovered",
        PageStage::Queued => "queued",
        PageStage::Fetched => "fetched",
        PageStage::Failed => "failed",
        PageStage::Rejected => "rejected",
    }
}

/// Number of pages and bow-tie part of each component.
#[derive(Default)]
struct ComponentSizes {
    pages: Vec<(u32, u8)>,
}

impl ComponentSizes {
    fn add(&mut self, page: u32, numbers: &PageRankValues) {
        let (Some(component), Some(part)) = (numbers.component.get(page), numbers.part.get(page)) else {
            return;
        };
        let index = component as usize;
        if index >= self.pages.len() {
            self.pages.resize(index + 1, (0, 0));
        }
        self.pages[index] = (self.pages[index].0 + 1, part as u8);
    }

    fn write(&self, snapshot: &Snapshot) -> Result<u64> {
        let mut table = DerivedTable::<ComponentRows>::create(snapshot.dir(), snapshot.manifest.generation)?;
        for (component, (pages, part)) in (0..).zip(&self.pages) {
            let part = if component == 0 { Some("main") } else { BowTiePart::name_of(u32::from(*part)) };
            let part = part.unwrap_or_default();
            table.push(&ComponentRow { component, pages: i64::from(*pages), bow_tie_part: part })?;
        }
        table.finish()?;
        Ok(self.pages.len() as u64)
    }
}
