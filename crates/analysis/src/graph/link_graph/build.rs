//! Construction of a graph from the link log. New lists are sorted into the order of the nodes, and merged with the
//! lists of the previous graph, which already have that order.

use std::fs;
use std::path::Path;

use model::PageId;
use store::{Link, Snapshot};

use super::files::write_list;
use super::transpose::transpose;
use super::{
    BuildStage, GRAPH_DIR, GraphInfo, GraphSettings, INFO_FILE, LinkGraph, UNFINISHED, VERSION, graph_dirs,
    remove_dir_if_exists, sync_dir,
};
use crate::error::{Context, Result, corrupt};
use crate::graph::bv::{BvSink, write_bv, write_synced};
use crate::graph::checksummed_file::{ChecksummedReader, ChecksummedWriter, write_u32s};
use crate::graph::link_weight::LinkWeigher;
use crate::graph::node_order::{NodeOrder, node_order};
use crate::graph::site_graph::SiteLinkCounter;
use crate::graph::sorted_runs::{ArcList, RunMerger, RunSorter};

/// Pages between two progress reports.
const PROGRESS_INTERVAL_PAGES: u64 = 1 << 16;

impl LinkGraph {
    /// Builds the graph of a snapshot. The lists of pages that were not parsed since the previous graph are copied from
    /// it.
    pub fn build(
        snapshot: &Snapshot,
        settings: &GraphSettings,
        on_progress: &mut dyn FnMut(BuildStage),
    ) -> Result<LinkGraph> {
        let collection = snapshot.dir();
        let previous = LinkGraph::newest(collection)?;
        let generation = snapshot.manifest.generation;
        // A graph can only be extended to a later commit.
        let previous = previous.filter(|graph| graph.info.generation < generation);
        let dir = collection.join(GRAPH_DIR).join(format!("{generation:010}"));
        let unfinished = dir.with_extension(UNFINISHED);
        remove_dir_if_exists(&unfinished)?;
        fs::create_dir_all(&unfinished).context("create", &unfinished)?;
        let info = write_files(snapshot, previous.as_ref(), &unfinished, settings, on_progress)?;
        let text =
            serde_json::to_vec_pretty(&info).map_err(|error| corrupt(&unfinished, error.to_string()))?;
        // Files are synced before the rename, and the parent after it: a directory with a plain number is complete.
        write_synced(&unfinished.join(INFO_FILE), &text)?;
        write_list(collection, &unfinished, generation)?;
        sync_dir(&unfinished)?;
        remove_dir_if_exists(&dir)?;
        fs::rename(&unfinished, &dir).context("rename", &dir)?;
        sync_dir(&collection.join(GRAPH_DIR))?;
        for (_, stale) in graph_dirs(collection)? {
            if stale != dir {
                remove_dir_if_exists(&stale)?;
            }
        }
        Ok(LinkGraph { dir, info })
    }
}

/// Writes all files of the graph except its description.
fn write_files(
    snapshot: &Snapshot,
    previous: Option<&LinkGraph>,
    dir: &Path,
    settings: &GraphSettings,
    on_progress: &mut dyn FnMut(BuildStage),
) -> Result<GraphInfo> {
    on_progress(BuildStage::Ordering);
    let scratch = dir.join("scratch");
    fs::create_dir(&scratch).context("create", &scratch)?;
    let order = node_order(&snapshot.urls, &scratch, settings.memory_bytes / 2, settings.threads)?;
    let nodes = node_of_page(&order);
    let (links, changed, sorted_pages) =
        new_links(snapshot, previous, &scratch, settings, &nodes, on_progress)?;
    let pages = PageOrder { previous, order: &order, nodes: &nodes, changed: &changed };
    let totals = write_forward(&pages, links, dir, settings, on_progress)?;
    fs::remove_dir_all(&scratch).context("remove", &scratch)?;
    write_u32s(&dir.join("pages"), &order.pages)?;
    write_u32s(&dir.join("nodes"), &nodes)?;
    write_u32s(&dir.join("sites"), &order.sites)?;
    write_u32s(&dir.join("site-nodes"), &order.site_nodes)?;
    let site_graph = totals.site_links.finish(order.sites.len() as u32);
    site_graph.write(&dir.join("sites"), settings.threads)?;
    let info = GraphInfo {
        version: VERSION,
        generation: snapshot.manifest.generation,
        pages: order.pages.len() as u32,
        sites: order.sites.len() as u32,
        arcs: totals.arcs,
        site_arcs: site_graph.forward.arcs(),
        sorted_pages,
    };
    // The transposition needs the memory.
    drop((order, nodes));
    transpose(dir, &totals.in_degrees, settings, on_progress)?;
    Ok(info)
}

fn node_of_page(order: &NodeOrder) -> Vec<u32> {
    let mut nodes = vec![0; order.pages.len()];
    for (node, page) in (0..).zip(&order.pages) {
        nodes[*page as usize] = node;
    }
    nodes
}

