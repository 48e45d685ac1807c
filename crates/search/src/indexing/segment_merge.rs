//! Index writer and merging of segments after a run.

use tantivy::index::SegmentId;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy, MergePolicy, NoMergePolicy};
use tantivy::{Index, IndexWriter};

use crate::error::Result;
use crate::indexing::index_document::IndexDocument;

/// Minimum memory of a writer thread: that of tantivy (15 MB), rounded up.
const MIN_WRITER_BYTES: usize = 16 << 20;

/// Maximum number of new segments that are not merged: merging so few costs more time than it saves in searches.
const MAX_NEW_SEGMENTS: usize = 4;

/// Maximum number of pages of a merged segment: larger merges cost more time than they save in searches.
const MAX_MERGED_PAGES: u32 = 5_000_000;

/// Share of deleted pages above which a segment is rewritten.
const MAX_DELETED_RATIO: f32 = 0.2;

/// Opens the writer with a number of threads and a memory limit.
pub(crate) fn open_writer(
    index: &Index,
    threads: usize,
    memory_bytes: usize,
) -> Result<IndexWriter<IndexDocument>> {
    let threads = threads.clamp(1, (memory_bytes / MIN_WRITER_BYTES).max(1));
    // The memory arena of tantivy has 32-bit addresses.
    let per_thread = (memory_bytes / threads).clamp(MIN_WRITER_BYTES, 2 << 30);
    let options = IndexWriterOptions::builder()
        .num_worker_threads(threads)
        .memory_budget_per_thread(per_thread)
        .num_merge_threads(1)
        .build();
    let writer = index.writer_with_options(options)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    // Remove the files of a run that was killed: this run may reuse their names.
    writer.garbage_collect_files().wait()?;
    Ok(writer)
}

/// Merges segments, which makes the index smaller and faster. Many new segments are merged into one; others when there are several
/// of about the same size, or when many of their pages are deleted.
pub(crate) fn merge_segments(
    index: &Index,
    writer: &mut IndexWriter<IndexDocument>,
    before: &[SegmentId],
) -> Result<()> {
    let segments = index.searchable_segment_metas()?;
    let new = segments.iter().filter(|segment| !before.contains(&segment.id()));
    let new: Vec<(SegmentId, u32)> = new.map(|segment| (segment.id(), segment.num_docs())).collect();
    // A SegmentMeta keeps the files of its segment alive.
    drop(segments);
    if new.len() > MAX_NEW_SEGMENTS {
        merge_new_segments(writer, &new)?;
    }
    let mut policy = LogMergePolicy::default();
    policy.set_max_docs_before_merge(MAX_MERGED_PAGES as usize);
    policy.set_del_docs_ratio_before_merge(MAX_DELETED_RATIO);
    let candidates = policy.compute_merge_candidates(&index.searchable_segment_metas()?);
    for candidate in candidates {
        writer.merge(&candidate.0).wait()?;
    }
    writer.garbage_collect_files().wait()?;
    Ok(())
}

/// Merges consecutive segments up to the maximum size.
fn merge_new_segments(writer: &mut IndexWriter<IndexDocument>, segments: &[(SegmentId, u32)]) -> Result<()> {
    let mut rest = segments;
    while !rest.is_empty() {
        let mut pages = 0_u32;
        let fits = rest.iter().take_while(|(_, more)| {
            pages = pages.saturating_add(*more);
            pages <= MAX_MERGED_PAGES
        });
        let (group, tail) = rest.split_at(fits.count().max(1));
        let group: Vec<SegmentId> = group.iter().map(|(segment, _)| *segment).collect();
        if group.len() > 1 {
            writer.merge(&group).wait()?;
        }
        rest = tail;
    }
    Ok(())
}
