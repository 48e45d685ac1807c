//! What do `fetches` and `documents` say of each page last? Their newest rows, for a range of pages that fits into memory.
//!
//! A table is read once a range, by one core; the two are read side by side.

use std::ops::Range;
use std::thread;

use store::{DocumentRow, DocumentRows, FetchRow, FetchRows, Snapshot, TableReader};

use super::site_sums::Servers;
use super::words::{Word, Words};
use crate::error::Result;

/// What a page takes.
pub(super) const PAGE_BYTES: u64 = (size_of::<LastVisit>() + size_of::<LastDocument>()) as u64;

/// The newest rows of a range of pages.
#[derive(Debug)]
pub(super) struct LastRows {
    pub(super) visits: Vec<LastVisit>,
    pub(super) documents: Vec<LastDocument>,
    pub(super) visit_words: Words,
    pub(super) document_words: Words,
}

/// The last visit of a page, and the last that brought content.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastVisit {
    time_ms: i64,
    pub(super) outcome: Word,
    /// There was no such visit if this is [`NEVER`].
    content_time_ms: i64,
    pub(super) mime: Word,
    pub(super) content_length: i64,
    pub(super) latency_ms: Option<i32>,
    pub(super) duration_ms: Option<i32>,
}

/// The last document of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastDocument {
    pub(super) time_ms: i64,
    pub(super) published_ms: Option<i64>,
    pub(super) modified_ms: Option<i64>,
    pub(super) language: Word,
    pub(super) charset: Word,
    pub(super) language_confidence: f32,
    pub(super) title_length: i32,
    pub(super) text_length: i64,
    pub(super) words: i32,
    pub(super) links_internal: i32,
    pub(super) links_external: i32,
    pub(super) links_embedded: i32,
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
    "published",
    "modified",
    "text_length",
    "words",
    "links_internal",
    "links_external",
    "links_embedded",
];

impl LastRows {
    /// Reads them for these pages. `servers` hears of all visits, of these and all other pages.
    pub(super) fn read(
        snapshot: &Snapshot,
        pages: &Range<u32>,
        servers: Option<&mut Servers>,
    ) -> Result<LastRows> {
        let (folder, manifest) = (snapshot.folder(), &snapshot.manifest);
        let fetches = TableReader::<FetchRows>::committed(folder, manifest)?.with_columns(&FETCH_COLUMNS);
        let documents =
            TableReader::<DocumentRows>::committed(folder, manifest)?.with_columns(&DOCUMENT_COLUMNS);
        let (visited, parsed) = thread::scope(|scope| {
            let visited = scope.spawn(|| read_visits(&fetches, pages, servers));
            let parsed = read_documents(&documents, pages);
            (visited.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), parsed)
        });
        let ((visits, visit_words), (documents, document_words)) = (visited?, parsed?);
        Ok(LastRows { visits, documents, visit_words, document_words })
    }
}

impl LastVisit {
    const NONE: LastVisit = LastVisit {
        time_ms: NEVER,
        outcome: Word::NONE,
        content_time_ms: NEVER,
        mime: Word::NONE,
        content_length: 0,
        latency_ms: None,
        duration_ms: None,
    };

    /// Whether a visit brought content.
    pub(super) fn has_content(&self) -> bool {
        self.content_time_ms != NEVER
    }

    fn note(&mut self, row: &FetchRow<'_>, words: &mut Words) {
        if row.fetch_time >= self.time_ms {
            self.time_ms = row.fetch_time;
            self.outcome = words.of(Some(row.outcome));
        }
        if row.outcome == "ok" && row.fetch_time >= self.content_time_ms {
            self.content_time_ms = row.fetch_time;
            self.mime = words.of(row.content_mime_detected.or(row.content_mime_type));
            self.content_length = row.content_length;
            (self.latency_ms, self.duration_ms) = (row.latency_ms, row.duration_ms);
        }
    }
}

impl LastDocument {
    const NONE: LastDocument = LastDocument {
        time_ms: NEVER,
        published_ms: None,
        modified_ms: None,
        language: Word::NONE,
        charset: Word::NONE,
        language_confidence: 0.0,
        title_length: 0,
        text_length: 0,
        words: 0,
        links_internal: 0,
        links_external: 0,
        links_embedded: 0,
    };

    /// Whether there is one.
    pub(super) fn is_there(&self) -> bool {
        self.time_ms != NEVER
    }

    fn of(row: &DocumentRow<'_>, words: &mut Words) -> LastDocument {
        LastDocument {
            time_ms: row.fetch_time,
            published_ms: row.published,
            modified_ms: row.modified,
            language: words.of(row.language),
            charset: words.of(row.charset),
            language_confidence: row.language_confidence.unwrap_or(0.0),
            title_length: row.title.map_or(0, |title| title.chars().count() as i32),
            text_length: row.text_length,
            words: row.words,
            links_internal: row.links_internal,
            links_external: row.links_external,
            links_embedded: row.links_embedded,
        }
    }
}

fn read_visits(
    fetches: &TableReader<FetchRows>,
    pages: &Range<u32>,
    mut servers: Option<&mut Servers>,
) -> Result<(Vec<LastVisit>, Words)> {
    let mut visits = vec![LastVisit::NONE; pages.len()];
    let mut words = Words::default();
    fetches.for_each_row(|row| {
        if let Some(servers) = &mut servers {
            servers.note(row);
        }
        if pages.contains(&row.page_id) {
            visits[(row.page_id - pages.start) as usize].note(row, &mut words);
        }
    })?;
    Ok((visits, words))
}

fn read_documents(
    documents: &TableReader<DocumentRows>,
    pages: &Range<u32>,
) -> Result<(Vec<LastDocument>, Words)> {
    let mut last = vec![LastDocument::NONE; pages.len()];
    let mut words = Words::default();
    documents.for_each_row(|row| {
        if pages.contains(&row.page_id) {
            let document = &mut last[(row.page_id - pages.start) as usize];
            if row.fetch_time >= document.time_ms {
                *document = LastDocument::of(row, &mut words);
            }
        }
    })?;
    Ok((last, words))
}
