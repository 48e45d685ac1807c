//! Compressed graphs in the BVGraph format of WebGraph: about three bits per link.
//!
//! The files are those of WebGraph's BVGraph with its default parameters, so that other tools can open them:
//!
//! ```text
//! NAME.graph        successor lists, as bits; the codes are in [`encode`]
//! NAME.offsets      γ codes of the length of each list in bits, from 0
//! NAME.properties   counts and parameters, as text
//! NAME.chunks       not part of WebGraph: positions where decoding can start, with checksums;
//!                   per chunk u32 node, u64 arc, u64 bit, u64 XXH3
//! ```
//!
//! A list refers to earlier lists, but inside a *chunk* of about 100,000 links only to lists of the same chunk. Chunks
//! are therefore encoded and decoded in parallel, reading one list decodes at most one chunk, and memory holds only the
//! chunks that are being decoded. A graph written by another tool is one chunk without a checksum.

mod decode;
mod encode;
mod format;
mod write;

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Context, Error, Result, corrupt};
use crate::graph::bit_codes::BitReader;
use crate::threads::Threads;
use decode::Decoder;
use format::{Chunk, MAX_REF_COUNT, MIN_INTERVAL_LENGTH, WINDOW};

pub(crate) use write::write_synced;
pub use write::{BvSink, write_bv};

/// Maximum size of the list of chunks; 10^12 arcs have a tenth of it.
const MAX_CHUNKS_BYTES: u64 = 4 << 30;
/// Maximum size of a properties file.
const MAX_PROPERTIES_BYTES: u64 = 64 << 10;

/// A compressed graph, read from its file on demand.
#[derive(Debug)]
pub struct BvGraph {
    path: PathBuf,
    file: File,
    nodes: u32,
    arcs: u64,
    bytes: u64,
    chunks: Vec<Chunk>,
}

