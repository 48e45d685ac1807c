//! Who writes a graph? One thread brings the lists, others encode pieces of it, one puts the pieces in order.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use xxhash_rust::xxh3::xxh3_64;

use super::encode::{Encoded, Encoder};
use super::{LEAST_INTERVAL, MOST_REFERENCES, PIECE_BYTES, Piece, WINDOW};
use crate::bits::{BitWriter, ZETA_K};
use crate::cores::Cores;
use crate::error::{Context, Result};

/// A piece ends with the list that makes it longer than this, or at so many nodes.
const PIECE_ARCS: usize = 1 << 17;
const PIECE_NODES: usize = 1 << 16;
/// So many bytes are written at a time.
const WRITE_BYTES: usize = 1 << 20;

/// Takes the lists of a graph in the order of the nodes.
pub struct BvSink {
    lists: Lists,
    number: usize,
    out: SyncSender<Lists>,
    nodes: u32,
    arcs: u64,
}

/// Lists of successive nodes that are encoded together.
#[derive(Default)]
struct Lists {
    number: usize,
    first_node: u32,
    degrees: Vec<u32>,
    successors: Vec<u32>,
}

impl BvSink {
    /// Appends the next node; its successors ascend, and none comes twice.
    pub fn push(&mut self, successors: &[u32]) {
        debug_assert!(successors.is_sorted_by(|a, b| a < b));
        self.lists.degrees.push(successors.len() as u32);
        self.lists.successors.extend_from_slice(successors);
        self.nodes += 1;
        self.arcs += successors.len() as u64;
        if self.lists.successors.len() >= PIECE_ARCS || self.lists.degrees.len() >= PIECE_NODES {
            self.send();
        }
    }

    fn send(&mut self) {
        let next = Lists { number: self.number + 1, first_node: self.nodes, ..Lists::default() };
        self.number += 1;
        // If nobody takes it any more, writing has failed, and that error will be told.
        let _ = self.out.send(std::mem::replace(&mut self.lists, next));
    }
}

