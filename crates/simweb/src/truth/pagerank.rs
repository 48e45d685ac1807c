//! PageRank (Brin and Page 1998) over all links of the ground truth, as a reference for crawlers and rankings.
//!
//! Every link to a page counts, including repeated and nofollow links. Links to missing hosts, closed ports and traps
//! do not count. Pages without counted links (redirects and files) distribute their rank uniformly. Links are
//! computed again in each iteration instead of being stored: memory is 16 bytes per page, time is that of about a
//! hundred passes over all links.

use crate::world::kinds::PageRef;
use crate::world::synthetic_web::World;

/// Damping factor: probability that a reader follows a link.
const DAMPING: f64 = 0.85;
/// Sum of absolute changes below which the iteration stops.
const TOLERANCE: f64 = 1e-10;
/// Maximum number of iterations. 0.85^200 is far below the tolerance, so it is never reached.
const MAX_ITERATIONS: u32 = 200;

/// Ranks of all pages; their sum is 1.
#[derive(Clone, Debug)]
pub struct PageRanks {
    ranks: Vec<f64>,
    /// Index of the first page of each site.
    first: Vec<usize>,
}

impl PageRanks {
    /// Returns the rank of a page; 0 if it does not exist.
    pub fn get(&self, page: PageRef) -> f64 {
        let index = self.first.get(page.site as usize).map(|first| first + page.page as usize);
        let end = self.first.get(page.site as usize + 1).copied().unwrap_or(self.ranks.len());
        index.filter(|&index| index < end).map_or(0.0, |index| self.ranks[index])
    }

    /// One power iteration: computes the ranks that `self` passes on by links.
    fn iterate(&self, world: &World, next: &mut [f64]) {
        next.fill(0.0);
        let (mut dangling, mut targets) = (0.0, Vec::new());
        for site in world.site_indexes().map(|index| world.site(index)) {
            for index in 0..site.pages {
                let rank = self.get(PageRef { site: site.index, page: index });
                let links = world.links(&site, &world.page(&site, index));
                targets.clear();
                targets.extend(links.filter_map(|link| link.target.page(&site)));
                for target in &targets {
                    next[self.first[target.site as usize] + target.page as usize] +=
                        DAMPING * rank / targets.len() as f64;
                }
                if targets.is_empty() {
                    dangling += rank;
                }
            }
        }
        let everywhere = (1.0 - DAMPING + DAMPING * dangling) / next.len() as f64;
        next.iter_mut().for_each(|rank| *rank += everywhere);
    }
}

impl World {
    /// Computes the PageRank of all pages, including isolated ones: damping 0.85, power iteration from uniform ranks.
    pub fn page_ranks(&self) -> PageRanks {
        let (mut first, mut pages) = (Vec::new(), 0);
        for index in self.site_indexes() {
            first.push(pages);
            pages += self.site(index).pages as usize;
        }
        let mut now = PageRanks { ranks: vec![1.0 / pages as f64; pages], first };
        let mut next = vec![0.0; pages];
        for _ in 0..MAX_ITERATIONS {
            now.iterate(self, &mut next);
            std::mem::swap(&mut now.ranks, &mut next);
            let change: f64 = now.ranks.iter().zip(&next).map(|(new, old)| (new - old).abs()).sum();
            if change < TOLERANCE {
                break;
            }
        }
        now
    }
}
