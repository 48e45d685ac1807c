//! How does the log of links become a graph? New lists are put in the order of the nodes and merged with those of the
//! graph before, which are in that order already.

use std::fs;
use std::path::Path;

use store::{Link, Snapshot};

use super::transpose::transpose;
use super::{About, BuildStage, GraphSettings, LinkGraph, VERSION};
use crate::bv::{BvSink, write_bv};
use crate::error::{Context, Result};
use crate::link_runs::{LinkRuns, List, MergedLinks};
use crate::link_weight::Scales;
use crate::node_order::{NodeOrder, node_order};
use crate::sealed::{SealedReader, SealedWriter, write_numbers};
use crate::site_graph::SiteLinks;

/// Progress is told after so many pages.
const TELL_PAGES: u64 = 1 << 16;

/// Writes all files of the graph but the one that says what it is.
pub(super) fn build(
    snapshot: &Snapshot,
    last: Option<&LinkGraph>,
    folder: &Path,
    settings: &GraphSettings,
    told: &mut dyn FnMut(BuildStage),
) -> Result<About> {
    told(BuildStage::Ordering);
    let scratch = folder.join("scratch");
    fs::create_dir(&scratch).context("create", &scratch)?;
    let order = node_order(&snapshot.urls, &scratch, settings.memory_bytes / 2, settings.cores)?;
    let nodes = node_of_page(&order);
    let (links, changed, sorted_pages) = new_links(snapshot, last, &scratch, settings, &nodes, told)?;
    let pages = Pages { last, order: &order, nodes: &nodes, changed: &changed };
    let written = write_forward(&pages, links, folder, settings, told)?;
    fs::remove_dir_all(&scratch).context("remove", &scratch)?;
    write_numbers(&folder.join("pages"), &order.pages)?;
    write_numbers(&folder.join("nodes"), &nodes)?;
    write_numbers(&folder.join("sites"), &order.sites)?;
    write_numbers(&folder.join("site-places"), &order.site_places)?;
    let site_graph = written.site_links.finish(order.sites.len() as u32);
    site_graph.write(&folder.join("sites"), settings.cores)?;
    let about = About {
        version: VERSION,
        generation: snapshot.manifest.generation,
        pages: order.pages.len() as u32,
        sites: order.sites.len() as u32,
        arcs: written.arcs,
        self_arcs: written.self_arcs,
        site_arcs: site_graph.forward.arcs(),
        sorted_pages,
    };
    drop((order, nodes));
    transpose(folder, &written.in_degrees, settings, told)?;
    Ok(about)
}

fn node_of_page(order: &NodeOrder) -> Vec<u32> {
    let mut nodes = vec![0; order.pages.len()];
    for (node, page) in (0..).zip(&order.pages) {
        nodes[*page as usize] = node;
    }
    nodes
}

/// The lists of pages that were parsed since the last graph, in the order of nodes; which nodes these are; how many.
fn new_links(
    snapshot: &Snapshot,
    last: Option<&LinkGraph>,
    scratch: &Path,
    settings: &GraphSettings,
    nodes: &[u32],
    told: &mut dyn FnMut(BuildStage),
) -> Result<(MergedLinks, Vec<bool>, u64)> {
    let mut runs = LinkRuns::new(scratch, settings.memory_bytes / 2);
    let mut changed = vec![false; nodes.len()];
    let mut pages = 0u64;
    let mut arcs = Vec::new();
    let mut failed = None;
    let since = last.map_or(0, |graph| graph.about.generation);
    snapshot.links.for_each_since(since, |source, links| {
        // What names pages that are not there is damage, which `weir check` tells of.
        let Some(&node) = nodes.get(source.index()) else { return Ok(()) };
        list_of(links, nodes, &mut arcs);
        changed[node as usize] = true;
        if let Err(error) = runs.push(node, &arcs) {
            failed.get_or_insert(error);
        }
        pages += 1;
        if pages.is_multiple_of(TELL_PAGES) {
            told(BuildStage::Sorting(pages));
        }
        Ok(())
    })?;
    failed.map_or(Ok(()), Err)?;
    Ok((runs.merged()?, changed, pages))
}