/// Writes the graph whose lists `bring` pushes, as `basename.graph` and its other files; syncs them.
pub fn write_bv(basename: &Path, cores: Cores, bring: impl FnOnce(&mut BvSink) -> Result<()>) -> Result<()> {
    thread::scope(|scope| {
        let (out, lists) = sync_channel(cores.0 * 2);
        let (done, encoded) = channel();
        let lists = Mutex::new(lists);
        let writer = scope.spawn(move || Files::create(basename)?.write_all(&encoded));
        let mut sink = BvSink { lists: Lists::default(), number: 0, out, nodes: 0, arcs: 0 };
        // The workers borrow the queue; they end when the sink is gone.
        thread::scope(|scope| {
            for _ in 0..cores.0.max(1) {
                let done = done.clone();
                let lists = &lists;
                scope.spawn(move || encode_all(lists, &done));
            }
            let brought = bring(&mut sink);
            if !sink.lists.degrees.is_empty() {
                sink.send();
            }
            drop(sink);
            brought
        })?;
        drop(done);
        writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn encode_all(lists: &Mutex<Receiver<Lists>>, done: &Sender<(Lists, Encoded)>) {
    loop {
        let next = lists.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(lists) = next else { break };
        let mut encoder = Encoder::new(lists.first_node);
        let mut rest = &lists.successors[..];
        for degree in &lists.degrees {
            let (own, behind) = rest.split_at(*degree as usize);
            encoder.push(own);
            rest = behind;
        }
        if done.send((lists, encoder.finish())).is_err() {
            break;
        }
    }
}

/// The files of a graph under construction.
struct Files {
    basename: PathBuf,
    graph: Output,
    offsets: Output,
    pieces: Vec<Piece>,
    nodes: u64,
    arcs: u64,
}

impl Files {
    fn create(basename: &Path) -> Result<Files> {
        let mut offsets = Output::create(&basename.with_extension("offsets"))?;
        offsets.bits.gamma(0);
        Ok(Files {
            basename: basename.to_owned(),
            graph: Output::create(&basename.with_extension("graph"))?,
            offsets,
            pieces: Vec::new(),
            nodes: 0,
            arcs: 0,
        })
    }

    /// Writes pieces as they come, each behind the one before.
    fn write_all(mut self, encoded: &Receiver<(Lists, Encoded)>) -> Result<()> {
        let mut waiting = BTreeMap::new();
        let mut next = 0;
        for (lists, encoded) in encoded {
            waiting.insert(lists.number, (lists, encoded));
            while let Some((lists, encoded)) = waiting.remove(&next) {
                self.write(&lists, &encoded)?;
                next += 1;
            }
        }
        self.finish()
    }

    fn write(&mut self, lists: &Lists, encoded: &Encoded) -> Result<()> {
        self.pieces.push(Piece {
            first_node: lists.first_node,
            first_arc: self.arcs,
            first_bit: self.graph.length(),
            checksum: None,
        });
        self.nodes += lists.degrees.len() as u64;
        self.arcs += lists.successors.len() as u64;
        self.graph.bits.append(&encoded.bits);
        encoded.lengths.iter().for_each(|length| self.offsets.bits.gamma(u64::from(*length)));
        self.graph.write_full()?;
        self.offsets.write_full()
    }

    fn finish(self) -> Result<()> {
        let Files { basename, graph, offsets, pieces, nodes, arcs } = self;
        let bits = graph.length();
        graph.finish()?;
        offsets.finish()?;
        write_pieces(&basename, &pieces)?;
        let of = |count: u64| if count == 0 { 0.0 } else { bits as f64 / count as f64 };
        let properties = format!(
            "#BVGraph properties\n\
             graphclass=it.unimi.dsi.webgraph.BVGraph\nversion=0\nendianness=big\n\
             nodes={nodes}\narcs={arcs}\n\
             windowsize={WINDOW}\nmaxrefcount={MOST_REFERENCES}\nminintervallength={LEAST_INTERVAL}\nzetak={ZETA_K}\n\
             compressionflags=\n\
             bitsperlink={:.3}\nbitspernode={:.3}\n",
            of(arcs),
            of(nodes),
        );
        write_synced(&basename.with_extension("properties"), properties.as_bytes())
    }
}

/// Writes where pieces begin, and the checksums of the bytes they share with their neighbours.
fn write_pieces(basename: &Path, pieces: &[Piece]) -> Result<()> {
    let path = basename.with_extension("graph");
    let file = File::open(&path).context("open", &path)?;
    let end = file.metadata().context("read", &path)?.len();
    let mut encoded = Vec::with_capacity(pieces.len() * PIECE_BYTES);
    let mut bytes = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        let start = piece.first_bit / 8;
        let end = pieces.get(index + 1).map_or(end, |next| next.first_bit.div_ceil(8));
        bytes.resize((end - start) as usize, 0);
        file.read_exact_at(&mut bytes, start).context("read", &path)?;
        encoded.extend_from_slice(&piece.first_node.to_le_bytes());
        for number in [piece.first_arc, piece.first_bit, xxh3_64(&bytes)] {
            encoded.extend_from_slice(&number.to_le_bytes());
        }
    }
    write_synced(&basename.with_extension("pieces"), &encoded)
}

/// Bits on their way to a file.
struct Output {
    path: PathBuf,
    file: File,
    bits: BitWriter,
    written_bytes: u64,
}

impl Output {
    fn create(path: &Path) -> Result<Output> {
        let file = File::create(path).context("create", path)?;
        Ok(Output { path: path.to_owned(), file, bits: BitWriter::default(), written_bytes: 0 })
    }

    /// In bits.
    fn length(&self) -> u64 {
        self.written_bytes * 8 + self.bits.length()
    }

    fn write_full(&mut self) -> Result<()> {
        if self.bits.length() >= WRITE_BYTES as u64 * 8 {
            let bytes = self.bits.take_bytes();
            self.file.write_all(&bytes).context("write", &self.path)?;
            self.written_bytes += bytes.len() as u64;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        let bits = self.bits.finish();
        self.file.write_all(&bits.bytes).context("write", &self.path)?;
        self.file.sync_data().context("sync", &self.path)
    }
}

/// Writes a whole file that outlasts a power cut.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = File::create(path).context("create", path)?;
    file.write_all(bytes).context("write", path)?;
    file.sync_data().context("sync", path)
}