impl BvGraph {
    /// Opens the graph `NAME.graph` and its other files; `basename` is the path without an extension.
    pub fn open(basename: &Path) -> Result<BvGraph> {
        let path = basename.with_extension("graph");
        let (nodes, arcs) = read_properties(&basename.with_extension("properties"))?;
        let file = File::open(&path).context("open", &path)?;
        let bytes = file.metadata().context("read", &path)?.len();
        // Each node takes at least one bit.
        if u64::from(nodes) > bytes.saturating_mul(8) {
            return Err(corrupt(&path, format!("{bytes} bytes cannot have {nodes} nodes")));
        }
        let chunks_path = basename.with_extension("chunks");
        let whole = Chunk { first_node: 0, first_arc: 0, first_bit: 0, checksum: None };
        let chunks = match store::read_limited(&chunks_path, MAX_CHUNKS_BYTES) {
            Ok(bytes) => Chunk::decode_all(&bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => vec![whole],
            Err(error) => return Err(error).context("read", &chunks_path),
        };
        let ascend = chunks.is_sorted_by(|a, b| {
            a.first_node < b.first_node && a.first_arc <= b.first_arc && a.first_bit <= b.first_bit
        });
        let last = chunks.last().copied().unwrap_or(whole);
        let inside = last.first_node <= nodes && last.first_arc <= arcs && last.first_bit <= bytes * 8;
        if !ascend
            || !inside
            || chunks.first().is_some_and(|chunk| chunk.first_node != 0 || chunk.first_arc != 0)
        {
            return Err(corrupt(&chunks_path, "chunk positions outside the graph"));
        }
        Ok(BvGraph { path, file, nodes, arcs, bytes, chunks })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Number of arcs.
    pub fn arcs(&self) -> u64 {
        self.arcs
    }

    /// Size of the successor lists in bits, as counted in "bits per link".
    pub fn bits(&self) -> u64 {
        self.bytes * 8
    }

    /// Successors of one node; decodes at most one chunk.
    pub fn successors(&self, node: u32) -> Result<Vec<u32>> {
        let chunk = self.chunks.partition_point(|chunk| chunk.first_node <= node).saturating_sub(1);
        let mut found = Vec::new();
        self.decode(chunk, node.saturating_add(1), |_, this, successors| {
            if this == node {
                found = successors.to_vec();
            }
        })?;
        Ok(found)
    }

    /// Calls `f` with each of these ascending nodes and its successors; decodes no chunk twice.
    pub(crate) fn for_each_of(&self, nodes: &[u32], mut f: impl FnMut(u32, &[u32])) -> Result<()> {
        let chunk_of =
            |node: u32| self.chunks.partition_point(|chunk| chunk.first_node <= node).saturating_sub(1);
        for group in nodes.chunk_by(|one, other| chunk_of(*one) == chunk_of(*other)) {
            let mut next = group.iter().copied().peekable();
            let end = group.last().map_or(0, |last| last.saturating_add(1));
            self.decode(chunk_of(group[0]), end, |_, node, successors| {
                if next.next_if_eq(&node).is_some() {
                    f(node, successors);
                }
            })?;
        }
        Ok(())
    }

    /// Calls `f` with each node and its successors, in order.
    pub fn for_each(&self, mut f: impl FnMut(u32, &[u32]) -> Result<()>) -> Result<()> {
        for chunk in 0..self.chunks.len() {
            let mut done = Ok(());
            self.decode(chunk, self.end(chunk), |_, node, successors| {
                if done.is_ok() {
                    done = f(node, successors);
                }
            })?;
            done?;
        }
        Ok(())
    }

    /// Splits the nodes into about `count` ranges with about equal numbers of arcs, each starting at a chunk.
    pub(crate) fn parts(&self, count: usize) -> Vec<Range<u32>> {
        let part_arcs = self.arcs / count.max(1) as u64 + 1;
        let mut parts: Vec<Range<u32>> = Vec::new();
        let mut next_arc = 0;
        for (index, chunk) in self.chunks.iter().enumerate() {
            match parts.last_mut() {
                Some(part) if chunk.first_arc < next_arc => part.end = self.end(index),
                _ => {
                    parts.push(chunk.first_node..self.end(index));
                    next_arc = chunk.first_arc + part_arcs;
                }
            }
        }
        parts.retain(|part| !part.is_empty());
        parts
    }

    /// Calls `f` with the index of the first arc, the node, and the successors, for each node of a range that
    /// [`BvGraph::parts`] returned.
    pub(crate) fn for_each_in(&self, part: Range<u32>, mut f: impl FnMut(u64, u32, &[u32])) -> Result<()> {
        let first = self.chunks.partition_point(|chunk| chunk.first_node < part.start);
        let last = self.chunks.partition_point(|chunk| chunk.first_node < part.end);
        (first..last).try_for_each(|chunk| self.decode(chunk, self.end(chunk).min(part.end), &mut f))
    }

    /// Index of the first arc of a node that starts a chunk.
    pub(crate) fn first_arc(&self, node: u32) -> u64 {
        let chunk = self.chunks.partition_point(|chunk| chunk.first_node < node);
        self.chunks.get(chunk).map_or(self.arcs, |chunk| chunk.first_arc)
    }

    /// Returns the error for a corrupt graph file.
    pub(crate) fn corrupt(&self, reason: &str) -> Error {
        corrupt(&self.path, reason)
    }

    fn end(&self, chunk: usize) -> u32 {
        self.chunks.get(chunk + 1).map_or(self.nodes, |next| next.first_node)
    }

    fn decode(&self, chunk: usize, end: u32, mut f: impl FnMut(u64, u32, &[u32])) -> Result<()> {
        let Some(Chunk { first_node, mut first_arc, first_bit, .. }) = self.chunks.get(chunk).copied() else {
            return Ok(());
        };
        let bytes = self.load(chunk)?;
        let mut decoder = Decoder::new(first_node, self.nodes, BitReader::new(&bytes, first_bit % 8));
        for node in first_node..end.min(self.nodes) {
            let invalid = |_| corrupt(&self.path, format!("invalid successor list of node {node}"));
            let successors = decoder.next().map_err(invalid)?;
            f(first_arc, node, successors);
            first_arc += successors.len() as u64;
        }
        Ok(())
    }

    /// Reads the bytes that contain the bits of a chunk.
    fn load(&self, chunk: usize) -> Result<Vec<u8>> {
        let Chunk { first_node, first_bit, checksum, .. } = self.chunks[chunk];
        let end = self.chunks.get(chunk + 1).map_or(self.bytes, |next| next.first_bit.div_ceil(8));
        let mut bytes = vec![0; (end - first_bit / 8) as usize];
        self.file.read_exact_at(&mut bytes, first_bit / 8).context("read", &self.path)?;
        let actual = xxh3_64(&bytes);
        match checksum.filter(|expected| *expected != actual) {
            Some(expected) => {
                let reason =
                    format!("chunk of node {first_node}: checksum {actual:016x}, expected {expected:016x}");
                Err(corrupt(&self.path, reason))
            }
            None => Ok(bytes),
        }
    }

    /// Number of successors of each node.
    pub fn degrees(&self, threads: Threads) -> Result<Vec<u32>> {
        let mut degrees = vec![0; self.nodes as usize];
        let parts = split_by(&mut degrees, &self.parts(threads.0 * 8));
        let done = threads.map(parts, |(part, degrees)| {
            let start = part.start;
            self.for_each_in(part, |_, node, successors| {
                degrees[(node - start) as usize] = successors.len() as u32;
            })
        });
        done.into_iter().collect::<Result<()>>()?;
        Ok(degrees)
    }
}

/// Splits a slice with one value per node at the boundaries of parts.
pub(crate) fn split_by<'v, V>(values: &'v mut [V], parts: &[Range<u32>]) -> Vec<(Range<u32>, &'v mut [V])> {
    let mut rest = values;
    let mut split = Vec::with_capacity(parts.len());
    for part in parts {
        let (own, behind) = rest.split_at_mut(part.len());
        split.push((part.clone(), own));
        rest = behind;
    }
    split
}

fn read_properties(path: &Path) -> Result<(u32, u64)> {
    let bytes = store::read_limited(path, MAX_PROPERTIES_BYTES).context("read", path)?;
    let text = String::from_utf8_lossy(&bytes);
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.map(str::trim)
    };
    let number = |name: &str| {
        let missing = || corrupt(path, format!("missing or invalid property {name}"));
        value(name).and_then(|text| text.parse::<u64>().ok()).ok_or_else(missing)
    };
    let expected = [
        ("windowsize", WINDOW as u64),
        ("maxrefcount", u64::from(MAX_REF_COUNT)),
        ("minintervallength", u64::from(MIN_INTERVAL_LENGTH)),
        ("zetak", u64::from(crate::graph::bit_codes::ZETA_K)),
    ];
    for (name, expected) in expected {
        if number(name)? != expected {
            return Err(corrupt(path, format!("unsupported {name}; only {expected} is supported")));
        }
    }
    if value("compressionflags").is_some_and(|flags| !flags.is_empty()) {
        return Err(corrupt(path, "unsupported compression flags; only the default codes are supported"));
    }
    let nodes = u32::try_from(number("nodes")?).map_err(|_| corrupt(path, "2^32 or more nodes"))?;
    Ok((nodes, number("arcs")?))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    fn written(dir: &Path, lists: &[Vec<u32>]) -> BvGraph {
        let basename = dir.join("g");
        write_bv(&basename, Threads(2), |sink| {
            lists.iter().for_each(|list| sink.push(list));
            Ok(())
        })
        .unwrap();
        BvGraph::open(&basename).unwrap()
    }

