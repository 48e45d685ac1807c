//! Can the files of a table be read, and how many rows have they?

use std::fs::File;
use std::path::Path;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::MERGE_ROWS;
use crate::error::{Context, Error, Result, damaged};
use crate::manifest::{FileEntry, Manifest};

/// Reads every row of a file.
pub(crate) fn check_file(folder: &Path, entry: &FileEntry) -> Result<()> {
    let wrong = |error: &dyn std::fmt::Display| broken(folder, entry, error);
    let reader = open(folder, entry)?.with_batch_size(MERGE_ROWS).build().map_err(|error| wrong(&error))?;
    for batch in reader {
        batch.map_err(|error| wrong(&error))?;
    }
    Ok(())
}

/// How many rows a table has at a commit, by what its files say about themselves.
pub fn count_rows(folder: &Path, manifest: &Manifest, table: &str) -> Result<u64> {
    let prefix = format!("tables/{table}-");
    let mut rows = 0;
    for entry in manifest.files_in("tables").filter(|entry| entry.name.starts_with(&prefix)) {
        rows += open(folder, entry)?.metadata().file_metadata().num_rows().unsigned_abs();
    }
    Ok(rows)
}

fn open(folder: &Path, entry: &FileEntry) -> Result<ParquetRecordBatchReaderBuilder<File>> {
    let path = folder.join(&entry.name);
    let file = File::open(&path).context("open", &path)?;
    ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| broken(folder, entry, &error))
}

fn broken(folder: &Path, entry: &FileEntry, error: &dyn std::fmt::Display) -> Error {
    damaged(&folder.join(&entry.name), "as a table", error.to_string())
}