/// Reads the lists of the pages that were parsed since the previous graph. Returns them in the order of nodes, which
/// nodes they belong to, and their number.
fn new_links(
    snapshot: &Snapshot,
    previous: Option<&LinkGraph>,
    scratch: &Path,
    settings: &GraphSettings,
    nodes: &[u32],
    on_progress: &mut dyn FnMut(BuildStage),
) -> Result<(RunMerger, Vec<bool>, u64)> {
    let mut runs = RunSorter::new(scratch, settings.memory_bytes / 2);
    let mut changed = vec![false; nodes.len()];
    let mut pages = 0u64;
    let mut arcs = Vec::new();
    let mut failed = None;
    let since = previous.map_or(0, |graph| graph.info.generation);
    snapshot.links.for_each_since(since, |source, links| {
        // An unknown page is corruption of the link log; `weir check` reports it.
        let Some(&node) = nodes.get(source.index()) else { return Ok(()) };
        arcs_of_page(source, links, nodes, &mut arcs);
        changed[node as usize] = true;
        if let Err(error) = runs.push(node, &arcs) {
            failed.get_or_insert(error);
        }
        pages += 1;
        if pages.is_multiple_of(PROGRESS_INTERVAL_PAGES) {
            on_progress(BuildStage::ReadingLinks(pages));
        }
        Ok(())
    })?;
    failed.map_or(Ok(()), Err)?;
    Ok((runs.into_merger()?, changed, pages))
}

/// Arcs of a page, ascending; several links to one page are one arc, and links to itself none.
fn arcs_of_page(source: PageId, links: &[Link], nodes: &[u32], arcs: &mut Vec<(u32, u8)>) {
    arcs.clear();
    let weigher = LinkWeigher::from_links(links);
    let arc = |link: &Link| Some((*nodes.get(link.target.index())?, weigher.weigh(link)));
    arcs.extend(links.iter().filter(|link| link.target != source).filter_map(arc));
    arcs.sort_unstable();
    arcs.dedup_by(|again, kept| {
        let same = again.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(again.1);
        }
        same
    });
}

/// Totals that are collected while the lists are written.
struct ForwardTotals {
    in_degrees: Vec<u32>,
    site_links: SiteLinkCounter,
    arcs: u64,
}

/// Order and state of the pages.
struct PageOrder<'p> {
    /// The graph with the lists of unchanged pages.
    previous: Option<&'p LinkGraph>,
    order: &'p NodeOrder,
    /// Node of each page.
    nodes: &'p [u32],
    /// Whether each node has a new list.
    changed: &'p [bool],
}

fn write_forward(
    pages: &PageOrder<'_>,
    links: RunMerger,
    dir: &Path,
    settings: &GraphSettings,
    on_progress: &mut dyn FnMut(BuildStage),
) -> Result<ForwardTotals> {
    let mut weights = ChecksummedWriter::create(&dir.join("forward.weights"))?;
    let mut totals =
        ForwardTotals { in_degrees: vec![0; pages.nodes.len()], site_links: SiteLinkCounter::new(), arcs: 0 };
    write_bv(&dir.join("forward"), settings.threads, |sink| {
        let mut writer = ForwardWriter {
            sink,
            weights: &mut weights,
            totals: &mut totals,
            pages,
            links,
            next: 0,
            on_progress,
        };
        if let Some(previous) = pages.previous {
            writer.merge(previous)?;
        }
        writer.write_new_lists_before(pages.nodes.len() as u32)
    })?;
    weights.finish()?;
    Ok(totals)
}

/// Writes the lists in the order of nodes.
struct ForwardWriter<'w, 's> {
    sink: &'w mut BvSink,
    weights: &'w mut ChecksummedWriter,
    totals: &'w mut ForwardTotals,
    pages: &'w PageOrder<'w>,
    links: RunMerger,
    /// Node of the next list.
    next: u32,
    on_progress: &'w mut (dyn FnMut(BuildStage) + 's),
}

impl ForwardWriter<'_, '_> {
    /// Writes the lists of the previous graph, with the new ones in between. Old pages keep their relative order.
    fn merge(&mut self, previous: &LinkGraph) -> Result<()> {
        let PageOrder { nodes, changed, .. } = self.pages;
        let old_pages = previous.pages()?;
        let mut old_weights = ChecksummedReader::open(&previous.dir.join("forward.weights"))?;
        let new_node = |old: u32| nodes[old_pages[old as usize] as usize];
        let mut list = ArcList::default();
        previous.forward()?.for_each(|old, successors| {
            list.weights.resize(successors.len(), 0);
            if !successors.is_empty() {
                old_weights.read(&mut list.weights)?;
            }
            let node = new_node(old);
            self.write_new_lists_before(node)?;
            if changed[node as usize] {
                return Ok(());
            }
            list.targets.clear();
            list.targets.extend(successors.iter().map(|to| new_node(*to)));
            self.push(&list)
        })
    }

    /// Writes the new lists of the nodes before `end`; a node without a list has no links.
    fn write_new_lists_before(&mut self, end: u32) -> Result<()> {
        let mut list = ArcList::default();
        while self.next < end {
            if self.links.node() == Some(self.next) {
                self.links.next(&mut list)?;
            } else {
                list.targets.clear();
                list.weights.clear();
            }
            self.push(&list)?;
        }
        Ok(())
    }

    fn push(&mut self, list: &ArcList) -> Result<()> {
        let ForwardTotals { in_degrees, site_links, arcs } = &mut *self.totals;
        let NodeOrder { site_nodes, hosts, .. } = self.pages.order;
        let site = site_nodes[self.next as usize];
        site_links.start_host(hosts[site as usize]);
        for target in &list.targets {
            in_degrees[*target as usize] += 1;
            let to = site_nodes[*target as usize];
            if to != site {
                site_links.add(site, to);
            }
        }
        *arcs += list.targets.len() as u64;
        self.sink.push(&list.targets);
        self.weights.push(&list.weights)?;
        self.next += 1;
        if u64::from(self.next).is_multiple_of(PROGRESS_INTERVAL_PAGES) {
            (self.on_progress)(BuildStage::WritingForward(u64::from(self.next)));
        }
        Ok(())
    }
}
