//! How is a graph of 10^9 links kept small? As WebGraph does it: some three bits a link.
//!
//! The files are those of WebGraph's BVGraph with its usual parameters, so that the tools of others open them:
//!
//! ```text
//! NAME.graph        the lists of successors, as bits; [`encode`] has the codes
//! NAME.offsets      γ of how many bits each list takes, from 0 on
//! NAME.properties   counts and parameters, as text
//! NAME.pieces       ours: where decoding may begin, with checksums; for each piece u32 node, u64 arc, u64 bit, u64 XXH3
//! ```
//!
//! Lists refer to the lists before them; within a *piece* of some 100,000 links they refer to nothing before it. So
//! pieces are encoded and decoded side by side, a single list takes the decoding of at most one piece, and memory holds
//! the pieces that are being decoded and no more. A graph of others is one piece, without a checksum.

mod decode;
mod encode;
mod write;

use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::bits::BitReader;
use crate::cores::Cores;
use crate::error::{Context, Error, Result, damaged};
use decode::Decoder;

pub(crate) use write::write_synced;
pub use write::{BvSink, write_bv};

/// References reach so many nodes back.
const WINDOW: usize = 7;
/// No list is decoded by way of more others.
const MOST_REFERENCES: u32 = 3;
/// Shorter runs of consecutive numbers are no intervals.
const LEAST_INTERVAL: u32 = 4;
const PIECE_BYTES: usize = 28;

/// A place where decoding may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    first_node: u32,
    first_arc: u64,
    first_bit: u64,
    /// XXH3 of the bytes that have its bits; none for a graph of others.
    checksum: Option<u64>,
}

/// A compressed graph, which is read from its file as needed.
#[derive(Debug)]
pub struct BvGraph {
    path: PathBuf,
    file: File,
    nodes: u32,
    arcs: u64,
    bytes: u64,
    pieces: Vec<Piece>,
}

