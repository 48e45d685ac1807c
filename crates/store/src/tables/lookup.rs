//! Lookup of the fetches of a page and of the links to it in the tables.
//!
//! A table is scanned file by file: the key column is decoded to find the rows, the other columns only where there are
//! some. Only the requested number of rows is kept in memory.
//!
//! Page ids ascend in the order of discovery, by a link to the page. Row groups whose largest id is smaller are therefore
//! older than the page and skipped.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Int16Type, Int32Type, Int64Type, TimestampMillisecondType, UInt32Type,
};
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_schema::{ArrowError, Schema};
use model::PageId;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowPredicateFn, RowFilter};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;
use parquet::schema::types::SchemaDescriptor;

use super::parquet_panics;
use super::reader::SharedFile;
use super::rows::Rows;
use super::{DocumentRows, FetchRows, LinkRow, LinkRows, TableReader, with_current_columns};
use crate::cancellation::Cancellation;
use crate::error::{Error, Result, corrupt};
use crate::manifest::Manifest;

/// Number of rows decoded at a time.
const BATCH_ROWS: usize = 8_192;

/// Fetch of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchHistoryEntry {
    /// Time of the response in Unix milliseconds.
    pub fetched_ms: i64,
    /// HTTP status; 0 without a response.
    pub status: i16,
    /// Outcome class.
    pub outcome: String,
    /// Reason of a failure.
    pub reason: Option<String>,
    /// Target of a redirect.
    pub redirect: Option<String>,
    /// MIME type that the server declared.
    pub mime_type: Option<String>,
    /// Bytes of the body as transferred.
    pub body_bytes: i64,
    /// Time from the request to the last byte.
    pub duration_ms: Option<i32>,
    /// IP address of the server.
    pub ip_address: Option<String>,
    /// Whether the content differed from the previous fetch.
    pub changed: Option<bool>,
    /// First page with the same body.
    pub duplicate_of: Option<PageId>,
    /// WARC file with the response, relative to the directory of the collection.
    pub warc_file: Option<String>,
    /// Start of the record in the WARC file.
    pub warc_offset: Option<i64>,
}

/// Link to a page.
#[derive(Debug, Clone, PartialEq)]
pub struct Inlink {
    /// Page with the link.
    pub source: PageId,
    /// Time of the response with the link in Unix milliseconds.
    pub fetched_ms: i64,
    /// HTML element.
    pub element: String,
    /// Anchor text.
    pub anchor: Option<String>,
    /// Position in the text: 0 at the start, 1 at the end.
    pub text_position: f32,
    /// Reason why it was rejected.
    pub reason: Option<String>,
}

/// Finds the newest fetches of a page, oldest first, up to `limit`; stops when `expected` were found.
pub fn fetch_history(
    dir: &Path,
    manifest: &Manifest,
    page: PageId,
    limit: usize,
    expected: usize,
    cancellation: &Cancellation,
) -> Result<Vec<FetchHistoryEntry>> {
    let key = RowKey { column: "page_id", test: KeyTest::Page(page) };
    let (mut fetches, mut found) = (Vec::new(), 0);
    for_each_found::<FetchRows>(dir, manifest, ReadDirection::Newest, &[key], cancellation, |batch| {
        found += batch.num_rows();
        fetches.extend((0..batch.num_rows()).map(|row| history_entry(batch, row)));
        // Sorted only when twice the limit was collected.
        if fetches.len() > 2 * limit {
            retain_newest(&mut fetches, limit);
        }
        found < expected
    })?;
    retain_newest(&mut fetches, limit);
    Ok(fetches)
}

fn retain_newest(fetches: &mut Vec<FetchHistoryEntry>, limit: usize) {
    fetches.sort_by_key(|fetch| fetch.fetched_ms);
    fetches.drain(..fetches.len().saturating_sub(limit));
}

