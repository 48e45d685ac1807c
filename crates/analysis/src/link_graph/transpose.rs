//! How are all arcs turned round? The number of arcs to each node is known, so every arc's place is, too: one pass over
//! the arcs puts those of a range of targets in place, and as many passes are made as memory demands.

use std::ops::Range;
use std::path::Path;

use super::{BuildStage, GraphSettings};
use crate::bv::{BvGraph, BvSink, write_bv};
use crate::error::Result;
use crate::sealed::{SealedReader, SealedWriter};

/// What a node and an arc take.
const NODE_BYTES: u64 = 8;
const ARC_BYTES: u64 = 5;
const TELL_NODES: u64 = 1 << 16;

/// Writes `backward` from `forward`.
pub(super) fn transpose(
    folder: &Path,
    in_degrees: &[u32],
    settings: &GraphSettings,
    told: &mut dyn FnMut(BuildStage),
) -> Result<()> {
    let forward = BvGraph::open(&folder.join("forward"))?;
    let mut weights = SealedWriter::create(&folder.join("backward.weights"))?;
    write_bv(&folder.join("backward"), settings.cores, |sink| {
        for range in ranges(in_degrees, settings.memory_bytes / 2) {
            let turned = Turned::gather(&forward, folder, in_degrees, range)?;
            turned.push(sink, told);
            weights.push(&turned.weights)?;
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

/// The arcs to a range of nodes.
struct Turned {
    first: u32,
    /// Where the list of each node ends.
    ends: Vec<u64>,
    sources: Vec<u32>,
    weights: Vec<u8>,
}

impl Turned {
    fn gather(forward: &BvGraph, folder: &Path, in_degrees: &[u32], range: Range<u32>) -> Result<Turned> {
        let mut arcs = 0;
        let start = |degree: &u32| {
            let start = arcs;
            arcs += u64::from(*degree);
            start
        };
        // A list starts where the one before ends; each arc moves its list's place on, which in the end is its end.
        let mut ends: Vec<u64> =
            in_degrees[range.start as usize..range.end as usize].iter().map(start).collect();
        let (mut sources, mut turned_weights) = (vec![0; arcs as usize], vec![0; arcs as usize]);
        let mut weights = SealedReader::open(&folder.join("forward.weights"))?;
        let mut own_weights = Vec::new();
        forward.for_each(|source, targets| {
            own_weights.resize(targets.len(), 0);
            if !targets.is_empty() {
                weights.read(&mut own_weights)?;
            }
            let from = targets.partition_point(|target| *target < range.start);
            let to = targets.partition_point(|target| *target < range.end);
            for (target, weight) in targets[from..to].iter().zip(&own_weights[from..to]) {
                let place = &mut ends[(*target - range.start) as usize];
                sources[*place as usize] = source;
                turned_weights[*place as usize] = *weight;
                *place += 1;
            }
            Ok(())
        })?;
        Ok(Turned { first: range.start, ends, sources, weights: turned_weights })
    }

    fn push(&self, sink: &mut BvSink, told: &mut dyn FnMut(BuildStage)) {
        let mut start = 0;
        for (node, end) in (u64::from(self.first)..).zip(&self.ends) {
            sink.push(&self.sources[start as usize..*end as usize]);
            start = *end;
            if node.is_multiple_of(TELL_NODES) {
                told(BuildStage::Turning(node));
            }
        }
    }
}