impl BvGraph {
    /// Opens the graph `NAME.graph` and its other files; `basename` is the path without an extension.
    pub fn open(basename: &Path) -> Result<BvGraph> {
        let path = basename.with_extension("graph");
        let (nodes, arcs) = read_properties(&basename.with_extension("properties"))?;
        let file = File::open(&path).context("open", &path)?;
        let bytes = file.metadata().context("read", &path)?.len();
        let pieces_path = basename.with_extension("pieces");
        let whole = Piece { first_node: 0, first_arc: 0, first_bit: 0, checksum: None };
        let pieces = match fs::read(&pieces_path) {
            Ok(bytes) => decode_pieces(&bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => vec![whole],
            Err(error) => return Err(error).context("read", &pieces_path),
        };
        let ascend = pieces.is_sorted_by(|a, b| {
            a.first_node < b.first_node && a.first_arc <= b.first_arc && a.first_bit <= b.first_bit
        });
        let last = pieces.last().copied().unwrap_or(whole);
        let inside = last.first_node <= nodes && last.first_arc <= arcs && last.first_bit <= bytes * 8;
        if !ascend
            || !inside
            || pieces.first().is_some_and(|piece| piece.first_node != 0 || piece.first_arc != 0)
        {
            return Err(damaged(&pieces_path, "it names places that are not in the graph"));
        }
        Ok(BvGraph { path, file, nodes, arcs, bytes, pieces })
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// How many arcs there are.
    pub fn arcs(&self) -> u64 {
        self.arcs
    }

    /// The size of the lists: what `bits per link` counts.
    pub fn bits(&self) -> u64 {
        self.bytes * 8
    }

    /// The successors of one node; decodes up to a piece.
    pub fn successors(&self, node: u32) -> Result<Vec<u32>> {
        let piece = self.pieces.partition_point(|piece| piece.first_node <= node).saturating_sub(1);
        let mut found = Vec::new();
        self.decode(piece, node.saturating_add(1), |_, this, successors| {
            if this == node {
                found = successors.to_vec();
            }
        })?;
        Ok(found)
    }

    /// Calls `each` with some nodes, which ascend, and their successors; decodes no piece twice.
    pub(crate) fn for_each_of(&self, nodes: &[u32], mut each: impl FnMut(u32, &[u32])) -> Result<()> {
        let piece_of =
            |node: u32| self.pieces.partition_point(|piece| piece.first_node <= node).saturating_sub(1);
        for wanted in nodes.chunk_by(|one, other| piece_of(*one) == piece_of(*other)) {
            let mut next = wanted.iter().copied().peekable();
            let end = wanted.last().map_or(0, |last| last.saturating_add(1));
            self.decode(piece_of(wanted[0]), end, |_, node, successors| {
                if next.next_if_eq(&node).is_some() {
                    each(node, successors);
                }
            })?;
        }
        Ok(())
    }

    /// Calls `each` with every node and its successors, in order.
    pub fn for_each(&self, mut each: impl FnMut(u32, &[u32]) -> Result<()>) -> Result<()> {
        for piece in 0..self.pieces.len() {
            let mut done = Ok(());
            self.decode(piece, self.end(piece), |_, node, successors| {
                if done.is_ok() {
                    done = each(node, successors);
                }
            })?;
            done?;
        }
        Ok(())
    }

    /// About so many ranges of nodes with about as many arcs each; decoding may begin with each of them.
    pub(crate) fn parts(&self, count: usize) -> Vec<Range<u32>> {
        let wanted = self.arcs / count.max(1) as u64 + 1;
        let mut parts: Vec<Range<u32>> = Vec::new();
        let mut next_arc = 0;
        for (index, piece) in self.pieces.iter().enumerate() {
            match parts.last_mut() {
                Some(part) if piece.first_arc < next_arc => part.end = self.end(index),
                _ => {
                    parts.push(piece.first_node..self.end(index));
                    next_arc = piece.first_arc + wanted;
                }
            }
        }
        parts.retain(|part| !part.is_empty());
        parts
    }

    /// Calls `each` with the number of the first arc, the node and the successors of every node in a range that
    /// [`BvGraph::parts`] gave.
    pub(crate) fn for_each_in(&self, part: Range<u32>, mut each: impl FnMut(u64, u32, &[u32])) -> Result<()> {
        let first = self.pieces.partition_point(|piece| piece.first_node < part.start);
        let last = self.pieces.partition_point(|piece| piece.first_node < part.end);
        (first..last).try_for_each(|piece| self.decode(piece, self.end(piece).min(part.end), &mut each))
    }

    /// The number of the first arc of a node with which a piece begins.
    pub(crate) fn first_arc(&self, node: u32) -> u64 {
        let piece = self.pieces.partition_point(|piece| piece.first_node < node);
        self.pieces.get(piece).map_or(self.arcs, |piece| piece.first_arc)
    }

    /// What is wrong with its file.
    pub(crate) fn wrong(&self, what: &str) -> Error {
        damaged(&self.path, what)
    }

    fn end(&self, piece: usize) -> u32 {
        self.pieces.get(piece + 1).map_or(self.nodes, |next| next.first_node)
    }

    fn decode(&self, piece: usize, end: u32, mut each: impl FnMut(u64, u32, &[u32])) -> Result<()> {
        let Some(Piece { first_node, mut first_arc, first_bit, .. }) = self.pieces.get(piece).copied() else {
            return Ok(());
        };
        let bytes = self.load(piece)?;
        let mut decoder = Decoder::new(first_node, self.nodes, BitReader::new(&bytes, first_bit % 8));
        for node in first_node..end.min(self.nodes) {
            let nonsense = |_| damaged(&self.path, format!("the list of node {node} cannot be read"));
            let successors = decoder.next().map_err(nonsense)?;
            each(first_arc, node, successors);
            first_arc += successors.len() as u64;
        }
        Ok(())
    }

    /// The bytes that have the bits of a piece.
    fn load(&self, piece: usize) -> Result<Vec<u8>> {
        let Piece { first_node, first_bit, checksum, .. } = self.pieces[piece];
        let end = self.pieces.get(piece + 1).map_or(self.bytes, |next| next.first_bit.div_ceil(8));
        let mut bytes = vec![0; (end - first_bit / 8) as usize];
        self.file.read_exact_at(&mut bytes, first_bit / 8).context("read", &self.path)?;
        let found = xxh3_64(&bytes);
        match checksum.filter(|expected| *expected != found) {
            Some(expected) => {
                let what =
                    format!("from node {first_node} on: checksum {found:016x}, expected {expected:016x}");
                Err(damaged(&self.path, what))
            }
            None => Ok(bytes),
        }
    }

    /// Every node's number of successors.
    pub fn degrees(&self, cores: Cores) -> Result<Vec<u32>> {
        let mut degrees = vec![0; self.nodes as usize];
        let parts = split_by(&mut degrees, &self.parts(cores.0 * 8));
        let done = cores.map(parts, |(part, degrees)| {
            let start = part.start;
            self.for_each_in(part, |_, node, successors| {
                degrees[(node - start) as usize] = successors.len() as u32;
            })
        });
        done.into_iter().collect::<Result<()>>()?;
        Ok(degrees)
    }
}

/// Cuts a slice with a value for each node at the borders of parts.
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
    let text = fs::read_to_string(path).context("read", path)?;
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.map(str::trim)
    };
    let number = |name: &str| {
        let missing = || damaged(path, format!("it does not say how many {name} there are"));
        value(name).and_then(|text| text.parse::<u64>().ok()).ok_or_else(missing)
    };
    let expected = [
        ("windowsize", WINDOW as u64),
        ("maxrefcount", u64::from(MOST_REFERENCES)),
        ("minintervallength", u64::from(LEAST_INTERVAL)),
        ("zetak", u64::from(crate::bits::ZETA_K)),
    ];
    for (name, expected) in expected {
        if number(name)? != expected {
            return Err(damaged(path, format!("{name} is not {expected}, and no other is read")));
        }
    }
    if value("compressionflags").is_some_and(|flags| !flags.is_empty()) {
        return Err(damaged(path, "it has other codes than the usual ones"));
    }
    let nodes = u32::try_from(number("nodes")?).map_err(|_| damaged(path, "it has 2^32 nodes or more"))?;
    Ok((nodes, number("arcs")?))
}

