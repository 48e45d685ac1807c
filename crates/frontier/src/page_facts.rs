//! What is known about a page before it is visited (again), and what is the most that any page has of it?
//!
//! Facts are raw: counts, ids, ranks as they were computed. Nothing here says whether much is good.

use model::PageId;

use crate::Term;

/// What [`Quality`](crate::Quality) looks at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageFacts {
    /// Which page it is.
    pub page: PageId,
    /// Links away from where its site was entered.
    pub depth: u8,
    /// Its URL looks as if a program made it.
    pub dynamic: bool,
    /// Links to it from known pages.
    pub in_links: u32,
    /// Links to its site from other sites.
    pub site_in_links: u32,
    /// Pages of its site that were not fetched yet.
    pub site_pending: u32,
    /// OPIC: for a page that was not fetched yet the cash it has; else its importance, with what it has passed on.
    pub cash: f32,
    /// How promising its URL is, from 0 to 1.
    pub location: f32,
    /// How well it meets the driving query, from 0 to 1.
    pub relevance: f32,
    /// What an analysis has found, in the order of [`Term::RANKS`]; 0 where that is unknown.
    pub ranks: [f32; Term::RANKS.len()],
}

/// The most that any page of the collection has of each fact, gathered in one scan.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Most {
    pub(crate) depth: u8,
    pub(crate) in_links: u32,
    pub(crate) site_in_links: u32,
    pub(crate) site_pending: u32,
    pub(crate) cash: Spread,
    pub(crate) ranks: [Spread; Term::RANKS.len()],
}

/// The largest of positive numbers that have no unit, and the mean that stands in for one.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Spread {
    pub(crate) most: f32,
    sum: f64,
    count: u64,
}

impl Default for PageFacts {
    /// The first page, of which nothing is known.
    fn default() -> PageFacts {
        PageFacts {
            page: PageId(0),
            depth: 0,
            dynamic: false,
            in_links: 0,
            site_in_links: 0,
            site_pending: 0,
            cash: 0.0,
            location: 0.0,
            relevance: 0.0,
            ranks: [0.0; Term::RANKS.len()],
        }
    }
}

impl Most {
    /// Takes a page into account.
    pub fn see(&mut self, facts: &PageFacts) {
        self.depth = self.depth.max(facts.depth);
        self.in_links = self.in_links.max(facts.in_links);
        self.site_in_links = self.site_in_links.max(facts.site_in_links);
        self.site_pending = self.site_pending.max(facts.site_pending);
        self.cash.see(facts.cash);
        for (spread, rank) in self.ranks.iter_mut().zip(facts.ranks) {
            spread.see(rank);
        }
    }

    /// Takes the pages of another part of the scan into account.
    pub fn merge(&mut self, other: &Most) {
        self.depth = self.depth.max(other.depth);
        self.in_links = self.in_links.max(other.in_links);
        self.site_in_links = self.site_in_links.max(other.site_in_links);
        self.site_pending = self.site_pending.max(other.site_pending);
        self.cash.merge(other.cash);
        for (spread, other) in self.ranks.iter_mut().zip(other.ranks) {
            spread.merge(other);
        }
    }
}

impl Spread {
    fn see(&mut self, value: f32) {
        if value > 0.0 && value.is_finite() {
            self.most = self.most.max(value);
            self.sum += f64::from(value);
            self.count += 1;
        }
    }

    fn merge(&mut self, other: Spread) {
        self.most = self.most.max(other.most);
        self.sum += other.sum;
        self.count += other.count;
    }

    /// The mean of those that have any; 0 if none has.
    pub(crate) fn mean(&self) -> f32 {
        if self.count == 0 { 0.0 } else { (self.sum / self.count as f64) as f32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_scan_add_up() {
        let facts = |number: u32| PageFacts {
            depth: number as u8,
            in_links: 100 - number,
            site_in_links: number * 3 % 7,
            site_pending: number * 5 % 11,
            cash: number as f32,
            ranks: [0.25 * number as f32; 5],
            ..PageFacts::default()
        };
        let of = |numbers: std::ops::Range<u32>| {
            numbers.fold(Most::default(), |mut most, number| {
                most.see(&facts(number));
                most
            })
        };
        let mut parts = of(0..3);
        parts.merge(&of(3..9));
        assert_eq!(parts, of(0..9));
        // The page without cash has no say in the mean.
        assert_eq!((parts.depth, parts.in_links, parts.cash.most, parts.cash.mean()), (8, 100, 8.0, 4.5));
        assert_eq!((parts.site_in_links, parts.site_pending, parts.ranks[4].most), (6, 10, 2.0));
    }

    #[test]
    fn what_is_not_a_number_is_not_seen() {
        let mut most = Most::default();
        for cash in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0] {
            most.see(&PageFacts { cash, ..PageFacts::default() });
        }
        assert_eq!(most, Most::default());
    }
}
