//! External sort of adjacency lists into the order of their nodes. Lists are sorted in memory; when the memory is full
//! they are written to disk as a run, and the runs are merged. Each page has one list, so lists are never split or
//! joined.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::{Context, Result};

/// Memory of a list without its arcs, and of an arc.
const LIST_BYTES: usize = 12;
const ARC_BYTES: usize = 5;

/// Collects and sorts lists.
pub(crate) struct RunSorter {
    scratch: PathBuf,
    max_bytes: usize,
    lists: Vec<(u32, u32, u32)>,
    targets: Vec<u32>,
    weights: Vec<u8>,
    runs: Vec<PathBuf>,
}

/// Targets and weights of the arcs of a node.
#[derive(Debug, Default)]
pub(crate) struct ArcList {
    pub(crate) targets: Vec<u32>,
    pub(crate) weights: Vec<u8>,
}

impl RunSorter {
    /// Creates a sorter; `scratch` is a directory for the runs that do not fit into `memory_bytes`.
    pub(crate) fn new(scratch: &Path, memory_bytes: u64) -> RunSorter {
        RunSorter {
            scratch: scratch.to_owned(),
            // Offsets into `targets` are u32.
            max_bytes: usize::try_from(memory_bytes).unwrap_or(usize::MAX).min(u32::MAX as usize),
            lists: Vec::new(),
            targets: Vec::new(),
            weights: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Adds the list of a node. Each node is added once.
    pub(crate) fn push(&mut self, node: u32, arcs: &[(u32, u8)]) -> Result<()> {
        self.lists.push((node, self.targets.len() as u32, arcs.len() as u32));
        self.targets.extend(arcs.iter().map(|arc| arc.0));
        self.weights.extend(arcs.iter().map(|arc| arc.1));
        if self.lists.len() * LIST_BYTES + self.targets.len() * ARC_BYTES < self.max_bytes {
            return Ok(());
        }
        let path = self.scratch.join(format!("links-{}", self.runs.len()));
        self.lists.sort_unstable();
        self.write(&path).context("write", &path)?;
        self.runs.push(path);
        self.lists.clear();
        self.targets.clear();
        self.weights.clear();
        Ok(())
    }

    fn write(&self, path: &Path) -> std::io::Result<()> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        for (node, start, length) in &self.lists {
            let arcs = *start as usize..(*start + *length) as usize;
            file.write_all(&node.to_le_bytes())?;
            file.write_all(&length.to_le_bytes())?;
            self.targets[arcs.clone()].iter().try_for_each(|target| file.write_all(&target.to_le_bytes()))?;
            file.write_all(&self.weights[arcs])?;
        }
        file.flush()
    }

    /// Ends the input and starts the merge.
    pub(crate) fn into_merger(mut self) -> Result<RunMerger> {
        self.lists.sort_unstable();
        let mut streams = Vec::new();
        for path in &self.runs {
            let file = File::open(path).context("open", path)?;
            let file = BufReader::with_capacity(1 << 18, file);
            let mut stream = RunReader { file, path: path.clone(), node: None, length: 0 };
            stream.advance()?;
            streams.push(stream);
        }
        Ok(RunMerger { runs: self, next: 0, streams })
    }
}

/// Iterator over all lists in the order of their nodes.
pub(crate) struct RunMerger {
    runs: RunSorter,
    /// Index of the next list in memory.
    next: usize,
    streams: Vec<RunReader>,
}

struct RunReader {
    file: BufReader<File>,
    path: PathBuf,
    /// Node of the next list; none at the end.
    node: Option<u32>,
    length: u32,
}

impl RunMerger {
    /// The node whose list comes next.
    pub(crate) fn node(&self) -> Option<u32> {
        let in_memory = self.runs.lists.get(self.next).map(|list| list.0);
        self.streams.iter().filter_map(|stream| stream.node).chain(in_memory).min()
    }

    /// Replaces the content of `out` by the next list.
    pub(crate) fn next(&mut self, out: &mut ArcList) -> Result<()> {
        out.targets.clear();
        out.weights.clear();
        let Some(node) = self.node() else { return Ok(()) };
        if let Some((_, start, length)) = self.runs.lists.get(self.next).filter(|list| list.0 == node) {
            let arcs = *start as usize..(*start + *length) as usize;
            out.targets.extend_from_slice(&self.runs.targets[arcs.clone()]);
            out.weights.extend_from_slice(&self.runs.weights[arcs]);
            self.next += 1;
            return Ok(());
        }
        match self.streams.iter_mut().find(|stream| stream.node == Some(node)) {
            Some(stream) => stream.read(out),
            None => Ok(()),
        }
    }
}

impl RunReader {
    fn read(&mut self, out: &mut ArcList) -> Result<()> {
        let mut bytes = vec![0; self.length as usize * 4];
        self.file.read_exact(&mut bytes).context("read", &self.path)?;
        out.targets.extend(bytes.as_chunks().0.iter().map(|target| u32::from_le_bytes(*target)));
        out.weights.resize(self.length as usize, 0);
        self.file.read_exact(&mut out.weights).context("read", &self.path)?;
        self.advance()
    }

    /// Reads the node of the next list.
    fn advance(&mut self) -> Result<()> {
        let mut head = [0; 8];
        self.node = match self.file.read_exact(&mut head) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => None,
            result => {
                result.context("read", &self.path)?;
                let [node, length] =
                    [[head[0], head[1], head[2], head[3]], [head[4], head[5], head[6], head[7]]];
                self.length = u32::from_le_bytes(length);
                Some(u32::from_le_bytes(node))
            }
        };
        Ok(())
    }
}
