//! Integrity check and row count of the files of a table.

use std::path::Path;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::MERGE_ROWS;
use super::parquet_panics;
use super::reader::SharedFile;
use crate::error::{Error, Result, corrupt};
use crate::manifest::{FileEntry, Manifest};

/// Checks a file by reading every row.
pub(crate) fn check_file(dir: &Path, entry: &FileEntry) -> Result<()> {
    let wrong = |error: &dyn std::fmt::Display| broken(dir, entry, error);
    let builder = open(dir, entry)?.with_batch_size(MERGE_ROWS);
    for batch in parquet_panics::batches(builder).map_err(|error| wrong(&error))? {
        batch.map_err(|error| wrong(&error))?;
    }
    Ok(())
}

/// Counts the rows of a table at a commit, from the metadata of its files.
pub fn count_rows(dir: &Path, manifest: &Manifest, table: &str) -> Result<u64> {
    let prefix = format!("tables/{table}-");
    let mut rows = 0;
    for entry in manifest.files_in("tables").filter(|entry| entry.name.starts_with(&prefix)) {
        rows += open(dir, entry)?.metadata().file_metadata().num_rows().unsigned_abs();
    }
    Ok(rows)
}

fn open(dir: &Path, entry: &FileEntry) -> Result<ParquetRecordBatchReaderBuilder<SharedFile>> {
    let file = SharedFile::open(&dir.join(&entry.name))?;
    parquet_panics::open(file).map_err(|error| broken(dir, entry, &error))
}

fn broken(dir: &Path, entry: &FileEntry, error: &dyn std::fmt::Display) -> Error {
    corrupt(&dir.join(&entry.name), "", error.to_string())
}