/// Finds links to a page, or to a URL that is not a page, from up to `max_pages` pages.
pub fn inlinks(
    dir: &Path,
    manifest: &Manifest,
    page: Option<PageId>,
    url: &str,
    max_pages: usize,
    cancellation: &Cancellation,
) -> Result<Vec<Inlink>> {
    let keys = match page {
        Some(page) => vec![RowKey { column: "target_page_id", test: KeyTest::Page(page) }],
        None => vec![
            RowKey { column: "target_page_id", test: KeyTest::Missing },
            RowKey { column: "target_url", test: KeyTest::Utf8(url.to_owned()) },
        ],
    };
    let mut links = Vec::new();
    // Pages often link to the same target more than once.
    let mut sources = HashSet::new();
    for_each_found::<LinkRows>(dir, manifest, ReadDirection::Oldest, &keys, cancellation, |batch| {
        for link in (0..batch.num_rows()).map(|row| in_link(batch, row)) {
            if sources.len() < max_pages && sources.insert(link.source) {
                links.push(link);
            }
        }
        sources.len() < max_pages
    })?;
    Ok(links)
}

/// Calls `visit` with every link without a target page, as of the last parse of its source; only source, target URL, time,
/// element and reason are read. Takes 8 bytes of memory per page.
pub fn for_each_unresolved_link(
    dir: &Path,
    manifest: &Manifest,
    mut visit: impl FnMut(&LinkRow<'_>),
) -> Result<()> {
    let parses = LastParses::read(dir, manifest)?;
    let columns = ["source_page_id", "target_page_id", "target_url", "fetch_time", "element", "reason"];
    let links = TableReader::<LinkRows>::open_committed(dir, manifest)?.with_columns(&columns);
    links.for_each_row(|link| {
        if link.target_page_id.is_none() && parses.is_current(link) {
            visit(link);
        }
    })
}

/// Time of the last parse of each page.
#[derive(Debug)]
pub struct LastParses(Vec<i64>);

impl LastParses {
    /// Reads the tables `documents` and `links`: a page that has lost its links is only in the first. Takes 8 bytes of
    /// memory per page.
    pub fn read(dir: &Path, manifest: &Manifest) -> Result<LastParses> {
        let mut parses = LastParses(Vec::new());
        let documents = TableReader::<DocumentRows>::open_committed(dir, manifest)?;
        documents
            .with_columns(&["page_id", "fetch_time"])
            .for_each_row(|document| parses.record(document.page_id, document.fetch_time))?;
        let links = TableReader::<LinkRows>::open_committed(dir, manifest)?;
        links
            .with_columns(&["source_page_id", "fetch_time"])
            .for_each_row(|link| parses.record(link.source_page_id, link.fetch_time))?;
        Ok(parses)
    }

    fn record(&mut self, page: u32, time_ms: i64) {
        let page = page as usize;
        if page >= self.0.len() {
            self.0.resize(page + 1, i64::MIN);
        }
        self.0[page] = self.0[page].max(time_ms);
    }

    /// Whether a link is of the last parse of its source.
    pub fn is_current(&self, link: &LinkRow<'_>) -> bool {
        self.0.get(link.source_page_id as usize) == Some(&link.fetch_time)
    }
}

/// Condition on one column.
struct RowKey {
    column: &'static str,
    test: KeyTest,
}

#[derive(Clone)]
enum KeyTest {
    Page(PageId),
    Utf8(String),
    Missing,
}

impl RowKey {
    fn predicate(
        &self,
        schema: &SchemaDescriptor,
        cancellation: &Cancellation,
    ) -> Box<ArrowPredicateFn<impl FnMut(RecordBatch) -> FilterResult + use<>>> {
        let mask = ProjectionMask::columns(schema, [self.column]);
        let (test, cancellation) = (self.test.clone(), cancellation.clone());
        Box::new(ArrowPredicateFn::new(mask, move |batch| {
            if cancellation.is_cancelled() {
                return Err(ArrowError::ComputeError("cancelled".to_owned()));
            }
            let column = batch.column(0);
            Ok(match &test {
                KeyTest::Page(page) => {
                    let ids = column.as_primitive::<UInt32Type>();
                    BooleanArray::from_iter(ids.iter().map(|id| Some(id == Some(page.0))))
                }
                KeyTest::Utf8(text) => {
                    let texts = column.as_string::<i32>();
                    BooleanArray::from_iter(texts.iter().map(|found| Some(found == Some(text.as_str()))))
                }
                KeyTest::Missing => {
                    BooleanArray::from_iter((0..column.len()).map(|row| Some(column.is_null(row))))
                }
            })
        }))
    }
}

type FilterResult = std::result::Result<BooleanArray, ArrowError>;

/// Order in which the files of a table are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadDirection {
    Oldest,
    Newest,
}

