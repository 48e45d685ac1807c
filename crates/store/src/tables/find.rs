//! What do the tables say about one page? Its visits, and the links that lead to it.
//!
//! A table is read through, file by file, with one column unpacked to find the rows and the others only where there are
//! some. Nothing is held but what is found, and of that no more than was asked for.
//!
//! Pages are numbered in the order in which they become known, by a link to them. So parts of the table whose largest number
//! is smaller are older than the page and passed over unread, and the part behind them has its first link.

use std::collections::HashSet;
use std::fs::File;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Int16Type, Int32Type, Int64Type, TimestampMillisecondType, UInt32Type,
};
use arrow_array::{Array, BooleanArray, RecordBatch, new_null_array};
use arrow_schema::{ArrowError, FieldRef, Schema};
use model::PageId;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowPredicateFn, ParquetRecordBatchReaderBuilder, RowFilter};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;
use parquet::schema::types::SchemaDescriptor;

use super::rows::Rows;
use super::{DocumentRows, FetchRows, LinkRow, LinkRows, TableReader};
use crate::error::{Context, Error, Result, damaged};
use crate::manifest::Manifest;

/// Rows that are unpacked at a time.
const BATCH_ROWS: usize = 8_192;

/// One visit of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// When the answer had come, in Unix milliseconds.
    pub time_ms: i64,
    /// The status of HTTP; 0 when there was no answer.
    pub status: i16,
    /// How it went, in one word.
    pub outcome: String,
    /// Why nothing came of it.
    pub reason: Option<String>,
    /// Where it redirected to.
    pub redirect: Option<String>,
    /// The type that the server declared.
    pub mime_type: Option<String>,
    /// Bytes of the body as transferred.
    pub bytes: i64,
    /// From the request to the last byte.
    pub duration_ms: Option<i32>,
    /// The address that was connected to.
    pub address: Option<String>,
    /// Whether the content differed from the visit before.
    pub changed: Option<bool>,
    /// The page that had the same body first.
    pub duplicate_of: Option<PageId>,
    /// The WARC file with the answer, relative to the collection's folder.
    pub warc_file: Option<String>,
    /// Where in it the record starts.
    pub warc_offset: Option<i64>,
}

/// A link that leads to a page.
#[derive(Debug, Clone, PartialEq)]
pub struct InLink {
    /// The page that has it.
    pub source: PageId,
    /// When that was fetched, in Unix milliseconds.
    pub time_ms: i64,
    /// The element.
    pub kind: String,
    /// Its words.
    pub anchor: Option<String>,
    /// Where in the text: 0 at the start, 1 at the end.
    pub position: f32,
    /// Why it was not followed.
    pub reason: Option<String>,
}

/// The newest visits of a page, oldest first, and no more than `most`; when `all` were found nobody looks further.
pub fn visits_of(
    folder: &Path,
    manifest: &Manifest,
    page: PageId,
    most: usize,
    all: usize,
) -> Result<Vec<Visit>> {
    let key = Key { column: "page_id", test: Test::Page(page) };
    let (mut visits, mut found) = (Vec::new(), 0);
    for_each_found::<FetchRows>(folder, manifest, First::Newest, &[key], |batch| {
        found += batch.num_rows();
        visits.extend((0..batch.num_rows()).map(|row| visit(batch, row)));
        // Twice as many as wanted are put in order at a time.
        if visits.len() > 2 * most {
            keep_newest(&mut visits, most);
        }
        found < all
    })?;
    keep_newest(&mut visits, most);
    Ok(visits)
}

fn keep_newest(visits: &mut Vec<Visit>, most: usize) {
    visits.sort_by_key(|visit| visit.time_ms);
    visits.drain(..visits.len().saturating_sub(most));
}

/// Some links to a page, or to a URL that is no page, of no more than `most` pages.
pub fn links_to(
    folder: &Path,
    manifest: &Manifest,
    page: Option<PageId>,
    url: &str,
    most: usize,
) -> Result<Vec<InLink>> {
    let keys = match page {
        Some(page) => vec![Key { column: "target_page_id", test: Test::Page(page) }],
        None => vec![
            Key { column: "target_page_id", test: Test::Missing },
            Key { column: "target_url", test: Test::Text(url.to_owned()) },
        ],
    };
    let mut links = Vec::new();
    // Many pages link to another more than once.
    let mut sources = HashSet::new();
    for_each_found::<LinkRows>(folder, manifest, First::Oldest, &keys, |batch| {
        for link in (0..batch.num_rows()).map(|row| in_link(batch, row)) {
            if sources.len() < most && sources.insert(link.source) {
                links.push(link);
            }
        }
        sources.len() < most
    })?;
    Ok(links)
}

