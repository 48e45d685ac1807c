//! How long did answers take? One column of the table of fetches, for all pages.

use std::path::Path;

use model::PageId;

use super::{FetchRows, TableReader};
use crate::error::Result;
use crate::manifest::Manifest;

/// Shows `each` every visit that was answered, with the milliseconds from the request to the last byte.
pub fn for_each_duration(
    folder: &Path,
    manifest: &Manifest,
    mut each: impl FnMut(PageId, u32),
) -> Result<()> {
    let reader = TableReader::<FetchRows>::committed(folder, manifest)?;
    reader.with_columns(&["page_id", "duration_ms"]).for_each_row(|row| {
        if let Some(duration_ms) = row.duration_ms.and_then(|ms| ms.try_into().ok()) {
            each(PageId(row.page_id), duration_ms);
        }
    })
}