/// Calls `visit` with the rows of a table that match all keys, file by file, until it returns `false`.
fn for_each_found<R: Rows>(
    dir: &Path,
    manifest: &Manifest,
    direction: ReadDirection,
    keys: &[RowKey],
    cancellation: &Cancellation,
    mut visit: impl FnMut(&RecordBatch) -> bool,
) -> Result<()> {
    let prefix = super::prefix::<R>();
    let mut files: Vec<_> =
        manifest.files_in("tables").filter(|file| file.name.starts_with(&prefix)).collect();
    if direction == ReadDirection::Newest {
        files.reverse();
    }
    for entry in files {
        let path = dir.join(&entry.name);
        let file = SharedFile::open(&path)?;
        let wrong = |error: &dyn std::fmt::Display| corrupt(&path, "", error.to_string());
        let builder = parquet_panics::open(file).map_err(|error| wrong(&error))?;
        if !has_columns::<R>(builder.schema(), keys) {
            return Err(Error::SchemaMismatch { path });
        }
        let groups = groups_with(builder.metadata(), keys);
        if groups.is_empty() {
            continue;
        }
        let predicate = |key: &RowKey| key.predicate(builder.parquet_schema(), cancellation) as _;
        let predicates = keys.iter().map(predicate).collect();
        let builder = builder.with_row_groups(groups).with_batch_size(BATCH_ROWS);
        let reader = parquet_panics::batches(builder.with_row_filter(RowFilter::new(predicates)));
        // A predicate fails after a cancellation.
        let failed =
            |error: &dyn std::fmt::Display| cancellation.check().err().unwrap_or_else(|| wrong(error));
        for batch in reader.map_err(|error| failed(&error))? {
            let batch = batch.map_err(|error| failed(&error))?;
            let batch = with_current_columns(&batch, &R::schema()).map_err(|error| wrong(&error))?;
            if !visit(&batch) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Whether a file has the current key columns and the current columns that are not nullable.
fn has_columns<R: Rows>(schema: &Schema, keys: &[RowKey]) -> bool {
    let is_key = |name: &str| keys.iter().any(|key| key.column == name);
    R::schema().fields().iter().all(|field| match schema.field_with_name(field.name()) {
        Ok(found) => found.data_type() == field.data_type(),
        Err(_) => field.is_nullable() && !is_key(field.name()),
    })
}

/// Row groups that may have matching rows, according to their statistics.
fn groups_with(metadata: &ParquetMetaData, keys: &[RowKey]) -> Vec<usize> {
    let may_have = |group: &RowGroupMetaData| {
        keys.iter().all(|key| match key.test {
            KeyTest::Page(page) => id_range(group, key.column).is_none_or(|ids| ids.contains(&page.0)),
            KeyTest::Utf8(_) | KeyTest::Missing => true,
        })
    };
    let groups = metadata.row_groups().iter().enumerate();
    groups.filter(|(_, group)| may_have(group)).map(|(index, _)| index).collect()
}

/// Minimum and maximum id in a column, if known.
fn id_range(group: &RowGroupMetaData, column: &str) -> Option<RangeInclusive<u32>> {
    let column = group.columns().iter().find(|chunk| chunk.column_path().string() == column)?;
    let Statistics::Int32(statistics) = column.statistics()? else { return None };
    // Parquet stores u32 statistics as i32 with the same bits, but compares them as unsigned.
    Some(statistics.min_opt()?.cast_unsigned()..=statistics.max_opt()?.cast_unsigned())
}

fn history_entry(batch: &RecordBatch, row: usize) -> FetchHistoryEntry {
    FetchHistoryEntry {
        fetched_ms: batch["fetch_time"].as_primitive::<TimestampMillisecondType>().value(row),
        status: batch["fetch_status"].as_primitive::<Int16Type>().value(row),
        outcome: text(batch, "outcome", row).unwrap_or_default(),
        reason: text(batch, "reason", row),
        redirect: text(batch, "fetch_redirect", row),
        mime_type: text(batch, "content_mime_type", row),
        body_bytes: batch["content_length"].as_primitive::<Int64Type>().value(row),
        duration_ms: valid_row(&batch["duration_ms"], row)
            .map(|row| batch["duration_ms"].as_primitive::<Int32Type>().value(row)),
        ip_address: text(batch, "ip_address", row),
        changed: valid_row(&batch["changed"], row).map(|row| batch["changed"].as_boolean().value(row)),
        duplicate_of: valid_row(&batch["duplicate_of"], row)
            .map(|row| PageId(batch["duplicate_of"].as_primitive::<UInt32Type>().value(row))),
        warc_file: text(batch, "warc_filename", row),
        warc_offset: valid_row(&batch["warc_record_offset"], row)
            .map(|row| batch["warc_record_offset"].as_primitive::<Int64Type>().value(row)),
    }
}

fn in_link(batch: &RecordBatch, row: usize) -> Inlink {
    Inlink {
        source: PageId(batch["source_page_id"].as_primitive::<UInt32Type>().value(row)),
        fetched_ms: batch["fetch_time"].as_primitive::<TimestampMillisecondType>().value(row),
        element: text(batch, "element", row).unwrap_or_default(),
        anchor: text(batch, "anchor", row),
        text_position: batch["text_position"].as_primitive::<Float32Type>().value(row),
        reason: text(batch, "reason", row),
    }
}

fn text(batch: &RecordBatch, column: &str, row: usize) -> Option<String> {
    valid_row(&batch[column], row).map(|row| batch[column].as_string::<i32>().value(row).to_owned())
}

/// Index of the row, if the column has a value there.
fn valid_row(column: &dyn Array, row: usize) -> Option<usize> {
    column.is_valid(row).then_some(row)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use parquet::arrow::ArrowWriter;

    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;
    use crate::tables::{FetchRow, LinkRow, Tables};

    fn fetch(page_id: u32, fetch_time: i64) -> FetchRow<'static> {
        FetchRow {
            url: "http://a.test/",
            url_host_name: "a.test",
            url_protocol: "http",
            url_path: "/",
            fetch_time,
            fetch_status: 301,
            fetch_redirect: Some("http://a.test/b"),
            warc_filename: Some("pages/a.warc.gz"),
            warc_record_offset: Some(7),
            warc_record_length: Some(8),
            page_id,
            outcome: "redirect",
            ip_address: Some("127.0.0.1"),
            content_length: 5,
            duration_ms: Some(3),
            changed: Some(true),
            duplicate_of: Some(4),
            ..FetchRow::default()
        }
    }

    fn link(source_page_id: u32, target_page_id: Option<u32>) -> LinkRow<'static> {
        LinkRow {
            source_page_id,
            target_page_id,
            target_url: if target_page_id.is_some() {
                "http://a.test/known"
            } else {
                "http://a.test/rejected"
            },
            fetch_time: i64::from(source_page_id),
            element: "a",
            rel: None,
            anchor: Some("words"),
            is_internal: true,
            text_position: 0.25,
            reason: target_page_id.is_none().then_some("nofollow"),
        }
    }

    /// Thirty commits, each with a fetch of each of ten pages and a link of each kind.
    fn tables(dir: &Path) -> Manifest {
        std::fs::create_dir(dir.join("tables")).unwrap();
        let mut manifest = Manifest::empty();
        let mut tables = Tables::open(dir, &manifest);
        for generation in 1..=30 {
            for page in 0..10 {
                tables.fetches.rows.push(&fetch(page, generation * 1_000 + i64::from(page)));
            }
            tables.links.rows.push(&link(generation as u32, Some(3)));
            tables.links.rows.push(&link(generation as u32, None));
            manifest.files = tables.commit(generation as u64).unwrap();
        }
        manifest
    }

    #[test]
    fn the_newest_fetches_of_a_page_are_found_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = tables(dir.path());
        let running = Cancellation::default();
        let fetches = fetch_history(dir.path(), &manifest, PageId(7), 1_000, usize::MAX, &running).unwrap();
        assert!(fetches.iter().map(|fetch| fetch.fetched_ms).eq((1..=30).map(|round| round * 1_000 + 7)));
        let newest = fetch_history(dir.path(), &manifest, PageId(7), 3, 30, &running).unwrap();
        assert_eq!(newest, fetches[27..]);
        let expected = FetchHistoryEntry {
            fetched_ms: 30_007,
            status: 301,
            outcome: "redirect".to_owned(),
            reason: None,
            redirect: Some("http://a.test/b".to_owned()),
            mime_type: None,
            body_bytes: 5,
            duration_ms: Some(3),
            ip_address: Some("127.0.0.1".to_owned()),
            changed: Some(true),
            duplicate_of: Some(PageId(4)),
            warc_file: Some("pages/a.warc.gz".to_owned()),
            warc_offset: Some(7),
        };
        assert_eq!(newest[2], expected);
        assert_eq!(fetch_history(dir.path(), &manifest, PageId(10), 3, 1, &running).unwrap(), []);
    }

    #[test]
    fn a_cancelled_lookup_ends_with_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = tables(dir.path());
        let cancelled = Cancellation::default();
        cancelled.cancel();
        let fetches = fetch_history(dir.path(), &manifest, PageId(5), 3, 30, &cancelled);
        assert!(matches!(fetches, Err(Error::Cancelled)), "{fetches:?}");
        let links = inlinks(dir.path(), &manifest, None, "http://unknown.test/", 3, &cancelled);
        assert!(matches!(links, Err(Error::Cancelled)), "{links:?}");
    }

    #[test]
    fn links_are_found_by_page_and_rejected_ones_by_url() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = tables(dir.path());
        let find = |page, url, most| {
            inlinks(dir.path(), &manifest, page, url, most, &Cancellation::default()).unwrap()
        };
        assert_eq!(find(Some(PageId(3)), "", 1_000).len(), 30);
        assert_eq!(find(Some(PageId(4)), "", 1_000), []);
        let rejected = find(None, "http://a.test/rejected", 5);
        assert_eq!(rejected.len(), 5);
        assert!(
            rejected
                .iter()
                .all(|link| link.reason.as_deref() == Some("nofollow") && link.text_position == 0.25)
        );
        assert_eq!(find(None, "http://a.test/known", 5), [], "it is a page");
    }

    #[test]
    fn links_without_a_page_are_those_of_the_last_parse() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = tables(dir.path());
        let count = |manifest: &Manifest| {
            let mut seen = 0;
            for_each_unresolved_link(dir.path(), manifest, |link| {
                assert_eq!((link.target_url, link.reason), ("http://a.test/rejected", Some("nofollow")));
                seen += 1;
            })
            .unwrap();
            seen
        };
        assert_eq!(count(&manifest), 30);
        let mut tables = Tables::open(dir.path(), &manifest);
        tables.links.rows.push(&LinkRow { fetch_time: 1_000, ..link(5, Some(3)) });
        assert_eq!(count(&Manifest { files: tables.commit(31).unwrap(), ..Manifest::empty() }), 29);
    }

    /// Rewrites all files of fetches without a column, as an older program would have written them.
    fn remove_column(dir: &Path, manifest: &Manifest, column: &str) {
        let fetches = |name: &&str| name.starts_with("tables/fetches");
        for name in manifest.files.iter().map(|file| file.name.as_str()).filter(fetches) {
            let path = dir.join(name);
            let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
            let kept: Vec<usize> = (0..builder.schema().fields().len())
                .filter(|field| builder.schema().field(*field).name() != column)
                .collect();
            let schema = std::sync::Arc::new(builder.schema().project(&kept).unwrap());
            let batches: Vec<RecordBatch> = builder.build().unwrap().map(|batch| batch.unwrap()).collect();
            let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), schema, None).unwrap();
            batches.iter().for_each(|batch| writer.write(&batch.project(&kept).unwrap()).unwrap());
            writer.close().unwrap();
        }
    }

    #[test]
    fn a_missing_nullable_column_is_null_and_a_missing_key_column_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = tables(dir.path());
        let fetches = || fetch_history(dir.path(), &manifest, PageId(7), 3, 30, &Cancellation::default());
        remove_column(dir.path(), &manifest, "duplicate_of");
        let newest = fetches().unwrap().pop().unwrap();
        assert_eq!((newest.duplicate_of, newest.changed), (None, Some(true)));
        remove_column(dir.path(), &manifest, "page_id");
        let error = fetches().unwrap_err();
        let message = error.to_string();
        assert!(matches!(error, Error::SchemaMismatch { .. }), "{message}");
        let pages = dir.path().join("pages/*.warc.gz");
        assert!(message.contains("another version of weir"), "{message}");
        assert!(message.ends_with(&format!("`weir import NEW {}`", pages.display())), "{message}");
    }
}