/// Calls `each` with the target and the reason of every link that leads to no page, as of the last parse of the page that
/// has it. Takes 8 bytes of memory a page.
pub fn links_outside(
    folder: &Path,
    manifest: &Manifest,
    mut each: impl FnMut(&str, Option<&str>),
) -> Result<()> {
    let parses = LastParses::read(folder, manifest)?;
    let columns = ["source_page_id", "target_page_id", "target_url", "fetch_time", "reason"];
    let links = TableReader::<LinkRows>::committed(folder, manifest)?.with_columns(&columns);
    links.for_each_row(|link| {
        if link.target_page_id.is_none() && parses.has(link) {
            each(link.target_url, link.reason);
        }
    })
}

/// When each page was last parsed.
#[derive(Debug)]
pub struct LastParses(Vec<i64>);

impl LastParses {
    /// Reads two columns of the tables of documents and of links: a page that has lost its links is in the first only.
    /// Takes 8 bytes of memory a page.
    pub fn read(folder: &Path, manifest: &Manifest) -> Result<LastParses> {
        let mut parses = LastParses(Vec::new());
        let documents = TableReader::<DocumentRows>::committed(folder, manifest)?;
        documents
            .with_columns(&["page_id", "fetch_time"])
            .for_each_row(|document| parses.note(document.page_id, document.fetch_time))?;
        let links = TableReader::<LinkRows>::committed(folder, manifest)?;
        links
            .with_columns(&["source_page_id", "fetch_time"])
            .for_each_row(|link| parses.note(link.source_page_id, link.fetch_time))?;
        Ok(parses)
    }

    fn note(&mut self, page: u32, time_ms: i64) {
        let page = page as usize;
        if page >= self.0.len() {
            self.0.resize(page + 1, i64::MIN);
        }
        self.0[page] = self.0[page].max(time_ms);
    }

    /// Whether the page that has a link had it then.
    pub fn has(&self, link: &LinkRow<'_>) -> bool {
        self.0.get(link.source_page_id as usize) == Some(&link.fetch_time)
    }
}

/// Which rows are wanted, by one column.
struct Key {
    column: &'static str,
    test: Test,
}

#[derive(Clone)]
enum Test {
    Page(PageId),
    Text(String),
    Missing,
}

impl Key {
    fn predicate(
        &self,
        schema: &SchemaDescriptor,
    ) -> Box<ArrowPredicateFn<impl FnMut(RecordBatch) -> Answer + use<>>> {
        let mask = ProjectionMask::columns(schema, [self.column]);
        let test = self.test.clone();
        Box::new(ArrowPredicateFn::new(mask, move |batch| {
            let column = batch.column(0);
            Ok(match &test {
                Test::Page(page) => {
                    let ids = column.as_primitive::<UInt32Type>();
                    BooleanArray::from_iter(ids.iter().map(|id| Some(id == Some(page.0))))
                }
                Test::Text(text) => {
                    let texts = column.as_string::<i32>();
                    BooleanArray::from_iter(texts.iter().map(|found| Some(found == Some(text.as_str()))))
                }
                Test::Missing => {
                    BooleanArray::from_iter((0..column.len()).map(|row| Some(column.is_null(row))))
                }
            })
        }))
    }
}

type Answer = std::result::Result<BooleanArray, ArrowError>;

/// From which end a table is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Oldest,
    Newest,
}

