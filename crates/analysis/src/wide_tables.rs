//! What is known of each page, site and domain, all in one row? The tables that people and their tools ask first, and that
//! statistics are made of.
//!
//! A row of `pages` joins the record of a page, its newest rows of `fetches` and `documents`, and the columns of the steps
//! before. It is made for a range of pages at a time, as large as memory allows; one range is the rule. While pages go by,
//! sums over sites, domains and components gather for the other tables.

mod last_rows;
mod page_ranks;
mod site_sums;
mod sites;
mod words;

use std::ops::Range;

use model::{CanonicalUrl, PageId, Reason};
use serde::Serialize;
use store::{
    ComponentRow, ComponentRows, DerivedTable, PageFlags, PageRecord, PageRow, PageRows, RankRow, RankRows,
    Snapshot, Stage,
};

use crate::bow_tie::Part;
use crate::error::Result;
use crate::link_graph::GraphSettings;
use crate::technology::technology;
use last_rows::{LastDocument, LastRows, LastVisit, PAGE_BYTES};
use page_ranks::{PageColumns, PageNumbers};
use site_sums::{Servers, SiteMedians, SiteSums};
use sites::SiteNames;

/// Pages that are put together at a time.
const CHUNK_PAGES: u32 = 1 << 14;
/// However little memory there is, so many pages are a range.
const LEAST_RANGE: u64 = 1 << 16;
const DAY_MS: f64 = 86_400_000.0;
/// There was no Web before 1990; what is dated so has no date.
const WEB_BEGAN_MS: i64 = 631_152_000_000;

/// How many rows there are now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Written {
    pages: u64,
    sites: u64,
    domains: u64,
    components: u64,
}

/// Writes `pages`, `ranks`, `components`, `site_ranks` and `domains` for a commit. `told` hears which share of all pages is
/// done.
pub(crate) fn write_tables(
    snapshot: &Snapshot,
    settings: &GraphSettings,
    told: &mut dyn FnMut(f64),
) -> Result<Written> {
    let (pages, sites) = (snapshot.pages.pages(), snapshot.sites.sites());
    let mut servers = Servers::new(sites);
    let mut writer = PageWriter::new(snapshot)?;
    let range_pages = (settings.memory_bytes / PAGE_BYTES).max(LEAST_RANGE).min(u64::from(u32::MAX)) as usize;
    for start in (0..pages).step_by(range_pages) {
        let range = start..pages.min(start.saturating_add(range_pages as u32));
        let heard = (start == 0).then_some(&mut servers);
        let rows = LastRows::read(snapshot, &range, heard)?;
        for first in range.clone().step_by(CHUNK_PAGES as usize) {
            writer.write(first..range.end.min(first.saturating_add(CHUNK_PAGES)), range.start, &rows)?;
            told((f64::from(first) + f64::from(CHUNK_PAGES)).min(f64::from(pages)) / f64::from(pages));
        }
    }
    let PageWriter { pages: table, ranks, components, mut sums, mut latencies, mut speeds, .. } = writer;
    table.finish()?;
    ranks.finish()?;
    latencies.sort();
    speeds.sort();
    sums.resize(sites as usize, SiteSums::default());
    let of_pages = sites::OfPages { sums: &sums, servers: &servers, latencies: &latencies, speeds: &speeds };
    let domains = sites::write(snapshot, &of_pages)?;
    Ok(Written {
        pages: u64::from(pages),
        sites: u64::from(sites),
        domains,
        components: components.write(snapshot)?,
    })
}

/// Writes rows of pages, and gathers what is said of all.
struct PageWriter<'s> {
    snapshot: &'s Snapshot,
    columns: PageColumns,
    names: SiteNames<'s>,
    pages: DerivedTable<PageRows>,
    ranks: DerivedTable<RankRows>,
    components: ComponentSums,
    sums: Vec<SiteSums>,
    latencies: SiteMedians,
    speeds: SiteMedians,
}

impl<'s> PageWriter<'s> {
    fn new(snapshot: &'s Snapshot) -> Result<PageWriter<'s>> {
        let (folder, generation) = (snapshot.folder(), snapshot.manifest.generation);
        Ok(PageWriter {
            snapshot,
            columns: PageColumns::open(folder, generation)?,
            names: SiteNames::new(&snapshot.urls),
            pages: DerivedTable::create(folder, generation)?,
            ranks: DerivedTable::create(folder, generation)?,
            components: ComponentSums::default(),
            sums: vec![SiteSums::default(); snapshot.sites.sites() as usize],
            latencies: SiteMedians::default(),
            speeds: SiteMedians::default(),
        })
    }

    /// Writes consecutive pages; the first of `rows` is that of page `first_row`.
    fn write(&mut self, pages: Range<u32>, first_row: u32, rows: &LastRows) -> Result<()> {
        let ids: Vec<PageId> = pages.clone().map(PageId).collect();
        let records = self.snapshot.pages.get_many(&ids)?;
        let urls = self.snapshot.urls.urls(&ids)?;
        let numbers = self.columns.read(&pages)?;
        for ((id, record), url) in ids.iter().zip(&records).zip(&urls) {
            let place = (id.0 - first_row) as usize;
            let facts = Facts {
                id: id.0,
                record,
                url: url.as_deref().unwrap_or_default(),
                visit: &rows.visits[place],
                document: &rows.documents[place],
                rows,
                numbers: &numbers,
            };
            let site = self.names.of(record.site);
            let row = facts.row(site);
            if let Some(sums) = self.sums.get_mut(record.site.index()) {
                sums.add(&row);
            }
            gather_times(&row, &mut self.latencies, &mut self.speeds);
            self.components.add(id.0, &numbers);
            self.ranks.push(&rank_row(&row))?;
            self.pages.push(&row)?;
        }
        Ok(())
    }
}

fn gather_times(row: &PageRow<'_>, latencies: &mut SiteMedians, speeds: &mut SiteMedians) {
    if let Some(latency_ms) = row.latency_ms {
        latencies.add(row.site_id, latency_ms as f32);
    }
    let bytes = row.content_length.filter(|bytes| *bytes > 0);
    if let (Some(bytes), Some(duration_ms)) = (bytes, row.duration_ms.filter(|ms| *ms > 0)) {
        speeds.add(row.site_id, (1_000.0 * bytes as f64 / f64::from(duration_ms)) as f32);
    }
}

/// Everything that is known of one page.
struct Facts<'f> {
    id: u32,
    record: &'f PageRecord,
    url: &'f str,
    visit: &'f LastVisit,
    document: &'f LastDocument,
    rows: &'f LastRows,
    numbers: &'f PageNumbers,
}

