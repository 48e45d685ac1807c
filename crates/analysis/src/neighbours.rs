//! Which pages does a page have links in common with? Those that link to it, those it links to, and those that are like it.
//!
//! This is what a search asks of the graph: answers are page ids in order, never more than the graph has pages.

use model::Neighbours;

use crate::co_citation::linked_alike;
use crate::error::Result;
use crate::link_graph::LinkGraph;

/// The pages that lie so to a page, in the order of their ids; none if the graph does not know the page. A page is not its own
/// neighbour.
pub fn neighbours(graph: &LinkGraph, page: u32, wanted: Neighbours) -> Result<Vec<u32>> {
    let mut found = match wanted {
        Neighbours::Related => {
            let alike = linked_alike(graph, page)?.unwrap_or_default();
            alike.into_iter().map(|alike| alike.page).collect()
        }
        Neighbours::LinksTo | Neighbours::LinkedFrom => linked(graph, page, wanted)?,
    };
    found.retain(|other| *other != page);
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn linked(graph: &LinkGraph, page: u32, wanted: Neighbours) -> Result<Vec<u32>> {
    let nodes = graph.nodes()?;
    let Some(node) = nodes.get(page as usize) else { return Ok(Vec::new()) };
    let arcs = if wanted == Neighbours::LinksTo { graph.backward()? } else { graph.forward()? };
    let found = arcs.successors(*node)?;
    let pages = graph.pages()?;
    Ok(found.into_iter().map(|node| pages[node as usize]).collect())
}
