//! Neighbours of a page in the link graph: pages that link to it, pages that it links to, and pages with similar links.
//!
//! Results are page ids in ascending order.

use model::LinkRelation;

use crate::error::Result;
use crate::graph::link_graph::LinkGraph;
use crate::similarity::co_citation::similar_by_links;

/// Returns the pages that have this relation to a page; none if the graph does not contain the page. A page is not its
/// own neighbour.
pub fn link_neighbours(graph: &LinkGraph, page: u32, relation: LinkRelation) -> Result<Vec<u32>> {
    let mut pages = match relation {
        LinkRelation::Related => {
            let similar = similar_by_links(graph, page)?.unwrap_or_default();
            similar.into_iter().map(|similar| similar.page).collect()
        }
        LinkRelation::LinksTo | LinkRelation::LinkedFrom => directly_linked(graph, page, relation)?,
    };
    pages.retain(|other| *other != page);
    pages.sort_unstable();
    pages.dedup();
    Ok(pages)
}

fn directly_linked(graph: &LinkGraph, page: u32, relation: LinkRelation) -> Result<Vec<u32>> {
    let nodes = graph.nodes()?;
    let Some(node) = nodes.get(page as usize) else { return Ok(Vec::new()) };
    let arcs = if relation == LinkRelation::LinksTo { graph.backward()? } else { graph.forward()? };
    let nodes = arcs.successors(*node)?;
    let pages = graph.pages()?;
    Ok(nodes.into_iter().map(|node| pages[node as usize]).collect())
}