impl<'f> Facts<'f> {
    /// `site` is the URL of its front page.
    fn row(&self, site: Option<&'f CanonicalUrl>) -> PageRow<'f> {
        let Facts { id, record, visit, document, rows, numbers, .. } = *self;
        let visited = record.visits > 0;
        let parsed = document.is_there();
        let has_content = visit.has_content();
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
            status: visited.then_some(record.status.cast_signed()),
            outcome: rows.visit_words.get(visit.outcome),
            reason: Reason::from_code(record.reason).map(Reason::as_str),
            mime: rows.visit_words.get(visit.mime),
            charset: rows.document_words.get(document.charset),
            language: rows.document_words.get(document.language),
            language_confidence: rows
                .document_words
                .get(document.language)
                .map(|_| document.language_confidence),
            content_length: has_content.then_some(visit.content_length),
            text_length: parsed.then_some(document.text_length),
            title_length: parsed.then_some(document.title_length),
            words: parsed.then_some(document.words),
            dynamic: record.flags.has(PageFlags::DYNAMIC),
            technology: technology(path(self.url)),
            seed: record.flags.has(PageFlags::SEED),
            visits: i32::from(record.visits),
            compared: i32::from(record.compared),
            changes: i32::from(record.changes),
            changes_per_day: Some(record.changes_per_day).filter(|rate| *rate > 0.0),
            first_visit: moment(record.first_visit_s),
            last_visit: moment(record.last_visit_s),
            published: document.published_ms,
            modified: document.modified_ms,
            age_days,
            age_basis,
            latency_ms: visit.latency_ms.filter(|_| has_content),
            duration_ms: visit.duration_ms.filter(|_| has_content),
            links_internal: parsed.then_some(document.links_internal),
            links_external: parsed.then_some(document.links_external),
            links_embedded: parsed.then_some(document.links_embedded),
            in_degree: numbers.in_degree.of(id).map(i64::from),
            out_degree: numbers.out_degree.of(id).map(i64::from),
            pagerank: numbers.pagerank.of(id),
            link_rank: numbers.link_rank.of(id),
            hub: numbers.hub.of(id),
            authority: numbers.authority.of(id),
            component: numbers.component.of(id),
            part: numbers.part.of(id).and_then(part_word),
            duplicate_of: record.duplicate_of.map(|page| page.0),
            duplicate_group: numbers.duplicate_group.id_of(id),
            near_duplicate_group: numbers.near_group.id_of(id),
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

/// The age in days, and by which date.
fn age(document: &LastDocument) -> Option<(f32, &'static str)> {
    let days = |date: Option<i64>| {
        let date = date.filter(|date| (WEB_BEGAN_MS..=document.time_ms).contains(date))?;
        Some(((document.time_ms - date) as f64 / DAY_MS) as f32)
    };
    let modified = days(document.modified_ms).map(|age| (age, "modified"));
    modified.or_else(|| days(document.published_ms).map(|age| (age, "published")))
}

/// The path of a canonical URL, without its query.
fn path(url: &str) -> &str {
    let path = url.splitn(4, '/').nth(3).unwrap_or_default();
    path.split('?').next().unwrap_or_default()
}

fn moment(unix_s: u32) -> Option<i64> {
    (unix_s != 0).then(|| i64::from(unix_s) * 1_000)
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::New => "new",
        Stage::Queued => "queued",
        Stage::Fetched => "fetched",
        Stage::Failed => "failed",
        Stage::Rejected => "rejected",
    }
}

fn part_word(number: u32) -> Option<&'static str> {
    Part::ALL.get(number as usize).map(|part| part.as_str())
}

/// How many pages each component has, and where it lies.
#[derive(Default)]
struct ComponentSums {
    pages: Vec<(u32, u8)>,
}

impl ComponentSums {
    fn add(&mut self, page: u32, numbers: &PageNumbers) {
        let (Some(component), Some(part)) = (numbers.component.of(page), numbers.part.of(page)) else {
            return;
        };
        let place = component as usize;
        if place >= self.pages.len() {
            self.pages.resize(place + 1, (0, 0));
        }
        self.pages[place] = (self.pages[place].0 + 1, part as u8);
    }

    fn write(&self, snapshot: &Snapshot) -> Result<u64> {
        let mut table =
            DerivedTable::<ComponentRows>::create(snapshot.folder(), snapshot.manifest.generation)?;
        for (component, (pages, part)) in (0..).zip(&self.pages) {
            let part = if component == 0 { Some("main") } else { part_word(u32::from(*part)) };
            let part = part.unwrap_or_default();
            table.push(&ComponentRow { component, pages: i64::from(*pages), part })?;
        }
        table.finish()?;
        Ok(self.pages.len() as u64)
    }
}
