//! What can texts be compared by? The digests and fingerprints of all documents, from four columns of their table.

use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMillisecondType, UInt32Type};
use arrow_array::{Array, RecordBatch};
use model::PageId;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::DocumentRows;
use crate::error::{Context, Result, damaged};
use crate::manifest::Manifest;

/// Rows that are unpacked at a time.
const BATCH_ROWS: usize = 8_192;
const COLUMNS: [&str; 5] = ["page_id", "fetch_time", "text_digest", "simhash", "minhash"];

/// What the main text of a document can be compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextFingerprint {
    /// The page.
    pub page: PageId,
    /// When it was fetched, in Unix milliseconds.
    pub time_ms: i64,
    /// Equal for equal texts; 0 without one.
    pub digest: u64,
    /// Texts with many words in common differ in few bits.
    pub simhash: u64,
    /// Four bands of 16 bits, of which near duplicates have two in common; none for a text of a few words, and in
    /// tables that were written before there were any.
    pub minhash: Option<u64>,
}

/// Shows `each` every document, in the order of the table: of a page the newest comes last, unless it was imported.
pub fn for_each_fingerprint(
    folder: &Path,
    manifest: &Manifest,
    mut each: impl FnMut(TextFingerprint),
) -> Result<()> {
    let prefix = super::prefix::<DocumentRows>();
    for entry in manifest.files_in("tables").filter(|file| file.name.starts_with(&prefix)) {
        let path = folder.join(&entry.name);
        let wrong = |error: &dyn std::fmt::Display| damaged(&path, "as a table", error.to_string());
        let file = File::open(&path).context("open", &path)?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| wrong(&error))?;
        let mask = ProjectionMask::columns(builder.parquet_schema(), COLUMNS);
        let reader = builder.with_projection(mask).with_batch_size(BATCH_ROWS).build();
        for batch in reader.map_err(|error| wrong(&error))? {
            let batch = batch.map_err(|error| wrong(&error))?;
            let shown = show(&batch, &mut each);
            shown.ok_or_else(|| wrong(&"its columns are not those of this version"))?;
        }
    }
    Ok(())
}

/// None if a column is missing that every version has.
fn show(batch: &RecordBatch, each: &mut impl FnMut(TextFingerprint)) -> Option<()> {
    let int64 = |name| batch.column_by_name(name)?.as_primitive_opt::<Int64Type>();
    let pages = batch.column_by_name("page_id")?.as_primitive_opt::<UInt32Type>()?;
    let times = batch.column_by_name("fetch_time")?.as_primitive_opt::<TimestampMillisecondType>()?;
    let (digests, simhashes, minhashes) = (int64("text_digest")?, int64("simhash")?, int64("minhash"));
    for row in 0..batch.num_rows() {
        let minhash = minhashes.filter(|hashes| hashes.is_valid(row));
        each(TextFingerprint {
            page: PageId(pages.value(row)),
            time_ms: times.value(row),
            digest: digests.value(row).cast_unsigned(),
            simhash: simhashes.value(row).cast_unsigned(),
            minhash: minhash.map(|hashes| hashes.value(row).cast_unsigned()),
        });
    }
    Some(())
}
