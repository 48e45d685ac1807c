//! Newest rows of `fetches` and `documents` for each page, for a range of pages that fits into memory.
//!
//! Each table is read once per range, by one thread; the two are read in parallel.

use std::ops::Range;
use std::thread;

use store::{DocumentRow, DocumentRows, FetchRow, FetchRows, Snapshot, TableReader};

use crate::error::Result;
use crate::tables::site_aggregates::SiteServers;
use crate::tables::string_pool::{StringId, StringPool};

/// Memory per page.
pub(crate) const PAGE_BYTES: u64 = (size_of::<LatestFetch>() + size_of::<LatestDocument>()) as u64;

/// Newest rows of a range of pages.
#[derive(Debug)]
pub(crate) struct LatestRows {
    pub(crate) fetches: Vec<LatestFetch>,
    pub(crate) documents: Vec<LatestDocument>,
    pub(crate) fetch_strings: StringPool,
    pub(crate) document_strings: StringPool,
}

/// Last fetch of a page, and the last one with content.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LatestFetch {
    time_ms: i64,
    pub(crate) outcome: StringId,
    /// [`NEVER`] if there was no fetch with content.
    content_time_ms: i64,
    pub(crate) mime: StringId,
    pub(crate) content_length: i64,
    pub(crate) latency_ms: Option<i32>,
    pub(crate) duration_ms: Option<i32>,
}

/// Newest document of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LatestDocument {
    pub(crate) time_ms: i64,
    pub(crate) published_ms: Option<i64>,
    pub(crate) modified_ms: Option<i64>,
    pub(crate) language: StringId,
    pub(crate) charset: StringId,
    pub(crate) language_confidence: f32,
    pub(crate) title_length: i32,
    pub(crate) text_length: i64,
    pub(crate) words: i32,
    pub(crate) links_internal: i32,
    pub(crate) links_external: i32,
    pub(crate) links_embedded: i32,
}

const NEVER: i64 = i64::MIN;

const FETCH_COLUMNS: [&str; 11] = [
    "page_id",
    "site_id",
    "fetch_time",
    "outcome",
    "content_mime_type",
    "content_mime_detected",
    "content_length",
    "latency_ms",
    "duration_ms",
    "server",
    "http_version",
];
const DOCUMENT_COLUMNS: [&str; 13] = [
    "page_id",
    "fetch_time",
    "title",
    "language",
    "language_confidence",
    "charset",
    "published_time",
    "modified_time",
    "text_length",
    "word_count",
    "internal_links",
    "external_links",
    "embedded_links",
];

impl LatestRows {
    /// Reads the rows of these pages. `servers` records all fetches, also those of other pages.
    pub(crate) fn read(
        snapshot: &Snapshot,
        pages: &Range<u32>,
        servers: Option<&mut SiteServers>,
    ) -> Result<LatestRows> {
        let (collection, manifest) = (snapshot.dir(), &snapshot.manifest);
        let fetches =
            TableReader::<FetchRows>::open_committed(collection, manifest)?.with_columns(&FETCH_COLUMNS);
        let documents = TableReader::<DocumentRows>::open_committed(collection, manifest)?
            .with_columns(&DOCUMENT_COLUMNS);
        let (visited, parsed) = thread::scope(|scope| {
            let visited = scope.spawn(|| read_fetches(&fetches, pages, servers));
            let parsed = read_documents(&documents, pages);
            (visited.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), parsed)
        });
        let ((fetches, fetch_strings), (documents, document_strings)) = (visited?, parsed?);
        Ok(LatestRows { fetches, documents, fetch_strings, document_strings })
    }
}

impl LatestFetch {
    const NONE: LatestFetch = LatestFetch {
        time_ms: NEVER,
        outcome: StringId::NONE,
        content_time_ms: NEVER,
        mime: StringId::NONE,
        content_length: 0,
        latency_ms: None,
        duration_ms: None,
    };

    /// Reports whether a fetch returned content.
    pub(crate) fn has_content(&self) -> bool {
        self.content_time_ms != NEVER
    }

    fn record(&mut self, row: &FetchRow<'_>, strings: &mut StringPool) {
        if row.fetch_time >= self.time_ms {
            self.time_ms = row.fetch_time;
            self.outcome = strings.intern(Some(row.outcome));
        }
        if row.outcome == "ok" && row.fetch_time >= self.content_time_ms {
            self.content_time_ms = row.fetch_time;
            self.mime = strings.intern(row.content_mime_detected.or(row.content_mime_type));
            self.content_length = row.content_length;
            (self.latency_ms, self.duration_ms) = (row.latency_ms, row.duration_ms);
        }
    }
}

impl LatestDocument {
    const NONE: LatestDocument = LatestDocument {
        time_ms: NEVER,
        published_ms: None,
        modified_ms: None,
        language: StringId::NONE,
        charset: StringId::NONE,
        language_confidence: 0.0,
        title_length: 0,
        text_length: 0,
        words: 0,
        links_internal: 0,
        links_external: 0,
        links_embedded: 0,
    };

    /// Reports whether the page has a document.
    pub(crate) fn exists(&self) -> bool {
        self.time_ms != NEVER
    }

    fn from_row(row: &DocumentRow<'_>, strings: &mut StringPool) -> LatestDocument {
        LatestDocument {
            time_ms: row.fetch_time,
            published_ms: row.published_time,
            modified_ms: row.modified_time,
            language: strings.intern(row.language),
            charset: strings.intern(row.charset),
            language_confidence: row.language_confidence.unwrap_or(0.0),
            title_length: row.title.map_or(0, |title| title.chars().count() as i32),
            text_length: row.text_length,
            words: row.word_count,
            links_internal: row.internal_links,
            links_external: row.external_links,
            links_embedded: row.embedded_links,
        }
    }
}

fn read_fetches(
    fetches: &TableReader<FetchRows>,
    pages: &Range<u32>,
    mut servers: Option<&mut SiteServers>,
) -> Result<(Vec<LatestFetch>, StringPool)> {
    let mut latest = vec![LatestFetch::NONE; pages.len()];
    let mut strings = StringPool::default();
    fetches.for_each_row(|row| {
        if let Some(servers) = &mut servers {
            servers.record(row);
        }
        if pages.contains(&row.page_id) {
            latest[(row.page_id - pages.start) as usize].record(row, &mut strings);
        }
    })?;
    Ok((latest, strings))
}

fn read_documents(
    documents: &TableReader<DocumentRows>,
    pages: &Range<u32>,
) -> Result<(Vec<LatestDocument>, StringPool)> {
    let mut latest = vec![LatestDocument::NONE; pages.len()];
    let mut strings = StringPool::default();
    documents.for_each_row(|row| {
        if pages.contains(&row.page_id) {
            let document = &mut latest[(row.page_id - pages.start) as usize];
            if row.fetch_time >= document.time_ms {
                *document = LatestDocument::from_row(row, &mut strings);
            }
        }
    })?;
    Ok((latest, strings))
}
