//! Response times of all fetches, from one column of the table `fetches`.

use std::path::Path;

use model::PageId;

use super::{FetchRows, TableReader};
use crate::error::Result;
use crate::manifest::Manifest;

/// Calls `visit` for every fetch with a response, with the milliseconds from the request to the last byte.
pub fn for_each_response_time(
    dir: &Path,
    manifest: &Manifest,
    mut visit: impl FnMut(PageId, u32),
) -> Result<()> {
    let reader = TableReader::<FetchRows>::open_committed(dir, manifest)?;
    reader.with_columns(&["page_id", "duration_ms"]).for_each_row(|row| {
        if let Some(duration_ms) = row.duration_ms.and_then(|ms| ms.try_into().ok()) {
            visit(PageId(row.page_id), duration_ms);
        }
    })
}
