//! How long did answers take? One column of the table of fetches, for all pages.

use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt32Type};
use model::PageId;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::FetchRows;
use crate::error::{Context, Result, damaged};
use crate::manifest::Manifest;

/// Shows `each` every visit that was answered, with the milliseconds from the request to the last byte.
pub fn for_each_duration(
    folder: &Path,
    manifest: &Manifest,
    mut each: impl FnMut(PageId, u32),
) -> Result<()> {
    let prefix = super::prefix::<FetchRows>();
    for entry in manifest.files_in("tables").filter(|file| file.name.starts_with(&prefix)) {
        let path = folder.join(&entry.name);
        let wrong = |error: &dyn std::fmt::Display| damaged(&path, "as a table", error.to_string());
        let file = File::open(&path).context("open", &path)?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| wrong(&error))?;
        let mask = ProjectionMask::columns(builder.parquet_schema(), ["page_id", "duration_ms"]);
        for batch in builder.with_projection(mask).build().map_err(|error| wrong(&error))? {
            let batch = batch.map_err(|error| wrong(&error))?;
            let (pages, durations) = (batch.column_by_name("page_id"), batch.column_by_name("duration_ms"));
            let pages = pages.and_then(|column| column.as_primitive_opt::<UInt32Type>());
            let durations = durations.and_then(|column| column.as_primitive_opt::<Int32Type>());
            let (Some(pages), Some(durations)) = (pages, durations) else {
                return Err(wrong(&"its columns are not those of this version"));
            };
            for (page, duration_ms) in pages.iter().zip(durations) {
                if let (Some(page), Some(duration_ms)) = (page, duration_ms.and_then(|ms| ms.try_into().ok()))
                {
                    each(PageId(page), duration_ms);
                }
            }
        }
    }
    Ok(())
}
