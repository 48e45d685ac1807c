//! Which page links to which, in a form that can be gone through again and again? The graph of a commit, compressed,
//! forward and backward, with its pages in the order of their SURT keys.
//!
//! A node is a page that is known, fetched or not; an arc says that the first page has a link to the second, as of its
//! last parse. Several links of one page to another are one arc, whose weight is theirs together ([`crate::link_weight`]);
//! links to itself are arcs too.
//!
//! ```text
//! DIR/graph/GENERATION/          complete, and never changed but for the notes of steps; another name is unfinished
//!   graph.json                   what it is: an [`About`]
//!   forward.* backward.*         the arcs ([`crate::bv`]); .weights: one byte an arc
//!   pages nodes                  the page of each node, the node of each page
//!   sites site-places            the sites in the order of their hosts; of each node the place of its site there
//!   sites.*                      arcs between different sites, by these places; .weights: arcs between their pages
//!   STEP.note                    what a step of the analysis has found; see [`crate::analyze()`]
//! ```
//!
//! Numbers are u32, little-endian, and XXH3 at the end of the file ([`crate::sealed`]).

mod build;
mod transpose;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use store::Snapshot;

use crate::bv::{BvGraph, write_synced};
use crate::cores::Cores;
use crate::error::{Context, Result, damaged};
use crate::sealed::{SealedReader, read_numbers};
use crate::site_graph::SiteGraph;

const FOLDER: &str = "graph";
const ABOUT: &str = "graph.json";
const UNFINISHED: &str = "unfinished";
const VERSION: u32 = 1;

/// How a graph is built and gone through.
#[derive(Debug, Clone, Copy)]
pub struct GraphSettings {
    /// About so much is taken at once; columns with a few numbers a page come on top.
    pub memory_bytes: u64,
    /// Who works.
    pub cores: Cores,
}

/// What a graph is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Of the form of its files.
    pub version: u32,
    /// The commit it shows.
    pub generation: u64,
    /// Nodes.
    pub pages: u32,
    /// Nodes of the graph of sites.
    pub sites: u32,
    /// Different pairs of pages with a link.
    pub arcs: u64,
    /// Of them, from a page to itself.
    pub self_arcs: u64,
    /// Different pairs of different sites with a link.
    pub site_arcs: u64,
    /// Pages whose links were sorted for it; the others came from the graph before.
    pub sorted_pages: u64,
}

/// The graph of a commit, on disk.
#[derive(Debug)]
pub struct LinkGraph {
    folder: PathBuf,
    /// What it is.
    pub about: About,
}

impl LinkGraph {
    /// The newest graph of a collection, if there is one.
    pub fn newest(collection: &Path) -> Result<Option<LinkGraph>> {
        let mut graphs = graph_folders(collection)?;
        graphs.sort_unstable();
        let Some((_, folder)) = graphs.pop() else { return Ok(None) };
        let path = folder.join(ABOUT);
        let bytes = fs::read(&path).context("read", &path)?;
        let about: About =
            serde_json::from_slice(&bytes).map_err(|error| damaged(&path, error.to_string()))?;
        // One of another version is built anew.
        Ok((about.version == VERSION).then_some(LinkGraph { folder, about }))
    }

    /// Builds the graph of a snapshot. The lists of pages that were not parsed since the last graph are taken from it.
    /// `told` hears how many of all nodes are done.
    pub fn build(
        snapshot: &Snapshot,
        settings: &GraphSettings,
        told: &mut dyn FnMut(BuildStage),
    ) -> Result<LinkGraph> {
        let collection = snapshot.folder();
        let last = LinkGraph::newest(collection)?;
        let generation = snapshot.manifest.generation;
        let last = last.filter(|graph| graph.about.generation < generation);
        let folder = collection.join(FOLDER).join(format!("{generation:010}"));
        let unfinished = folder.with_extension(UNFINISHED);
        remove_if_there(&unfinished)?;
        fs::create_dir_all(&unfinished).context("create", &unfinished)?;
        let about = build::build(snapshot, last.as_ref(), &unfinished, settings, told)?;
        let text =
            serde_json::to_vec_pretty(&about).map_err(|error| damaged(&unfinished, error.to_string()))?;
        write_synced(&unfinished.join(ABOUT), &text)?;
        sync_folder(&unfinished)?;
        remove_if_there(&folder)?;
        fs::rename(&unfinished, &folder).context("rename", &folder)?;
        sync_folder(&collection.join(FOLDER))?;
        for (_, stale) in graph_folders(collection)? {
            if stale != folder {
                remove_if_there(&stale)?;
            }
        }
        Ok(LinkGraph { folder, about })
    }

