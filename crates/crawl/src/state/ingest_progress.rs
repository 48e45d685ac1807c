//! Ingestion progress of the batches that the separate programs exchange as directories.

use std::path::Path;

use harvest::files::work_dirs::WorkDir;

use crate::state::crawl_state::{CrawlState, IngestProgress};

/// Ingestion progress of a batch.
pub(crate) fn of_batch(state: &CrawlState, batch: u64) -> IngestProgress {
    state.ingest_progress.get(&batch).copied().unwrap_or_default()
}

/// Records the ingestion progress of a batch.
pub(crate) fn record(state: &mut CrawlState, batch: u64, progress: IngestProgress) {
    state.ingest_progress.insert(batch, progress);
}

/// Removes the progress of batches without any directory: nothing of them can be ingested again.
pub(crate) fn remove_finished(state: &mut CrawlState, collection_dir: &Path) {
    let dirs = [WorkDir::Batches, WorkDir::Harvests, WorkDir::Outlinks];
    state.ingest_progress.retain(|batch, _| dirs.iter().any(|dir| dir.path(collection_dir, *batch).exists()));
}