fn decode_pieces(bytes: &[u8]) -> Vec<Piece> {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    let piece = |bytes: &[u8; PIECE_BYTES]| Piece {
        first_node: number(&bytes[..4]) as u32,
        first_arc: number(&bytes[4..12]),
        first_bit: number(&bytes[12..20]),
        checksum: Some(number(&bytes[20..])),
    };
    bytes.as_chunks().0.iter().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(folder: &Path, lists: &[Vec<u32>]) -> BvGraph {
        let basename = folder.join("g");
        write_bv(&basename, Cores(2), |sink| {
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
        fn any_graph_comes_back(seeds in prop::collection::vec((any::<u32>(), 0..4u32, prop::collection::btree_set(0..60u32, 0..30)), 0..60)) {
            let nodes = seeds.len() as u32;
            let mut lists: Vec<Vec<u32>> = Vec::new();
            for (noise, kind, own) in seeds {
                let mut list: Vec<u32> = own.into_iter().filter(|to| *to < nodes).collect();
                // Some lists are much like those before, some are runs.
                if kind == 1 { list.extend(lists.last().into_iter().flatten()); }
                if kind == 2 { list.extend(noise % nodes..(noise % nodes + 9).min(nodes)); }
                list.sort_unstable();
                list.dedup();
                lists.push(list);
            }
            let folder = tempfile::tempdir().unwrap();
            let graph = written(folder.path(), &lists);
            prop_assert_eq!(&all(&graph), &lists);
            for node in 0..nodes {
                prop_assert_eq!(&graph.successors(node).unwrap(), &lists[node as usize]);
            }
            prop_assert_eq!(graph.degrees(Cores(2)).unwrap(), lists.iter().map(|list| list.len() as u32).collect::<Vec<_>>());
        }

        #[test]
        fn any_bits_are_a_graph_or_an_error(bits in prop::collection::vec(any::<u8>(), 0..300), nodes in 1..50u32) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("g.graph");
            fs::write(&path, &bits).unwrap();
            let pieces = vec![Piece { first_node: 0, first_arc: 0, first_bit: 0, checksum: None }];
            let file = File::open(&path).unwrap();
            let graph = BvGraph { path, file, nodes, arcs: 0, bytes: bits.len() as u64, pieces };
            let _ = graph.for_each(|_, list| {
                assert!(list.iter().all(|to| *to < nodes));
                Ok(())
            });
        }
    }

    #[test]
    fn pieces_are_independent_and_parts_cover_the_graph() {
        let list = |node: u32| {
            (0..40).map(|k| (node / 7 * 3 + k * k) % 40_000).collect::<std::collections::BTreeSet<_>>()
        };
        let lists: Vec<Vec<u32>> = (0..40_000).map(|node| list(node).into_iter().collect()).collect();
        let folder = tempfile::tempdir().unwrap();
        let graph = written(folder.path(), &lists);
        assert!(graph.pieces.len() > 8, "{} pieces", graph.pieces.len());
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
