//! Incremental indexer: brings the text index up to date with a snapshot of the collection.
//!
//! Pages are scanned by id, some thousand at a time, and compared with their last indexed state (`plan`). New and changed pages are
//! read by several threads in the order of the files (`reader_pool`), while the threads of tantivy tokenize them and write segments.
//! Regular commits include the page states in their payload: after a crash the next run continues from the last commit, and no page is
//! indexed twice.

pub(crate) mod anchor_reader;
pub(crate) mod deletions;
pub(crate) mod document_builder;
pub(crate) mod index_document;
pub(crate) mod index_run;
pub(crate) mod memory_budget;
pub(crate) mod page_range;
pub(crate) mod page_state;
pub(crate) mod plan;
pub(crate) mod reader_pool;
pub(crate) mod segment_merge;
pub(crate) mod summary;

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use store::Snapshot;
use tantivy::Index;

use crate::error::{Context, Error, Result};
use crate::index::commit_payload::CommitPayload;
use crate::index::index_dir::IndexDir;
use crate::index::schema::{Fields, schema};
use crate::index::text_index::open_index;
use crate::indexing::anchor_reader::AnchorReader;
use crate::indexing::index_run::IndexRun;
use crate::indexing::summary::{IndexProgress, IndexSettings, IndexSummary};

/// Updates the text index of a collection to a snapshot. Safe to run during a crawl and during searches; returns at once if nothing has
/// changed. `on_progress` is called for every page read and may stop the run: the work so far is committed, the result is
/// [`Error::Stopped`], and the next run continues.
pub fn index(
    snapshot: &Snapshot,
    settings: &IndexSettings,
    on_progress: &mut dyn FnMut(IndexProgress) -> ControlFlow<()>,
) -> Result<IndexSummary> {
    let start = Instant::now();
    let dir = IndexDir::new(snapshot.dir());
    let _lock = dir.lock()?;
    let outcome = match update_index(snapshot, settings, &dir, on_progress) {
        // The index is derived from the collection, so it can be rebuilt.
        Err(Error::Unreadable { .. }) => {
            dir.discard_index()?;
            update_index(snapshot, settings, &dir, on_progress)
        }
        outcome => outcome,
    };
    if matches!(outcome, Ok(_) | Err(Error::Stopped)) {
        dir.finish_update()?;
    }
    let mut summary = outcome?;
    measure(&dir, &mut summary)?;
    summary.duration = start.elapsed();
    Ok(summary)
}

/// Deletes the text index of a collection, so that the next run builds it again.
pub fn discard_index(collection: &Path) -> Result<()> {
    let dir = IndexDir::new(collection);
    let _lock = dir.lock()?;
    dir.discard_index()
}

fn update_index(
    snapshot: &Snapshot,
    settings: &IndexSettings,
    dir: &IndexDir,
    on_progress: &mut dyn FnMut(IndexProgress) -> ControlFlow<()>,
) -> Result<IndexSummary> {
    let (open, payload) = match open_existing(dir, settings)? {
        Some(open) => open,
        None => (create(dir, settings)?, CommitPayload::default()),
    };
    let anchors = AnchorReader::open(snapshot.dir())?;
    let now_s = now_s(snapshot);
    let (excluded, generation) = (payload.excluded, payload.generation);
    // Damaged pages are retried, and an `unavailable_after` may have passed without a new commit.
    let is_up_to_date = generation == snapshot.manifest.generation
        && payload.anchors_generation == anchors.as_ref().map_or(0, AnchorReader::generation)
        && excluded.damaged == 0
        && (payload.next_expiry_s == 0 || payload.next_expiry_s as i64 > now_s);
    if is_up_to_date {
        return Ok(IndexSummary { excluded, generation, ..IndexSummary::default() });
    }
    dir.begin_update()?;
    dir.remove_unreferenced(&payload.files(dir))?;
    let anchors = anchors.map(AnchorReader::load_row_groups).transpose()?;
    let summary = IndexSummary { generation: snapshot.manifest.generation, ..IndexSummary::default() };
    let mut run =
        IndexRun { snapshot, settings, dir, anchors, last_payload: payload, now_s, summary, on_progress };
    run.run(open)?;
    Ok(run.summary)
}

/// Current Unix time in seconds, but not before the commit, in case the clock is wrong.
fn now_s(snapshot: &Snapshot) -> i64 {
    let clock_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    clock_s.max(snapshot.manifest.committed_ms / 1_000)
}

/// Opens the existing index with the payload of its last commit; `None` if there is none, or if its schema does not match the settings.
fn open_existing(
    dir: &IndexDir,
    settings: &IndexSettings,
) -> Result<Option<((Index, Fields), CommitPayload)>> {
    let Some((index, fields, positions)) = open_index(dir)? else { return Ok(None) };
    let text = index.load_metas()?.payload;
    let payload = text.as_deref().and_then(CommitPayload::parse);
    let has_same_schema = positions == settings.positions;
    Ok(payload.filter(|_| has_same_schema).map(|payload| ((index, fields), payload)))
}

fn create(dir: &IndexDir, settings: &IndexSettings) -> Result<(Index, Fields)> {
    dir.discard_index()?;
    let path = dir.index_path();
    std::fs::create_dir_all(&path).context("create", &path)?;
    let (schema, fields) = schema(settings.positions);
    Ok((Index::create_in_dir(&path, schema)?, fields))
}

/// Fills in the size of the index.
fn measure(dir: &IndexDir, summary: &mut IndexSummary) -> Result<()> {
    let Some((index, _, _)) = open_index(dir)? else { return Ok(()) };
    let searcher = index.reader()?.searcher();
    summary.pages = searcher.num_docs();
    for segment in searcher.segment_readers() {
        let sizes = segment.fast_fields().u64("size")?;
        summary.body_bytes += segment.doc_ids_alive().filter_map(|doc| sizes.first(doc)).sum::<u64>();
    }
    summary.index_bytes = dir.total_bytes()?;
    Ok(())
}
