//! Similarity of pages by links: co-citation (Small, 1973) and bibliographic coupling (Kessler, 1963), with common neighbours weighted by
//! their rarity as in resource allocation (Zhou, Lü and Zhang, 2009). With the neighbours N of pages (their inlinks, or their outlinks)
//! and the degree d of a neighbour in the opposite direction:
//!
//! ```text
//! score(p, q) = c / (√(W(p) · W(q)) + ½)      c = Σ 1/d over N(p) ∩ N(q),  W(p) = Σ 1/d over N(p)
//! ```
//!
//! A page that links to all pages of a site says little about two of them; the constant keeps the score of pages that have only such
//! neighbours in common near 0. W(q) is estimated from the number of neighbours of q and the mean weight of those of p. Of very many
//! links, an even sample is used.

use std::collections::HashMap;

use crate::error::Result;
use crate::graph::bv::BvGraph;
use crate::graph::link_graph::LinkGraph;

/// Maximum number of links of the page that are followed.
const MAX_LINKS: usize = 512;
/// Maximum number of links counted at each page on the other end.
const MAX_LINKS_PER_NEIGHBOUR: usize = 1_000;
/// Number of pages with the most common links whose scores are computed.
const MAX_SCORED: usize = 500;
/// Evidence that halves the score of pages with all neighbours in common: one neighbour with two links.
const SHRINKAGE: f64 = 0.5;

/// A page with similar links.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimilarByLinks {
    /// The page.
    pub page: u32,
    /// Kind of similarity.
    pub similarity: LinkSimilarity,
    /// Score from 0 to 1.
    pub score: f32,
    /// Number of pages that link to both, or that both link to; an estimate if there are very many.
    pub common_links: u32,
}

/// Kind of link similarity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkSimilarity {
    /// The same pages link to both.
    CoCitation,
    /// Both link to the same pages.
    Coupling,
}

/// Pages with the most similar links, best first; a page may occur once per kind of similarity. `None` if the graph
/// does not contain the page.
pub fn similar_by_links(graph: &LinkGraph, page: u32) -> Result<Option<Vec<SimilarByLinks>>> {
    let (nodes, pages) = (graph.nodes()?, graph.pages()?);
    let Some(node) = nodes.get(page as usize).copied() else { return Ok(None) };
    let (forward, backward) = (graph.forward()?, graph.backward()?);
    let mut found = neighbours(node, &backward, &forward, LinkSimilarity::CoCitation)?;
    found.extend(neighbours(node, &forward, &backward, LinkSimilarity::Coupling)?);
    found.iter_mut().for_each(|similar| similar.page = pages[similar.page as usize]);
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.page.cmp(&b.page)));
    Ok(Some(found))
}

/// Common neighbours of two nodes.
#[derive(Debug, Clone, Copy, Default)]
struct Common {
    links: u32,
    weight: f64,
}

/// Nodes that have neighbours in common with a node: `there` leads to the common neighbours, `back` from them.
fn neighbours(
    node: u32,
    there: &BvGraph,
    back: &BvGraph,
    similarity: LinkSimilarity,
) -> Result<Vec<SimilarByLinks>> {
    let mut own = there.successors(node)?;
    own.retain(|other| *other != node);
    let own_count = own.len();
    let followed: Vec<u32> = sample_evenly(&own, MAX_LINKS).collect();
    let mut common: HashMap<u32, Common> = HashMap::new();
    let mut own_weight = 0.0;
    back.for_each_of(&followed, |middle, others| {
        let degree = others.iter().filter(|other| **other != middle).count().max(1);
        let weight = 1.0 / degree as f64;
        own_weight += weight;
        let others =
            sample_evenly(others, MAX_LINKS_PER_NEIGHBOUR).filter(|other| *other != node && *other != middle);
        others.for_each(|other| {
            let common = common.entry(other).or_default();
            common.links += 1;
            common.weight += weight;
        });
    })?;
    let mut common: Vec<(u32, Common)> = common.into_iter().collect();
    common.sort_unstable_by(|(a, one), (b, other)| other.weight.total_cmp(&one.weight).then(a.cmp(b)));
    common.truncate(MAX_SCORED);
    common.sort_unstable_by_key(|(other, _)| *other);
    let scale = own_count as f64 / followed.len().max(1) as f64;
    let mean_weight = own_weight / followed.len().max(1) as f64;
    let mut counts = common.iter();
    let mut found = Vec::with_capacity(common.len());
    let scored: Vec<u32> = common.iter().map(|(other, _)| *other).collect();
    there.for_each_of(&scored, |page, links| {
        let Some((_, common)) = counts.next() else { return };
        let links = links.iter().filter(|link| **link != page).count();
        let other_weight = (links as f64 * mean_weight).max(common.weight * scale);
        let mean = (own_weight * scale * other_weight).sqrt();
        let score = (common.weight * scale / (mean + SHRINKAGE)).min(1.0) as f32;
        let common_links = (f64::from(common.links) * scale).round() as u32;
        found.push(SimilarByLinks { page, similarity, score, common_links });
    })?;
    Ok(found)
}

/// At most `limit` elements of a list, evenly spaced.
fn sample_evenly(list: &[u32], limit: usize) -> impl Iterator<Item = u32> {
    let count = list.len().min(limit);
    (0..count).map(move |number| list[number * list.len() / count])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_evenly_spaced() {
        assert!(sample_evenly(&[], 3).next().is_none());
        assert!(sample_evenly(&[1, 2, 3], 3).eq([1, 2, 3]));
        assert!(sample_evenly(&(0..10).collect::<Vec<u32>>(), 4).eq([0, 2, 5, 7]));
    }
}
