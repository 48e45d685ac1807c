//! State that the steps of an analysis share: the arcs, loaded on first use, and the mappings from nodes to page and
//! site ids.

use std::path::Path;
use std::sync::Arc;

use store::{RankColumn, RankTarget, RankValue, Snapshot, write_ranks};

use super::pinned_commit::PinnedCommit;
use crate::error::Result;
use crate::graph::adjacency::Adjacency;
use crate::graph::bv::BvGraph;
use crate::graph::link_graph::{GraphSettings, LinkGraph};

/// Inputs and caches of the steps.
pub(super) struct StepContext<'s> {
    pub(super) collection: &'s Path,
    pub(super) graph: &'s LinkGraph,
    pub(super) settings: GraphSettings,
    commit: &'s PinnedCommit<'s>,
    snapshot: Option<Arc<Snapshot>>,
    forward: Option<Adjacency>,
    backward: Option<Adjacency>,
    /// The node of each page.
    nodes: Option<Vec<u32>>,
    /// The sites in the order of the nodes of the site graph.
    sites: Option<Vec<u32>>,
}

impl<'s> StepContext<'s> {
    pub(super) fn new(
        collection: &'s Path,
        commit: &'s PinnedCommit<'s>,
        graph: &'s LinkGraph,
        settings: GraphSettings,
    ) -> StepContext<'s> {
        StepContext {
            collection,
            graph,
            settings,
            commit,
            snapshot: None,
            forward: None,
            backward: None,
            nodes: None,
            sites: None,
        }
    }

    /// The commit that is analysed.
    pub(super) fn snapshot(&mut self) -> Result<Arc<Snapshot>> {
        let snapshot = match self.snapshot.take() {
            Some(snapshot) => snapshot,
            None => Arc::new(self.commit.open()?),
        };
        self.snapshot = Some(Arc::clone(&snapshot));
        Ok(snapshot)
    }

    /// Frees the memory of the graph, which the steps after the ranks do not need.
    pub(super) fn drop_graph(&mut self) {
        (self.forward, self.backward, self.nodes, self.sites) = (None, None, None, None);
    }

    /// The forward and the transposed arcs.
    pub(super) fn both_directions(&mut self) -> Result<(&Adjacency, &Adjacency)> {
        let StepContext { graph, settings, forward, backward, .. } = self;
        let forward = load_once(forward, settings, || graph.forward())?;
        Ok((forward, load_once(backward, settings, || graph.backward())?))
    }

    pub(super) fn forward(&mut self) -> Result<&Adjacency> {
        load_once(&mut self.forward, &self.settings, || self.graph.forward())
    }

    pub(super) fn backward(&mut self) -> Result<&Adjacency> {
        load_once(&mut self.backward, &self.settings, || self.graph.backward())
    }

    /// Frees the memory of the transposed arcs.
    pub(super) fn drop_backward(&mut self) {
        self.backward = None;
    }

    /// Writes a column of pages from values by node.
    pub(super) fn write_pages<V: RankValue>(
        &mut self,
        name: &str,
        values: impl Fn(usize) -> V,
    ) -> Result<()> {
        let nodes = self.nodes()?.iter().map(|node| values(*node as usize)).collect::<Vec<V>>();
        Ok(write_ranks(self.collection, RankTarget::Pages, name, self.graph.info.generation, nodes)?)
    }

    /// Writes a column of sites from values by node of the site graph.
    pub(super) fn write_sites<V: RankValue + Default>(
        &mut self,
        name: &str,
        values: impl Fn(usize) -> V,
    ) -> Result<()> {
        let sites = match &mut self.sites {
            Some(sites) => sites,
            none => none.insert(self.graph.sites()?),
        };
        let mut column = vec![V::default(); sites.len()];
        for (node, site) in sites.iter().enumerate() {
            column[*site as usize] = values(node);
        }
        Ok(write_ranks(self.collection, RankTarget::Sites, name, self.graph.info.generation, column)?)
    }

    /// Writes a column from values by id.
    pub(super) fn write_column(&self, of: RankTarget, name: &str, values: Vec<u32>) -> Result<()> {
        Ok(write_ranks(self.collection, of, name, self.graph.info.generation, values)?)
    }

    /// Values of a column of pages by node, from the previous analysis; `default` for pages that it did not know.
    pub(super) fn previous_values(&mut self, name: &str, default: f64) -> Result<Option<Vec<f64>>> {
        let Some(column) = RankColumn::<f32>::open(self.collection, RankTarget::Pages, name)? else {
            return Ok(None);
        };
        let values = column.read_all()?;
        let mut by_node = vec![default; self.graph.info.pages as usize];
        for (value, node) in values.iter().zip(self.nodes()?) {
            by_node[*node as usize] = f64::from(*value);
        }
        Ok(Some(by_node))
    }

    fn nodes(&mut self) -> Result<&[u32]> {
        Ok(match &mut self.nodes {
            Some(nodes) => nodes,
            none => none.insert(self.graph.nodes()?),
        })
    }
}

/// Opens arcs on first use, and decompresses them if that takes no more than half of the memory.
fn load_once<'a>(
    arcs: &'a mut Option<Adjacency>,
    settings: &GraphSettings,
    open: impl FnOnce() -> Result<BvGraph>,
) -> Result<&'a Adjacency> {
    Ok(match arcs {
        Some(arcs) => arcs,
        none => none.insert(Adjacency::load(open()?, settings.memory_bytes / 2, settings.threads)?),
    })
}
