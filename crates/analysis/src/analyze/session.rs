//! What do the steps of an analysis share? The arcs, which are unpacked when first wanted, and the ways from nodes to ids.

use std::path::Path;
use std::sync::Arc;

use store::{RankColumn, RankValue, Ranked, Snapshot, write_ranks};

use super::held::Held;
use crate::arcs::Arcs;
use crate::bv::BvGraph;
use crate::error::Result;
use crate::link_graph::{GraphSettings, LinkGraph};

pub(super) struct Session<'s> {
    pub(super) collection: &'s Path,
    pub(super) graph: &'s LinkGraph,
    pub(super) settings: GraphSettings,
    held: &'s Held<'s>,
    snapshot: Option<Arc<Snapshot>>,
    forward: Option<Arcs>,
    backward: Option<Arcs>,
    /// The node of each page.
    nodes: Option<Vec<u32>>,
    /// The sites in the order of the graph of sites.
    sites: Option<Vec<u32>>,
}

impl<'s> Session<'s> {
    pub(super) fn new(
        collection: &'s Path,
        held: &'s Held<'s>,
        graph: &'s LinkGraph,
        settings: GraphSettings,
    ) -> Session<'s> {
        Session {
            collection,
            graph,
            settings,
            held,
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
            None => Arc::new(self.held.open()?),
        };
        self.snapshot = Some(Arc::clone(&snapshot));
        Ok(snapshot)
    }

    /// Gives the memory of the graph back, which the steps after the ranks do not need.
    pub(super) fn drop_graph(&mut self) {
        (self.forward, self.backward, self.nodes, self.sites) = (None, None, None, None);
    }

    /// The arcs, and the same turned round.
    pub(super) fn arcs(&mut self) -> Result<(&Arcs, &Arcs)> {
        let Session { graph, settings, forward, backward, .. } = self;
        let forward = unpacked(forward, settings, || graph.forward())?;
        Ok((forward, unpacked(backward, settings, || graph.backward())?))
    }

    pub(super) fn forward(&mut self) -> Result<&Arcs> {
        unpacked(&mut self.forward, &self.settings, || self.graph.forward())
    }

    pub(super) fn backward(&mut self) -> Result<&Arcs> {
        unpacked(&mut self.backward, &self.settings, || self.graph.backward())
    }

    /// Gives the memory of the arcs that were turned round back.
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
        Ok(write_ranks(self.collection, Ranked::Pages, name, self.graph.about.generation, nodes)?)
    }

    /// Writes a column of sites from values by their places.
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
        for (place, site) in sites.iter().enumerate() {
            column[*site as usize] = values(place);
        }
        Ok(write_ranks(self.collection, Ranked::Sites, name, self.graph.about.generation, column)?)
    }

    /// Writes a column from values by id.
    pub(super) fn write_column(&self, of: Ranked, name: &str, values: Vec<u32>) -> Result<()> {
        Ok(write_ranks(self.collection, of, name, self.graph.about.generation, values)?)
    }

    /// The values of a column of pages by node, as the last analysis left them; `new` for pages that it did not know.
    pub(super) fn last_pages(&mut self, name: &str, new: f64) -> Result<Option<Vec<f64>>> {
        let Some(column) = RankColumn::<f32>::open(self.collection, Ranked::Pages, name)? else {
            return Ok(None);
        };
        let values = column.read_all()?;
        let mut by_node = vec![new; self.graph.about.pages as usize];
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

/// Unpacks arcs when they are first wanted, if that takes no more than half the memory.
fn unpacked<'a>(
    arcs: &'a mut Option<Arcs>,
    settings: &GraphSettings,
    open: impl FnOnce() -> Result<BvGraph>,
) -> Result<&'a Arcs> {
    Ok(match arcs {
        Some(arcs) => arcs,
        none => none.insert(Arcs::of(open()?, settings.memory_bytes / 2, settings.cores)?),
    })
}
