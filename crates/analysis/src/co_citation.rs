//! Which pages are like a page, by links alone? Those that the same pages link to, and those that link to the same pages.
//!
//! Co-citation (Small, 1973) and bibliographic coupling (Kessler, 1963). Of in-links I and out-links O:
//!
//! ```text
//! cited together    |I(p) ∩ I(q)| / √(|I(p)| · |I(q)|)
//! linking alike     |O(p) ∩ O(q)| / √(|O(p)| · |O(q)|)
//! ```
//!
//! Of very many links some are looked at, evenly, and stand for all.

use std::collections::HashMap;

use crate::bv::BvGraph;
use crate::error::Result;
use crate::link_graph::LinkGraph;

/// Links of the page itself that are followed.
const MOST_LINKS: usize = 512;
/// Links of each page at their other end that are counted.
const MOST_OF_ONE: usize = 1_000;
/// Pages with most links in common, whose scores are computed.
const MOST_SCORED: usize = 500;

/// A page that is like another by its links.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkedAlike {
    /// The page.
    pub page: u32,
    /// In what way.
    pub way: Alike,
    /// From 0 to 1.
    pub score: f32,
    /// Pages that link to both, or that both link to; about, where there are very many.
    pub common_links: u32,
}

/// How links make pages alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alike {
    /// The same pages link to both.
    CitedTogether,
    /// Both link to the same pages.
    LinkingAlike,
}

/// The pages that are most like a page, the nearest first; a page may come once for each way. `None` if the graph does not
/// know the page.
pub fn linked_alike(graph: &LinkGraph, page: u32) -> Result<Option<Vec<LinkedAlike>>> {
    let (nodes, pages) = (graph.nodes()?, graph.pages()?);
    let Some(node) = nodes.get(page as usize).copied() else { return Ok(None) };
    let (forward, backward) = (graph.forward()?, graph.backward()?);
    let mut found = neighbours(node, &backward, &forward, Alike::CitedTogether)?;
    found.extend(neighbours(node, &forward, &backward, Alike::LinkingAlike)?);
    found.iter_mut().for_each(|alike| alike.page = pages[alike.page as usize]);
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.page.cmp(&b.page)));
    Ok(Some(found))
}

/// Nodes that have neighbours `there` in common with a node, which are found by the way `back`.
fn neighbours(node: u32, there: &BvGraph, back: &BvGraph, way: Alike) -> Result<Vec<LinkedAlike>> {
    let mut own = there.successors(node)?;
    own.retain(|other| *other != node);
    let own_count = own.len();
    let followed: Vec<u32> = evenly(&own, MOST_LINKS).collect();
    let mut common: HashMap<u32, u32> = HashMap::new();
    back.for_each_of(&followed, |middle, others| {
        let others = evenly(others, MOST_OF_ONE).filter(|other| *other != node && *other != middle);
        others.for_each(|other| *common.entry(other).or_default() += 1);
    })?;
    let mut common: Vec<(u32, u32)> = common.into_iter().collect();
    common.sort_unstable_by_key(|(other, count)| (std::cmp::Reverse(*count), *other));
    common.truncate(MOST_SCORED);
    common.sort_unstable();
    let share = own_count as f64 / followed.len().max(1) as f64;
    let mut counts = common.iter();
    let mut found = Vec::with_capacity(common.len());
    let wanted: Vec<u32> = common.iter().map(|(other, _)| *other).collect();
    there.for_each_of(&wanted, |page, links| {
        let Some((_, count)) = counts.next() else { return };
        let links = links.iter().filter(|link| **link != page).count();
        let common_links = f64::from(*count) * share;
        let score = (common_links / (own_count as f64 * links as f64).sqrt()).min(1.0) as f32;
        found.push(LinkedAlike { page, way, score, common_links: common_links.round() as u32 });
    })?;
    Ok(found)
}

/// No more than so many of a list, evenly.
fn evenly(list: &[u32], most: usize) -> impl Iterator<Item = u32> {
    let count = list.len().min(most);
    (0..count).map(move |number| list[number * list.len() / count])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_of_many_lie_evenly_among_all() {
        assert!(evenly(&[], 3).next().is_none());
        assert!(evenly(&[1, 2, 3], 3).eq([1, 2, 3]));
        assert!(evenly(&(0..10).collect::<Vec<u32>>(), 4).eq([0, 2, 5, 7]));
    }
}
