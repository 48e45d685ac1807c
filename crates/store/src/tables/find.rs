//! What do the tables say about one page? Its visits, and the links that lead to it.
//!
//! A table is read through, file by file, with one column unpacked to find the rows and the others only where there are
//! some. Nothing is held but what is found, and of that no more than was asked for.

use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Int16Type, Int32Type, Int64Type, TimestampMillisecondType, UInt32Type,
};
use arrow_array::{Array, BooleanArray, RecordBatch};
use model::PageId;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowPredicateFn, ParquetRecordBatchReaderBuilder, RowFilter};
use parquet::schema::types::SchemaDescriptor;

use super::rows::Rows;
use super::{FetchRows, LinkRows};
use crate::error::{Context, Result, damaged};
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

/// The newest visits of a page, oldest first, and no more than `most`.
pub fn visits_of(folder: &Path, manifest: &Manifest, page: PageId, most: usize) -> Result<Vec<Visit>> {
    let key = Key { column: "page_id", test: Test::Page(page) };
    let mut visits = Vec::new();
    for_each_found::<FetchRows>(folder, manifest, &[key], |batch| {
        visits.extend((0..batch.num_rows()).map(|row| visit(batch, row)));
        // Twice as many as wanted are put in order at a time.
        if visits.len() > 2 * most {
            keep_newest(&mut visits, most);
        }
        true
    })?;
    keep_newest(&mut visits, most);
    Ok(visits)
}

fn keep_newest(visits: &mut Vec<Visit>, most: usize) {
    visits.sort_by_key(|visit| visit.time_ms);
    visits.drain(..visits.len().saturating_sub(most));
}

/// Some links to a page, or to a URL that is no page, and no more than `most`.
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
    for_each_found::<LinkRows>(folder, manifest, &keys, |batch| {
        links.extend((0..batch.num_rows()).take(most - links.len()).map(|row| in_link(batch, row)));
        links.len() < most
    })?;
    Ok(links)
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

type Answer = std::result::Result<BooleanArray, arrow_schema::ArrowError>;

/// Shows `each` the rows of a table that pass every key, from the newest file to the oldest, until it wants no more.
fn for_each_found<R: Rows>(
    folder: &Path,
    manifest: &Manifest,
    keys: &[Key],
    mut each: impl FnMut(&RecordBatch) -> bool,
) -> Result<()> {
    let prefix = super::prefix::<R>();
    let files: Vec<_> = manifest.files_in("tables").filter(|file| file.name.starts_with(&prefix)).collect();
    for entry in files.into_iter().rev() {
        let path = folder.join(&entry.name);
        let file = File::open(&path).context("open", &path)?;
        let wrong = |error: &dyn std::fmt::Display| damaged(&path, "as a table", error.to_string());
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| wrong(&error))?;
        let predicates = keys.iter().map(|key| key.predicate(builder.parquet_schema()) as _).collect();
        let reader = builder.with_batch_size(BATCH_ROWS).with_row_filter(RowFilter::new(predicates)).build();
        for batch in reader.map_err(|error| wrong(&error))? {
            let batch = batch.map_err(|error| wrong(&error))?;
            if batch.schema().fields() != R::schema().fields() {
                return Err(wrong(&"its columns are not those of this version"));
            }
            if !each(&batch) {
                return Ok(());
            }
        }
    }
    Ok(())
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
