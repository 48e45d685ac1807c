//! The link graph of a commit: compressed, forward and transposed, with the pages in the order of their SURT keys.
//!
//! A node is a known page, fetched or not. An arc means that the source page has a link to the target page, as of its
//! last parse. Several links from one page to another are one arc with the sum of their weights
//! ([`crate::graph::link_weight`]). A link of a page to itself is no arc.
//!
//! ```text
//! DIR/graph/GENERATION/          complete; only the results of steps change. A directory with another name is unfinished
//!   info.json                    description of the graph: a [`GraphInfo`]
//!   forward.* backward.*         the arcs ([`crate::graph::bv`]); .weights: one byte per arc
//!   pages nodes                  the page of each node, the node of each page
//!   sites site-nodes             the sites in the order of their hosts; for each node, the position of its site there
//!   sites.*                      arcs between different sites, by these positions; .weights: number of page arcs
//!   STEP.json                    result of a step of the analysis; see [`crate::analyze()`]
//!   FILES                        checksums of all files of the analysis, also of those outside of the directory
//! ```
//!
//! Numbers are u32, little-endian, with XXH3 at the end of the file ([`crate::graph::checksummed_file`]).

mod build;
mod files;
mod transpose;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Context, Result, corrupt};
use crate::graph::bv::BvGraph;
use crate::graph::checksummed_file::{ChecksummedReader, read_u32s};
use crate::graph::site_graph::SiteGraph;
use crate::threads::Threads;

const GRAPH_DIR: &str = "graph";
const INFO_FILE: &str = "info.json";
const UNFINISHED: &str = "unfinished";
/// Maximum size of the description of a graph.
const MAX_INFO_BYTES: u64 = 1 << 20;
/// Version of the file format.
const VERSION: u32 = 4;

/// Resources for building and traversing a graph.
#[derive(Debug, Clone, Copy)]
pub struct GraphSettings {
    /// Memory limit, without columns of a few numbers per page.
    pub memory_bytes: u64,
    /// Number of threads.
    pub threads: Threads,
}

/// Description of a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphInfo {
    /// Version of the file format.
    pub version: u32,
    /// Generation of the commit.
    pub generation: u64,
    /// Number of nodes.
    pub pages: u32,
    /// Number of nodes of the site graph.
    pub sites: u32,
    /// Number of different pairs of linked pages.
    pub arcs: u64,
    /// Number of different pairs of linked sites.
    pub site_arcs: u64,
    /// Number of pages whose links were read from the link log; the lists of the others were copied from the previous
    /// graph.
    pub sorted_pages: u64,
}

/// The graph of a commit on disk.
#[derive(Debug)]
pub struct LinkGraph {
    dir: PathBuf,
    /// Description of the graph.
    pub info: GraphInfo,
}

impl LinkGraph {
    /// Opens the newest graph of a collection, if it has one.
    pub fn newest(collection: &Path) -> Result<Option<LinkGraph>> {
        let mut graphs = graph_dirs(collection)?;
        graphs.sort_unstable();
        let Some((_, dir)) = graphs.pop() else { return Ok(None) };
        let path = dir.join(INFO_FILE);
        let bytes = store::read_limited(&path, MAX_INFO_BYTES).context("read", &path)?;
        let info: GraphInfo =
            serde_json::from_slice(&bytes).map_err(|error| corrupt(&path, error.to_string()))?;
        // A graph of another version is rebuilt.
        Ok((info.version == VERSION).then_some(LinkGraph { dir, info }))
    }

    /// Deletes all graphs of a collection.
    pub(crate) fn remove_all(collection: &Path) -> Result<()> {
        graph_dirs(collection)?.iter().try_for_each(|(_, dir)| remove_dir_if_exists(dir))
    }

    /// Directory of the graph files.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Forward arcs.
    pub fn forward(&self) -> Result<BvGraph> {
        self.arcs("forward")
    }

    /// Transposed arcs.
    pub fn backward(&self) -> Result<BvGraph> {
        self.arcs("backward")
    }

    /// Weights of the forward arcs in sixteenths, in their order.
    pub fn forward_weights(&self) -> Result<Vec<u8>> {
        self.weights("forward.weights")
    }

    /// Weights of the transposed arcs in sixteenths, in their order.
    pub fn backward_weights(&self) -> Result<Vec<u8>> {
        self.weights("backward.weights")
    }

    /// Page of each node.
    pub fn pages(&self) -> Result<Vec<u32>> {
        self.u32s("pages", self.info.pages, self.info.pages)
    }

    /// Node of each page.
    pub fn nodes(&self) -> Result<Vec<u32>> {
        self.u32s("nodes", self.info.pages, self.info.pages)
    }

    /// Sites in the order of their hosts: the nodes of the site graph.
    pub fn sites(&self) -> Result<Vec<u32>> {
        self.u32s("sites", self.info.sites, self.info.sites)
    }

    /// For each node of the page graph, the node of its site.
    pub fn site_nodes(&self) -> Result<Vec<u32>> {
        self.u32s("site-nodes", self.info.pages, self.info.sites)
    }

    /// Graph of sites.
    pub fn site_graph(&self) -> Result<SiteGraph> {
        let path = self.dir.join("sites");
        let graph = SiteGraph::read(&path)?;
        let expected = (self.info.sites, self.info.site_arcs, self.info.site_arcs);
        if (graph.forward.nodes(), graph.forward.arcs(), graph.weights.len() as u64) != expected {
            return Err(corrupt(&path, "the numbers of sites and arcs differ from info.json"));
        }
        Ok(graph)
    }

    fn arcs(&self, name: &str) -> Result<BvGraph> {
        let graph = BvGraph::open(&self.dir.join(name))?;
        if (graph.nodes(), graph.arcs()) != (self.info.pages, self.info.arcs) {
            return Err(graph.corrupt("the numbers of nodes and arcs differ from info.json"));
        }
        Ok(graph)
    }

    fn weights(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.dir.join(name);
        let weights = ChecksummedReader::open(&path)?.read_all()?;
        if weights.len() as u64 != self.info.arcs {
            return Err(corrupt(&path, "the number of weights differs from the number of arcs"));
        }
        Ok(weights)
    }

    /// Reads `count` numbers below `limit`.
    fn u32s(&self, name: &str, count: u32, limit: u32) -> Result<Vec<u32>> {
        let path = self.dir.join(name);
        let values = read_u32s(&path)?;
        if values.len() != count as usize || values.iter().any(|value| *value >= limit) {
            return Err(corrupt(&path, format!("expected {count} numbers below {limit}")));
        }
        Ok(values)
    }
}

/// Stage of the construction of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildStage {
    /// Pages are sorted.
    Ordering,
    /// Links are read; number of pages so far.
    ReadingLinks(u64),
    /// Forward lists are written; number of nodes so far.
    WritingForward(u64),
    /// Transposed lists are written; number of nodes so far.
    WritingTransposed(u64),
}

/// Complete graphs of a collection, with their generations.
fn graph_dirs(collection: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let dir = collection.join(GRAPH_DIR);
    let mut found = Vec::new();
    if dir.exists() {
        for entry in fs::read_dir(&dir).context("list", &dir)? {
            let path = entry.context("list", &dir)?.path();
            let generation =
                path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
            found.extend(generation.map(|generation| (generation, path)));
        }
    }
    Ok(found)
}

fn remove_dir_if_exists(dir: &Path) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).context("remove", dir),
        _ => Ok(()),
    }
}

fn sync_dir(dir: &Path) -> Result<()> {
    File::open(dir).and_then(|dir| dir.sync_all()).context("sync", dir)
}