/// The arcs of a page, ascending; several links to one page are one arc.
fn list_of(links: &[Link], nodes: &[u32], arcs: &mut Vec<(u32, u8)>) {
    arcs.clear();
    let scales = Scales::of(links);
    let arc = |link: &Link| Some((*nodes.get(link.target.index())?, scales.weigh(link)));
    arcs.extend(links.iter().filter_map(arc));
    arcs.sort_unstable();
    arcs.dedup_by(|again, kept| {
        let same = again.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(again.1);
        }
        same
    });
}

/// What was learned while the lists went by.
struct Written {
    in_degrees: Vec<u32>,
    site_links: SiteLinks,
    arcs: u64,
    self_arcs: u64,
}

/// What is known of pages before their lists are written.
struct Pages<'p> {
    /// Where the lists of pages are that have not changed.
    last: Option<&'p LinkGraph>,
    order: &'p NodeOrder,
    /// The node of each page.
    nodes: &'p [u32],
    /// Whether each node has a new list.
    changed: &'p [bool],
}

fn write_forward(
    pages: &Pages<'_>,
    links: MergedLinks,
    folder: &Path,
    settings: &GraphSettings,
    told: &mut dyn FnMut(BuildStage),
) -> Result<Written> {
    let mut weights = SealedWriter::create(&folder.join("forward.weights"))?;
    let mut written = Written {
        in_degrees: vec![0; pages.nodes.len()],
        site_links: SiteLinks::new(),
        arcs: 0,
        self_arcs: 0,
    };
    write_bv(&folder.join("forward"), settings.cores, |sink| {
        let mut writer =
            Writer { sink, weights: &mut weights, written: &mut written, pages, links, next: 0, told };
        if let Some(last) = pages.last {
            writer.merge(last)?;
        }
        writer.new_lists_up_to(pages.nodes.len() as u32)
    })?;
    weights.finish()?;
    Ok(written)
}

/// Brings the lists in the order of nodes.
struct Writer<'w, 's> {
    sink: &'w mut BvSink,
    weights: &'w mut SealedWriter,
    written: &'w mut Written,
    pages: &'w Pages<'w>,
    links: MergedLinks,
    /// The node whose list comes next.
    next: u32,
    told: &'w mut (dyn FnMut(BuildStage) + 's),
}

impl Writer<'_, '_> {
    /// The lists of the last graph, with the new ones among them. The order of old pages among themselves is as it was.
    fn merge(&mut self, last: &LinkGraph) -> Result<()> {
        let Pages { nodes, changed, .. } = self.pages;
        let old_pages = last.pages()?;
        let mut old_weights = SealedReader::open(&last.folder.join("forward.weights"))?;
        let new_node = |old: u32| nodes[old_pages[old as usize] as usize];
        let mut list = List::default();
        last.forward()?.for_each(|old, successors| {
            list.weights.resize(successors.len(), 0);
            if !successors.is_empty() {
                old_weights.read(&mut list.weights)?;
            }
            let node = new_node(old);
            self.new_lists_up_to(node)?;
            if changed[node as usize] {
                return Ok(());
            }
            list.targets.clear();
            list.targets.extend(successors.iter().map(|to| new_node(*to)));
            self.push(&list)
        })
    }

    /// The new lists of nodes below this one; nodes without a list have no links.
    fn new_lists_up_to(&mut self, end: u32) -> Result<()> {
        let mut list = List::default();
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

    fn push(&mut self, list: &List) -> Result<()> {
        let Written { in_degrees, site_links, arcs, self_arcs } = &mut *self.written;
        let NodeOrder { site_places, hosts, .. } = self.pages.order;
        let site = site_places[self.next as usize];
        site_links.enter(hosts[site as usize]);
        for target in &list.targets {
            in_degrees[*target as usize] += 1;
            *self_arcs += u64::from(*target == self.next);
            let to = site_places[*target as usize];
            if to != site {
                site_links.add(site, to);
            }
        }
        *arcs += list.targets.len() as u64;
        self.sink.push(&list.targets);
        self.weights.push(&list.weights)?;
        self.next += 1;
        if u64::from(self.next).is_multiple_of(TELL_PAGES) {
            (self.told)(BuildStage::Writing(u64::from(self.next)));
        }
        Ok(())
    }
}
