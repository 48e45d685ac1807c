//! How is the index written to, and when do its pieces become one? A run writes segments; afterwards few are made of many.

use tantivy::index::SegmentId;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy, MergePolicy, NoMergePolicy};
use tantivy::{Index, IndexWriter};

use crate::entry::Entry;
use crate::error::Result;

/// Tantivy's least for a thread, and some more.
const LEAST_WRITER_BYTES: usize = 16 << 20;

/// So many segments of one run are left as they are: to merge them takes longer than searches gain.
const MOST_NEW_SEGMENTS: usize = 4;

/// Larger segments are not merged: that would take longer than it gains.
const MOST_MERGED_PAGES: u32 = 5_000_000;

/// A segment of which more is deleted is written anew.
const MOST_DELETED: f32 = 0.2;

/// Who writes, with so many threads and about so much memory.
pub(crate) fn writer(index: &Index, threads: usize, memory_bytes: usize) -> Result<IndexWriter<Entry>> {
    let threads = threads.clamp(1, (memory_bytes / LEAST_WRITER_BYTES).max(1));
    // Tantivy's addresses are of 32 bits.
    let per_thread = (memory_bytes / threads).clamp(LEAST_WRITER_BYTES, 2 << 30);
    let options = IndexWriterOptions::builder()
        .num_worker_threads(threads)
        .memory_budget_per_thread(per_thread)
        .num_merge_threads(1)
        .build();
    let writer = index.writer_with_options(options)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    // What a run left that was killed goes first: this one will give the same names to its own files.
    writer.garbage_collect_files().wait()?;
    Ok(writer)
}

/// Makes few segments of many: smaller, and searched faster. If a run wrote many they become one; others are merged when there are
/// several of about the same size, or when much of them is deleted.
pub(crate) fn merge_segments(
    index: &Index,
    writer: &mut IndexWriter<Entry>,
    before: &[SegmentId],
) -> Result<()> {
    let segments = index.searchable_segment_metas()?;
    let new = segments.iter().filter(|segment| !before.contains(&segment.id()));
    let new: Vec<(SegmentId, u32)> = new.map(|segment| (segment.id(), segment.num_docs())).collect();
    // Files are kept for who knows a segment's description.
    drop(segments);
    if new.len() > MOST_NEW_SEGMENTS {
        merge_new(writer, &new)?;
    }
    let mut policy = LogMergePolicy::default();
    policy.set_max_docs_before_merge(MOST_MERGED_PAGES as usize);
    policy.set_del_docs_ratio_before_merge(MOST_DELETED);
    let candidates = policy.compute_merge_candidates(&index.searchable_segment_metas()?);
    for candidate in candidates {
        writer.merge(&candidate.0).wait()?;
    }
    writer.garbage_collect_files().wait()?;
    Ok(())
}

/// Merges segments one behind the other, as long as they do not become too large.
fn merge_new(writer: &mut IndexWriter<Entry>, segments: &[(SegmentId, u32)]) -> Result<()> {
    let mut rest = segments;
    while !rest.is_empty() {
        let mut pages = 0_u32;
        let fits = rest.iter().take_while(|(_, more)| {
            pages = pages.saturating_add(*more);
            pages <= MOST_MERGED_PAGES
        });
        let (group, behind) = rest.split_at(fits.count().max(1));
        let group: Vec<SegmentId> = group.iter().map(|(segment, _)| *segment).collect();
        if group.len() > 1 {
            writer.merge(&group).wait()?;
        }
        rest = behind;
    }
    Ok(())
}
