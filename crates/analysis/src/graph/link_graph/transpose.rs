//! Transposition of the arcs. The in-degrees are known, so the slot of each arc in the transposed lists is, too: one
//! pass over the arcs fills the lists of a range of targets, and the number of passes depends on the memory.

use std::ops::Range;
use std::path::Path;

use super::{BuildStage, GraphSettings};
use crate::error::Result;
use crate::graph::bv::{BvGraph, BvSink, write_bv};
use crate::graph::checksummed_file::{ChecksummedReader, ChecksummedWriter};

/// Memory of a node, and of an arc.
const NODE_BYTES: u64 = 8;
const ARC_BYTES: u64 = 5;
/// Nodes between two progress reports.
const PROGRESS_INTERVAL_NODES: u64 = 1 << 16;

/// Writes `backward` from `forward`.
pub(crate) fn transpose(
    dir: &Path,
    in_degrees: &[u32],
    settings: &GraphSettings,
    on_progress: &mut dyn FnMut(BuildStage),
) -> Result<()> {
    let forward = BvGraph::open(&dir.join("forward"))?;
    let mut weights = ChecksummedWriter::create(&dir.join("backward.weights"))?;
    write_bv(&dir.join("backward"), settings.threads, |sink| {
        for range in ranges(in_degrees, settings.memory_bytes / 2) {
            let lists = TransposedLists::collect_range(&forward, dir, in_degrees, range)?;
            lists.push(sink, on_progress);
            weights.push(&lists.weights)?;
        }
        Ok(())
    })?;
    weights.finish()
}

/// Ranges of nodes whose arcs fit into memory.
fn ranges(in_degrees: &[u32], memory_bytes: u64) -> Vec<Range<u32>> {
    let mut ranges = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (node, degree) in (0..).zip(in_degrees) {
        let more = NODE_BYTES + ARC_BYTES * u64::from(*degree);
        if bytes + more > memory_bytes && node > start {
            ranges.push(start..node);
            (start, bytes) = (node, 0);
        }
        bytes += more;
    }
    ranges.push(start..in_degrees.len() as u32);
    ranges
}

/// Transposed lists of a range of nodes.
struct TransposedLists {
    first: u32,
    /// End of the list of each node.
    ends: Vec<u64>,
    sources: Vec<u32>,
    weights: Vec<u8>,
}

impl TransposedLists {
    fn collect_range(
        forward: &BvGraph,
        dir: &Path,
        in_degrees: &[u32],
        range: Range<u32>,
    ) -> Result<TransposedLists> {
        let mut arcs = 0;
        let start = |degree: &u32| {
            let start = arcs;
            arcs += u64::from(*degree);
            start
        };
        // A list starts where the one before it ends. Each arc advances the position of its list, which finally is its end.
        let mut ends: Vec<u64> =
            in_degrees[range.start as usize..range.end as usize].iter().map(start).collect();
        let (mut sources, mut transposed_weights) = (vec![0; arcs as usize], vec![0; arcs as usize]);
        let mut weights = ChecksummedReader::open(&dir.join("forward.weights"))?;
        let mut own_weights = Vec::new();
        forward.for_each(|source, targets| {
            own_weights.resize(targets.len(), 0);
            if !targets.is_empty() {
                weights.read(&mut own_weights)?;
            }
            let from = targets.partition_point(|target| *target < range.start);
            let to = targets.partition_point(|target| *target < range.end);
            for (target, weight) in targets[from..to].iter().zip(&own_weights[from..to]) {
                let slot = &mut ends[(*target - range.start) as usize];
                sources[*slot as usize] = source;
                transposed_weights[*slot as usize] = *weight;
                *slot += 1;
            }
            Ok(())
        })?;
        Ok(TransposedLists { first: range.start, ends, sources, weights: transposed_weights })
    }

    fn push(&self, sink: &mut BvSink, on_progress: &mut dyn FnMut(BuildStage)) {
        let mut start = 0;
        for (node, end) in (u64::from(self.first)..).zip(&self.ends) {
            sink.push(&self.sources[start as usize..*end as usize]);
            start = *end;
            if node.is_multiple_of(PROGRESS_INTERVAL_NODES) {
                on_progress(BuildStage::WritingTransposed(node));
            }
        }
    }
}
