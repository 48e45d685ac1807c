//! How important is each page? PageRank (Brin and Page 1998) over all links that truth tells, as the fixed point to
//! measure a crawler's or a ranking's own figures against.
//!
//! Every link to a page counts, as often as it stands there, nofollow or not; links to hosts, ports and traps without
//! pages do not. Pages without links that count (redirects and files among them) lead everywhere alike. Links are made
//! anew in each step instead of being kept, so memory is 16 bytes a page and no more; time is that of making every
//! page's links some hundred times.

use crate::page::PageRef;
use crate::world::World;

/// The chance that a reader follows a link.
const DAMPING: f64 = 0.85;
/// The change of all ranks together at which they are taken for final.
const ENOUGH: f64 = 1e-10;
/// 0.85^200 is far below that: never reached but by rounding.
const STEPS_LIMIT: u32 = 200;

/// The rank of every page; all together are 1.
#[derive(Clone, Debug)]
pub struct PageRanks {
    ranks: Vec<f64>,
    /// Where the pages of each site begin.
    first: Vec<usize>,
}

impl PageRanks {
    /// The rank of a page; 0 for one that does not exist.
    pub fn of(&self, page: PageRef) -> f64 {
        let place = self.first.get(page.site as usize).map(|first| first + page.page as usize);
        let end = self.first.get(page.site as usize + 1).copied().unwrap_or(self.ranks.len());
        place.filter(|&place| place < end).map_or(0.0, |place| self.ranks[place])
    }

    /// One step of the power iteration: the ranks that `self` gives to the pages it links to.
    fn step(&self, world: &World, next: &mut [f64]) {
        next.fill(0.0);
        let (mut dangling, mut targets) = (0.0, Vec::new());
        for site in world.site_indexes().map(|index| world.site(index)) {
            for index in 0..site.pages {
                let rank = self.of(PageRef { site: site.index, page: index });
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
    /// The PageRank of every page, isolated ones included: damping 0.85, by power iteration from equal ranks.
    pub fn page_ranks(&self) -> PageRanks {
        let (mut first, mut pages) = (Vec::new(), 0);
        for index in self.site_indexes() {
            first.push(pages);
            pages += self.site(index).pages as usize;
        }
        let mut now = PageRanks { ranks: vec![1.0 / pages as f64; pages], first };
        let mut next = vec![0.0; pages];
        for _ in 0..STEPS_LIMIT {
            now.step(self, &mut next);
            std::mem::swap(&mut now.ranks, &mut next);
            let change: f64 = now.ranks.iter().zip(&next).map(|(new, old)| (new - old).abs()).sum();
            if change < ENOUGH {
                break;
            }
        }
        now
    }
}