    /// Where its files are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The arcs.
    pub fn forward(&self) -> Result<BvGraph> {
        self.arcs("forward")
    }

    /// The arcs, turned round.
    pub fn backward(&self) -> Result<BvGraph> {
        self.arcs("backward")
    }

    /// The weights of the arcs in sixteenths, in their order.
    pub fn forward_weights(&self) -> Result<Vec<u8>> {
        self.weights("forward.weights")
    }

    /// The same in the order of the arcs turned round.
    pub fn backward_weights(&self) -> Result<Vec<u8>> {
        self.weights("backward.weights")
    }

    /// The page of each node.
    pub fn pages(&self) -> Result<Vec<u32>> {
        self.numbers("pages", self.about.pages, self.about.pages)
    }

    /// The node of each page.
    pub fn nodes(&self) -> Result<Vec<u32>> {
        self.numbers("nodes", self.about.pages, self.about.pages)
    }

    /// The sites in the order of their hosts: those that the nodes of the graph of sites stand for.
    pub fn sites(&self) -> Result<Vec<u32>> {
        self.numbers("sites", self.about.sites, self.about.sites)
    }

    /// For each node of the graph of pages the node of its site.
    pub fn site_places(&self) -> Result<Vec<u32>> {
        self.numbers("site-places", self.about.pages, self.about.sites)
    }

    /// The graph of sites.
    pub fn site_graph(&self) -> Result<SiteGraph> {
        let path = self.folder.join("sites");
        let graph = SiteGraph::read(&path)?;
        let expected = (self.about.sites, self.about.site_arcs, self.about.site_arcs);
        if (graph.forward.nodes(), graph.forward.arcs(), graph.weights.len() as u64) != expected {
            return Err(damaged(&path, "it has not the sites and links that graph.json tells of"));
        }
        Ok(graph)
    }

    fn arcs(&self, name: &str) -> Result<BvGraph> {
        let graph = BvGraph::open(&self.folder.join(name))?;
        if (graph.nodes(), graph.arcs()) != (self.about.pages, self.about.arcs) {
            return Err(graph.wrong("it has not the nodes and arcs that graph.json tells of"));
        }
        Ok(graph)
    }

    fn weights(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.folder.join(name);
        let weights = SealedReader::open(&path)?.read_all()?;
        if weights.len() as u64 != self.about.arcs {
            return Err(damaged(&path, "it has not a weight for each arc"));
        }
        Ok(weights)
    }

    /// So many numbers below a limit.
    fn numbers(&self, name: &str, count: u32, limit: u32) -> Result<Vec<u32>> {
        let path = self.folder.join(name);
        let numbers = read_numbers(&path)?;
        if numbers.len() != count as usize || numbers.iter().any(|number| *number >= limit) {
            return Err(damaged(&path, format!("it has not {count} numbers below {limit}")));
        }
        Ok(numbers)
    }
}

/// What is being done to a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildStage {
    /// Pages are put in order.
    Ordering,
    /// Links of so many pages have been read.
    Sorting(u64),
    /// Of so many of all nodes the lists are written.
    Writing(u64),
    /// The arcs are turned round, so many nodes so far.
    Turning(u64),
}

/// The finished graphs of a collection, with their generations.
fn graph_folders(collection: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let folder = collection.join(FOLDER);
    let mut found = Vec::new();
    if folder.exists() {
        for entry in fs::read_dir(&folder).context("list", &folder)? {
            let path = entry.context("list", &folder)?.path();
            let generation =
                path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
            found.extend(generation.map(|generation| (generation, path)));
        }
    }
    Ok(found)
}

fn remove_if_there(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).context("remove", folder),
        _ => Ok(()),
    }
}

fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).context("sync", folder)
}
