//! How do the links of pages get into the order of nodes? The lists of some pages are put in order in memory; when it is
//! full they become a run on disk, and runs are merged. Every page has one list, so a list is never cut or joined.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::{Context, Result};

/// What a list takes beside its arcs, and an arc takes.
const LIST_BYTES: usize = 12;
const ARC_BYTES: usize = 5;

/// Collects lists.
pub(crate) struct LinkRuns {
    scratch: PathBuf,
    limit_bytes: usize,
    lists: Vec<(u32, u32, u32)>,
    targets: Vec<u32>,
    weights: Vec<u8>,
    runs: Vec<PathBuf>,
}

/// The targets of a node and the weights of the arcs.
#[derive(Debug, Default)]
pub(crate) struct List {
    pub(crate) targets: Vec<u32>,
    pub(crate) weights: Vec<u8>,
}

impl LinkRuns {
    /// Begins; `scratch` is a folder for what does not fit into so much memory.
    pub(crate) fn new(scratch: &Path, memory_bytes: u64) -> LinkRuns {
        LinkRuns {
            scratch: scratch.to_owned(),
            limit_bytes: usize::try_from(memory_bytes).unwrap_or(usize::MAX).min(u32::MAX as usize),
            lists: Vec::new(),
            targets: Vec::new(),
            weights: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Adds the list of a node, which comes once.
    pub(crate) fn push(&mut self, node: u32, arcs: &[(u32, u8)]) -> Result<()> {
        self.lists.push((node, self.targets.len() as u32, arcs.len() as u32));
        self.targets.extend(arcs.iter().map(|arc| arc.0));
        self.weights.extend(arcs.iter().map(|arc| arc.1));
        if self.lists.len() * LIST_BYTES + self.targets.len() * ARC_BYTES < self.limit_bytes {
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

    /// Ends; the lists can be had in the order of their nodes.
    pub(crate) fn merged(mut self) -> Result<MergedLinks> {
        self.lists.sort_unstable();
        let mut streams = Vec::new();
        for path in &self.runs {
            let file = File::open(path).context("open", path)?;
            let file = BufReader::with_capacity(1 << 18, file);
            let mut stream = Stream { file, path: path.clone(), node: None, length: 0 };
            stream.advance()?;
            streams.push(stream);
        }
        Ok(MergedLinks { runs: self, next: 0, streams })
    }
}

/// All lists, in the order of their nodes.
pub(crate) struct MergedLinks {
    runs: LinkRuns,
    /// Of the lists in memory.
    next: usize,
    streams: Vec<Stream>,
}

struct Stream {
    file: BufReader<File>,
    path: PathBuf,
    /// Whose list comes next; none at the end.
    node: Option<u32>,
    length: u32,
}

impl MergedLinks {
    /// The node whose list comes next.
    pub(crate) fn node(&self) -> Option<u32> {
        let in_memory = self.runs.lists.get(self.next).map(|list| list.0);
        self.streams.iter().filter_map(|stream| stream.node).chain(in_memory).min()
    }

    /// Replaces the content of `out` by the next list.
    pub(crate) fn next(&mut self, out: &mut List) -> Result<()> {
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

impl Stream {
    fn read(&mut self, out: &mut List) -> Result<()> {
        let mut bytes = vec![0; self.length as usize * 4];
        self.file.read_exact(&mut bytes).context("read", &self.path)?;
        out.targets.extend(bytes.as_chunks().0.iter().map(|target| u32::from_le_bytes(*target)));
        out.weights.resize(self.length as usize, 0);
        self.file.read_exact(&mut out.weights).context("read", &self.path)?;
        self.advance()
    }

    /// Reads whose list comes next.
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