    fn all(graph: &BvGraph) -> Vec<Vec<u32>> {
        let mut lists = Vec::new();
        graph
            .for_each(|_, list| {
                lists.push(list.to_vec());
                Ok(())
            })
            .unwrap();
        lists
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_graph_is_read_back(seeds in prop::collection::vec((any::<u32>(), 0..4u32, prop::collection::btree_set(0..60u32, 0..30)), 0..60)) {
            let nodes = seeds.len() as u32;
            let mut lists: Vec<Vec<u32>> = Vec::new();
            for (noise, kind, own) in seeds {
                let mut list: Vec<u32> = own.into_iter().filter(|to| *to < nodes).collect();
                // Some lists are similar to the one before, some are runs.
                if kind == 1 { list.extend(lists.last().into_iter().flatten()); }
                if kind == 2 { list.extend(noise % nodes..(noise % nodes + 9).min(nodes)); }
                list.sort_unstable();
                list.dedup();
                lists.push(list);
            }
            let dir = tempfile::tempdir().unwrap();
            let graph = written(dir.path(), &lists);
            prop_assert_eq!(&all(&graph), &lists);
            for node in 0..nodes {
                prop_assert_eq!(&graph.successors(node).unwrap(), &lists[node as usize]);
            }
            prop_assert_eq!(graph.degrees(Threads(2)).unwrap(), lists.iter().map(|list| list.len() as u32).collect::<Vec<_>>());
        }

        #[test]
        fn arbitrary_bits_decode_to_a_graph_or_an_error(bits in prop::collection::vec(any::<u8>(), 0..300), nodes in 1..50u32) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("g.graph");
            fs::write(&path, &bits).unwrap();
            let chunks = vec![Chunk { first_node: 0, first_arc: 0, first_bit: 0, checksum: None }];
            let file = File::open(&path).unwrap();
            let graph = BvGraph { path, file, nodes, arcs: 0, bytes: bits.len() as u64, chunks };
            let _ = graph.for_each(|_, list| {
                assert!(list.iter().all(|to| *to < nodes));
                Ok(())
            });
        }
    }

    #[test]
    fn impossible_numbers_of_nodes_and_arcs_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        drop(written(dir.path(), &[vec![1], vec![0, 1]]));
        let path = dir.path().join("g.properties");
        let properties = fs::read_to_string(&path).unwrap();
        let open = |from: &str, to: &str| {
            assert!(properties.contains(from), "{properties}");
            fs::write(&path, properties.replace(from, to)).unwrap();
            BvGraph::open(&path.with_extension(""))
        };
        let error = open("nodes=2", "nodes=4000000000").unwrap_err().to_string();
        assert!(error.contains("cannot have 4000000000 nodes"), "{error}");
        let graph = open("arcs=3", "arcs=1152921504606846976").unwrap();
        let error = crate::graph::csr::Csr::from_bv(&graph, Threads(2)).unwrap_err().to_string();
        assert!(error.contains("cannot load 1152921504606846976 arcs"), "{error}");
    }

    #[test]
    fn chunks_are_independent_and_parts_cover_the_graph() {
        let list = |node: u32| {
            (0..40).map(|k| (node / 7 * 3 + k * k) % 40_000).collect::<std::collections::BTreeSet<_>>()
        };
        let lists: Vec<Vec<u32>> = (0..40_000).map(|node| list(node).into_iter().collect()).collect();
        let dir = tempfile::tempdir().unwrap();
        let graph = written(dir.path(), &lists);
        assert!(graph.chunks.len() > 8, "{} chunks", graph.chunks.len());
        assert_eq!(all(&graph), lists);
        for count in [1, 3, 100] {
            let parts = graph.parts(count);
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert_eq!((parts[0].start, parts[parts.len() - 1].end), (0, 40_000));
            let mut seen = 0;
            for part in parts {
                graph
                    .for_each_in(part, |first_arc, node, successors| {
                        assert_eq!((first_arc, successors), (seen, &lists[node as usize][..]));
                        seen += successors.len() as u64;
                    })
                    .unwrap();
            }
            assert_eq!(seen, graph.arcs());
        }
        assert_eq!(graph.successors(39_999).unwrap(), lists[39_999]);
    }
}
