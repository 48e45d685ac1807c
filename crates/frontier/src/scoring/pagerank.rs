//! PageRank over links that can only be read sequentially.
//!
//! Algorithm 1 of WIRE: every iteration reads the links in file order, source by source; only two numbers per page are in
//! memory. With q = 0.15 and N pages,
//!
//! PR_p = q/N + (1 − q)·Σ PR_source / (links of the source),
//!
//! normalised to a sum of 1. Pages without links distribute their rank to all pages. The iteration stops when the sum of
//! changes falls below 1e-9, or after 100 iterations, when at most 0.85^100 = 1e-7 of the rank can still move.
//!
//! This module reads no files: the caller supplies each pass over the links.

use model::PageId;

/// Probability q of a jump to a random page.
pub const TELEPORT_PROBABILITY: f64 = 0.15;
const CONVERGENCE_THRESHOLD: f64 = 1e-9;
const MAX_ITERATIONS: u32 = 100;

/// Computes the PageRank of pages 0 to `pages` − 1.
///
/// `pass` calls its argument once for every page that has links, with the pages linked to; a target listed twice gets two
/// shares. Links of a page to itself, and to pages outside the range, are ignored.
pub fn streaming_pagerank<E>(
    pages: usize,
    mut pass: impl FnMut(&mut dyn FnMut(PageId, &[PageId])) -> Result<(), E>,
) -> Result<Vec<f64>, E> {
    let mut ranks = vec![1.0 / pages as f64; pages];
    let mut received = vec![0.0; pages];
    for _ in 0..MAX_ITERATIONS {
        received.fill(0.0);
        pass(&mut |source, targets| distribute(&ranks, &mut received, source, targets))?;
        if update_ranks(&mut ranks, &received) < CONVERGENCE_THRESHOLD {
            break;
        }
    }
    Ok(ranks)
}

fn distribute(ranks: &[f64], received: &mut [f64], source: PageId, targets: &[PageId]) {
    let Some(rank) = ranks.get(source.index()) else { return };
    let others = targets.iter().filter(|target| **target != source);
    let known = others.clone().filter(|target| target.index() < received.len()).count();
    let share = rank / known as f64;
    for target in others {
        if let Some(received) = received.get_mut(target.index()) {
            *received += share;
        }
    }
}

/// Computes the new ranks from the received shares; returns the sum of absolute changes.
fn update_ranks(ranks: &mut [f64], received: &[f64]) -> f64 {
    // The rank that was not received is that of pages without links; it goes to all pages.
    let missing = (1.0 - received.iter().sum::<f64>()).max(0.0);
    let base = (TELEPORT_PROBABILITY + (1.0 - TELEPORT_PROBABILITY) * missing) / ranks.len() as f64;
    let new = |received: &f64| base + (1.0 - TELEPORT_PROBABILITY) * received;
    let sum: f64 = received.iter().map(new).sum();
    let mut change = 0.0;
    for (rank, received) in ranks.iter_mut().zip(received) {
        let new = new(received) / sum;
        change += (new - *rank).abs();
        *rank = new;
    }
    change
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::test_rng::TestRng;

    fn ranks(links: &[Vec<u32>]) -> Vec<f64> {
        let links: Vec<Vec<PageId>> =
            links.iter().map(|targets| targets.iter().copied().map(PageId).collect()).collect();
        let pass = |each: &mut dyn FnMut(PageId, &[PageId])| {
            links.iter().enumerate().for_each(|(source, targets)| each(PageId(source as u32), targets));
            Ok::<(), Infallible>(())
        };
        streaming_pagerank(links.len(), pass).unwrap()
    }

    #[test]
    fn ranks_agree_with_networkx() {
        let links = [
            vec![1, 3],
            vec![0, 2, 10],
            vec![1, 5],
            vec![0, 1, 10],
            vec![],
            vec![2],
            vec![1, 3, 9],
            vec![2, 3, 4],
            vec![4, 5, 11],
            vec![],
            vec![1, 5],
            vec![2, 5, 8],
        ];
        // networkx.pagerank(graph, alpha=0.85, tol=1e-14, max_iter=1000)
        let expected = [
            0.096629632,
            0.219363459,
            0.231222540,
            0.065850645,
            0.026555021,
            0.167664164,
            0.015818969,
            0.015818969,
            0.022072980,
            0.020301010,
            0.096629632,
            0.022072980,
        ];
        for (found, expected) in ranks(&links).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-8, "{found} {expected}");
        }
    }

    #[test]
    fn ranks_solve_their_equation() {
        let random = &mut TestRng(7);
        let links: Vec<Vec<u32>> = (0..200)
            .map(|source| {
                let targets = (0..random.below(6)).map(|_| random.below(200).min(random.below(200)) as u32);
                targets.filter(|target| *target != source).collect()
            })
            .collect();
        let ranks = ranks(&links);
        let mut received = [0.0; 200];
        let all_pages: Vec<u32> = (0..200).collect();
        for (rank, targets) in ranks.iter().zip(&links) {
            let targets = if targets.is_empty() { &all_pages } else { targets };
            targets.iter().for_each(|target| received[*target as usize] += rank / targets.len() as f64);
        }
        for (rank, received) in ranks.iter().zip(received) {
            assert!((rank - (0.15 / 200.0 + 0.85 * received)).abs() < 1e-8);
        }
        assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn links_to_unknown_pages_are_ignored() {
        assert_eq!(ranks(&[vec![1, 9], vec![0, u32::MAX]]), ranks(&[vec![1], vec![0]]));
        assert_eq!(
            ranks(&[vec![1, 0, 0], vec![1]]),
            ranks(&[vec![1], vec![]]),
            "nor do links of a page to itself count"
        );
        assert!(ranks(&[]).is_empty());
        let failed = streaming_pagerank(3, |_| Err("no disk"));
        assert_eq!(failed, Err("no disk"));
    }
}