/// Shows `each` the rows of a table that pass every key, file by file, until it wants no more.
fn for_each_found<R: Rows>(
    folder: &Path,
    manifest: &Manifest,
    first: First,
    keys: &[Key],
    mut each: impl FnMut(&RecordBatch) -> bool,
) -> Result<()> {
    let prefix = super::prefix::<R>();
    let mut files: Vec<_> =
        manifest.files_in("tables").filter(|file| file.name.starts_with(&prefix)).collect();
    if first == First::Newest {
        files.reverse();
    }
    for entry in files {
        let path = folder.join(&entry.name);
        let file = File::open(&path).context("open", &path)?;
        let wrong = |error: &dyn std::fmt::Display| damaged(&path, "as a table", error.to_string());
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| wrong(&error))?;
        if !has_columns::<R>(builder.schema(), keys) {
            return Err(Error::OtherColumns { path });
        }
        let groups = groups_with(builder.metadata(), keys);
        if groups.is_empty() {
            continue;
        }
        let predicates = keys.iter().map(|key| key.predicate(builder.parquet_schema()) as _).collect();
        let builder = builder.with_row_groups(groups).with_batch_size(BATCH_ROWS);
        let reader = builder.with_row_filter(RowFilter::new(predicates)).build();
        for batch in reader.map_err(|error| wrong(&error))? {
            let batch = batch.map_err(|error| wrong(&error))?;
            let batch = as_now::<R>(&batch).map_err(|error| wrong(&error))?;
            if !each(&batch) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Whether a file has the columns of today, those of the keys and others that cannot be empty.
fn has_columns<R: Rows>(schema: &Schema, keys: &[Key]) -> bool {
    let is_key = |name: &str| keys.iter().any(|key| key.column == name);
    R::schema().fields().iter().all(|field| match schema.field_with_name(field.name()) {
        Ok(found) => found.data_type() == field.data_type(),
        Err(_) => field.is_nullable() && !is_key(field.name()),
    })
}

/// Rows as they would be written now: a column that came later is empty in rows of before.
fn as_now<R: Rows>(batch: &RecordBatch) -> std::result::Result<RecordBatch, ArrowError> {
    let schema = R::schema();
    let column = |field: &FieldRef| match batch.column_by_name(field.name()) {
        Some(column) => Arc::clone(column),
        None => new_null_array(field.data_type(), batch.num_rows()),
    };
    let columns = schema.fields().iter().map(column).collect();
    RecordBatch::try_new(schema, columns)
}

/// The groups of rows that may have such ones, by what the file tells of each.
fn groups_with(metadata: &ParquetMetaData, keys: &[Key]) -> Vec<usize> {
    let may_have = |group: &RowGroupMetaData| {
        keys.iter().all(|key| match key.test {
            Test::Page(page) => numbers(group, key.column).is_none_or(|numbers| numbers.contains(&page.0)),
            Test::Text(_) | Test::Missing => true,
        })
    };
    let groups = metadata.row_groups().iter().enumerate();
    groups.filter(|(_, group)| may_have(group)).map(|(number, _)| number).collect()
}

/// The smallest and the largest number in a column, if that is known.
fn numbers(group: &RowGroupMetaData, column: &str) -> Option<RangeInclusive<u32>> {
    let column = group.columns().iter().find(|chunk| chunk.column_path().string() == column)?;
    let Statistics::Int32(statistics) = column.statistics()? else { return None };
    // Parquet keeps them as signed numbers of the same bits, but compares them as what they are.
    Some(statistics.min_opt()?.cast_unsigned()..=statistics.max_opt()?.cast_unsigned())
}

fn visit(batch: &RecordBatch, row: usize) -> Visit {
    Visit {
        time_ms: batch["fetch_time"].as_primitive::<TimestampMillisecondType>().value(row),
        status: batch["fetch_status"].as_primitive::<Int16Type>().value(row),
        outcome: text(batch, "outcome", row).unwrap_or_default(),
        reason: text(batch, "reason", row),
        redirect: text(batch, "fetch_redirect", row),
        mime_type: text(batch, "content_mime_type", row),
        bytes: batch["content_length"].as_primitive::<Int64Type>().value(row),
        duration_ms: at(&batch["duration_ms"], row)
            .map(|row| batch["duration_ms"].as_primitive::<Int32Type>().value(row)),
        address: text(batch, "address", row),
        changed: at(&batch["changed"], row).map(|row| batch["changed"].as_boolean().value(row)),
        duplicate_of: at(&batch["duplicate_of"], row)
            .map(|row| PageId(batch["duplicate_of"].as_primitive::<UInt32Type>().value(row))),
        warc_file: text(batch, "warc_filename", row),
        warc_offset: at(&batch["warc_record_offset"], row)
            .map(|row| batch["warc_record_offset"].as_primitive::<Int64Type>().value(row)),
    }
}

fn in_link(batch: &RecordBatch, row: usize) -> InLink {
    InLink {
        source: PageId(batch["source_page_id"].as_primitive::<UInt32Type>().value(row)),
        time_ms: batch["fetch_time"].as_primitive::<TimestampMillisecondType>().value(row),
        kind: text(batch, "kind", row).unwrap_or_default(),
        anchor: text(batch, "anchor", row),
        position: batch["position"].as_primitive::<Float32Type>().value(row),
        reason: text(batch, "reason", row),
    }
}

fn text(batch: &RecordBatch, column: &str, row: usize) -> Option<String> {
    at(&batch[column], row).map(|row| batch[column].as_string::<i32>().value(row).to_owned())
}

/// The row, if the column has a value there.
fn at(column: &dyn Array, row: usize) -> Option<usize> {
    column.is_valid(row).then_some(row)
}

#[cfg(test)]
mod tests {
    use parquet::arrow::ArrowWriter;

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
            address: Some("127.0.0.1"),
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
                "http://a.test/refused"
            },
            fetch_time: i64::from(source_page_id),
            kind: "a",
            rel: None,
            anchor: Some("words"),
            internal: true,
            position: 0.25,
            reason: target_page_id.is_none().then_some("nofollow"),
        }
    }

    /// Thirty commits, each with a visit of every of ten pages and a link of each kind.
    fn tables(folder: &Path) -> Manifest {
        std::fs::create_dir(folder.join("tables")).unwrap();
        let mut manifest = Manifest::empty();
        let mut tables = Tables::open(folder, &manifest);
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
    fn the_newest_visits_of_a_page_are_found_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = tables(folder.path());
        let visits = visits_of(folder.path(), &manifest, PageId(7), 1_000, usize::MAX).unwrap();
        assert!(visits.iter().map(|visit| visit.time_ms).eq((1..=30).map(|round| round * 1_000 + 7)));
        let newest = visits_of(folder.path(), &manifest, PageId(7), 3, 30).unwrap();
        assert_eq!(newest, visits[27..]);
        let expected = Visit {
            time_ms: 30_007,
            status: 301,
            outcome: "redirect".to_owned(),
            reason: None,
            redirect: Some("http://a.test/b".to_owned()),
            mime_type: None,
            bytes: 5,
            duration_ms: Some(3),
            address: Some("127.0.0.1".to_owned()),
            changed: Some(true),
            duplicate_of: Some(PageId(4)),
            warc_file: Some("pages/a.warc.gz".to_owned()),
            warc_offset: Some(7),
        };
        assert_eq!(newest[2], expected);
        assert_eq!(visits_of(folder.path(), &manifest, PageId(10), 3, 1).unwrap(), []);
    }

    #[test]
    fn links_are_found_by_page_and_refused_ones_by_url() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = tables(folder.path());
        let find = |page, url, most| links_to(folder.path(), &manifest, page, url, most).unwrap();
        assert_eq!(find(Some(PageId(3)), "", 1_000).len(), 30);
        assert_eq!(find(Some(PageId(4)), "", 1_000), []);
        let refused = find(None, "http://a.test/refused", 5);
        assert_eq!(refused.len(), 5);
        assert!(
            refused.iter().all(|link| link.reason.as_deref() == Some("nofollow") && link.position == 0.25)
        );
        assert_eq!(find(None, "http://a.test/known", 5), [], "it is a page, and found as one");
    }

    #[test]
    fn links_to_no_page_count_as_of_the_last_parse() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = tables(folder.path());
        let count = |manifest: &Manifest| {
            let mut seen = 0;
            links_outside(folder.path(), manifest, |url, reason| {
                assert_eq!((url, reason), ("http://a.test/refused", Some("nofollow")));
                seen += 1;
            })
            .unwrap();
            seen
        };
        assert_eq!(count(&manifest), 30);
        let mut tables = Tables::open(folder.path(), &manifest);
        tables.links.rows.push(&LinkRow { fetch_time: 1_000, ..link(5, Some(3)) });
        assert_eq!(count(&Manifest { files: tables.commit(31).unwrap(), ..Manifest::empty() }), 29);
    }

    /// Writes all files of visits anew without a column, as a program would have that did not know it yet.
    fn forget(folder: &Path, manifest: &Manifest, column: &str) {
        let fetches = |name: &&str| name.starts_with("tables/fetches");
        for name in manifest.files.iter().map(|file| file.name.as_str()).filter(fetches) {
            let path = folder.join(name);
            let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
            let kept: Vec<usize> = (0..builder.schema().fields().len())
                .filter(|field| builder.schema().field(*field).name() != column)
                .collect();
            let schema = Arc::new(builder.schema().project(&kept).unwrap());
            let batches: Vec<RecordBatch> = builder.build().unwrap().map(|batch| batch.unwrap()).collect();
            let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), schema, None).unwrap();
            batches.iter().for_each(|batch| writer.write(&batch.project(&kept).unwrap()).unwrap());
            writer.close().unwrap();
        }
    }

    #[test]
    fn a_column_that_came_later_is_empty_and_one_that_was_always_there_is_missed() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = tables(folder.path());
        let visits = || visits_of(folder.path(), &manifest, PageId(7), 3, 30);
        forget(folder.path(), &manifest, "duplicate_of");
        let newest = visits().unwrap().pop().unwrap();
        assert_eq!((newest.duplicate_of, newest.changed), (None, Some(true)));
        forget(folder.path(), &manifest, "page_id");
        let error = visits().unwrap_err();
        let sentence = error.to_string();
        assert!(matches!(error, Error::OtherColumns { .. }), "{sentence}");
        let pages = folder.path().join("pages/*.warc.gz");
        assert!(sentence.contains("another version of weir"), "{sentence}");
        assert!(sentence.ends_with(&format!("`weir import NEW {}`", pages.display())), "{sentence}");
    }
}
