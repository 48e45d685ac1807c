//! Parallel writer of a graph: one thread produces the lists, the others encode chunks of them, and one writes the
//! chunks in order.

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
use super::format::{CHUNK_ENTRY_BYTES, Chunk, MAX_REF_COUNT, MIN_INTERVAL_LENGTH, WINDOW};
use crate::error::{Context, Result};
use crate::graph::bit_codes::{BitWriter, ZETA_K};
use crate::threads::Threads;

/// A chunk ends with the list that exceeds this number of arcs, or at [`MAX_CHUNK_NODES`].
const MAX_CHUNK_ARCS: usize = 1 << 17;
const MAX_CHUNK_NODES: usize = 1 << 16;
/// Bytes that are buffered before they are written.
const WRITE_BYTES: usize = 1 << 20;

/// Receives the lists of a graph in the order of the nodes.
pub struct BvSink {
    lists: ListChunk,
    number: usize,
    out: SyncSender<ListChunk>,
    nodes: u32,
    arcs: u64,
}

/// Lists of consecutive nodes that are encoded together.
#[derive(Default)]
struct ListChunk {
    number: usize,
    first_node: u32,
    degrees: Vec<u32>,
    successors: Vec<u32>,
}

impl BvSink {
    /// Appends the next node; its successors ascend without repetition.
    pub fn push(&mut self, successors: &[u32]) {
        debug_assert!(successors.is_sorted_by(|a, b| a < b));
        self.lists.degrees.push(successors.len() as u32);
        self.lists.successors.extend_from_slice(successors);
        self.nodes += 1;
        self.arcs += successors.len() as u64;
        if self.lists.successors.len() >= MAX_CHUNK_ARCS || self.lists.degrees.len() >= MAX_CHUNK_NODES {
            self.send();
        }
    }

    fn send(&mut self) {
        let next = ListChunk { number: self.number + 1, first_node: self.nodes, ..ListChunk::default() };
        self.number += 1;
        // The receivers are gone only if writing has failed; the writer thread returns that error.
        let _ = self.out.send(std::mem::replace(&mut self.lists, next));
    }
}

/// Writes the graph whose lists `push_lists` pushes, as `basename.graph` and its other files, and syncs them.
pub fn write_bv(
    basename: &Path,
    threads: Threads,
    push_lists: impl FnOnce(&mut BvSink) -> Result<()>,
) -> Result<()> {
    thread::scope(|scope| {
        let (out, lists) = sync_channel(threads.0 * 2);
        let (done, encoded) = channel();
        let lists = Mutex::new(lists);
        let writer = scope.spawn(move || GraphFiles::create(basename)?.write_all(&encoded));
        let mut sink = BvSink { lists: ListChunk::default(), number: 0, out, nodes: 0, arcs: 0 };
        // The encoders borrow the queue, and end when the sink is dropped.
        thread::scope(|scope| {
            for _ in 0..threads.0.max(1) {
                let done = done.clone();
                let lists = &lists;
                scope.spawn(move || encode_all(lists, &done));
            }
            let pushed = push_lists(&mut sink);
            if !sink.lists.degrees.is_empty() {
                sink.send();
            }
            drop(sink);
            pushed
        })?;
        drop(done);
        writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn encode_all(lists: &Mutex<Receiver<ListChunk>>, done: &Sender<(ListChunk, Encoded)>) {
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

/// Files of a graph that is being written.
struct GraphFiles {
    basename: PathBuf,
    graph: BitFile,
    offsets: BitFile,
    chunks: Vec<Chunk>,
    nodes: u64,
    arcs: u64,
}

impl GraphFiles {
    fn create(basename: &Path) -> Result<GraphFiles> {
        let mut offsets = BitFile::create(&basename.with_extension("offsets"))?;
        offsets.bits.gamma(0);
        Ok(GraphFiles {
            basename: basename.to_owned(),
            graph: BitFile::create(&basename.with_extension("graph"))?,
            offsets,
            chunks: Vec::new(),
            nodes: 0,
            arcs: 0,
        })
    }

    /// Writes chunks in order as they arrive.
    fn write_all(mut self, encoded: &Receiver<(ListChunk, Encoded)>) -> Result<()> {
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

    fn write(&mut self, lists: &ListChunk, encoded: &Encoded) -> Result<()> {
        self.chunks.push(Chunk {
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
        let GraphFiles { basename, graph, offsets, chunks, nodes, arcs } = self;
        let bits = graph.length();
        graph.finish()?;
        offsets.finish()?;
        write_chunks(&basename, &chunks)?;
        let of = |count: u64| if count == 0 { 0.0 } else { bits as f64 / count as f64 };
        let properties = format!(
            "#BVGraph properties\n\
             graphclass=it.unimi.dsi.webgraph.BVGraph\nversion=0\nendianness=big\n\
             nodes={nodes}\narcs={arcs}\n\
             windowsize={WINDOW}\nmaxrefcount={MAX_REF_COUNT}\nminintervallength={MIN_INTERVAL_LENGTH}\nzetak={ZETA_K}\n\
             compressionflags=\n\
             bitsperlink={:.3}\nbitspernode={:.3}\n",
            of(arcs),
            of(nodes),
        );
        write_synced(&basename.with_extension("properties"), properties.as_bytes())
    }
}

/// Writes the positions of the chunks, and the checksums of their bytes; adjacent chunks may share a byte.
fn write_chunks(basename: &Path, chunks: &[Chunk]) -> Result<()> {
    let path = basename.with_extension("graph");
    let file = File::open(&path).context("open", &path)?;
    let end = file.metadata().context("read", &path)?.len();
    let mut encoded = Vec::with_capacity(chunks.len() * CHUNK_ENTRY_BYTES);
    let mut bytes = Vec::new();
    for (index, chunk) in chunks.iter().enumerate() {
        let start = chunk.first_bit / 8;
        let end = chunks.get(index + 1).map_or(end, |next| next.first_bit.div_ceil(8));
        bytes.resize((end - start) as usize, 0);
        file.read_exact_at(&mut bytes, start).context("read", &path)?;
        encoded.extend_from_slice(&chunk.first_node.to_le_bytes());
        for number in [chunk.first_arc, chunk.first_bit, xxh3_64(&bytes)] {
            encoded.extend_from_slice(&number.to_le_bytes());
        }
    }
    write_synced(&basename.with_extension("chunks"), &encoded)
}

/// Buffered bits of a file.
struct BitFile {
    path: PathBuf,
    file: File,
    bits: BitWriter,
    written_bytes: u64,
}

impl BitFile {
    fn create(path: &Path) -> Result<BitFile> {
        let file = File::create(path).context("create", path)?;
        Ok(BitFile { path: path.to_owned(), file, bits: BitWriter::default(), written_bytes: 0 })
    }

    /// Length in bits.
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

/// Writes a file and syncs it, so that it survives a power failure.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = File::create(path).context("create", path)?;
    file.write_all(bytes).context("write", path)?;
    file.sync_data().context("sync", path)
}
