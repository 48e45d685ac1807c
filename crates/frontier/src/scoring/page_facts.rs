//! Facts about a page that its quality is computed from, and their maxima over the collection.
//!
//! Facts are raw values: counts, ids, ranks as computed. [`Quality`](crate::Quality) turns them into scores.

use model::PageId;

use crate::scoring::term::QualityTerm;

/// Input of [`Quality`](crate::Quality) for one page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageFacts {
    /// Id of the page.
    pub page: PageId,
    /// Link distance from the entry page of the site.
    pub depth: u8,
    /// Whether the URL belongs to a dynamic page.
    pub is_dynamic: bool,
    /// Number of links from fetched pages.
    pub inlinks: u32,
    /// Number of links to the site from other sites.
    pub site_inlinks: u32,
    /// Number of pages of the site that were never fetched.
    pub site_unfetched_pages: u32,
    /// OPIC: cash of a page that was never fetched; importance, including distributed cash, of other pages.
    pub cash: f32,
    /// Score of the URL by its keywords, from 0 to 1.
    pub url_score: f32,
    /// Relevance to the topic of a focused crawl, from 0 to 1.
    pub topic_relevance: f32,
    /// Ranks from the link analysis, in the order of [`QualityTerm::RANKS`]; 0 if not computed.
    pub ranks: [f32; QualityTerm::RANKS.len()],
}

/// Maximum of each fact over the pages of a collection, gathered in one scan.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FactMaxima {
    pub(crate) depth: u8,
    pub(crate) inlinks: u32,
    pub(crate) site_inlinks: u32,
    pub(crate) site_unfetched_pages: u32,
    pub(crate) cash: MeanAndMax,
    pub(crate) ranks: [MeanAndMax; QualityTerm::RANKS.len()],
}

/// Maximum and mean of positive values. The mean serves as the unit of values that have none.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct MeanAndMax {
    pub(crate) max: f32,
    sum: f64,
    count: u64,
}

impl Default for PageFacts {
    /// Page 0 without any facts.
    fn default() -> PageFacts {
        PageFacts {
            page: PageId(0),
            depth: 0,
            is_dynamic: false,
            inlinks: 0,
            site_inlinks: 0,
            site_unfetched_pages: 0,
            cash: 0.0,
            url_score: 0.0,
            topic_relevance: 0.0,
            ranks: [0.0; QualityTerm::RANKS.len()],
        }
    }
}

impl FactMaxima {
    /// Includes a page.
    pub fn observe(&mut self, facts: &PageFacts) {
        self.depth = self.depth.max(facts.depth);
        self.inlinks = self.inlinks.max(facts.inlinks);
        self.site_inlinks = self.site_inlinks.max(facts.site_inlinks);
        self.site_unfetched_pages = self.site_unfetched_pages.max(facts.site_unfetched_pages);
        self.cash.observe(facts.cash);
        for (stat, rank) in self.ranks.iter_mut().zip(facts.ranks) {
            stat.observe(rank);
        }
    }

    /// Includes the pages of another part of the scan.
    pub fn merge(&mut self, other: &FactMaxima) {
        self.depth = self.depth.max(other.depth);
        self.inlinks = self.inlinks.max(other.inlinks);
        self.site_inlinks = self.site_inlinks.max(other.site_inlinks);
        self.site_unfetched_pages = self.site_unfetched_pages.max(other.site_unfetched_pages);
        self.cash.merge(other.cash);
        for (stat, other) in self.ranks.iter_mut().zip(other.ranks) {
            stat.merge(other);
        }
    }
}

impl MeanAndMax {
    fn observe(&mut self, value: f32) {
        if value > 0.0 && value.is_finite() {
            self.max = self.max.max(value);
            self.sum += f64::from(value);
            self.count += 1;
        }
    }

    fn merge(&mut self, other: MeanAndMax) {
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.count += other.count;
    }

    /// Mean of the positive values; 0 if there are none.
    pub(crate) fn mean(&self) -> f32 {
        if self.count == 0 { 0.0 } else { (self.sum / self.count as f64) as f32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_scan_merge_to_the_whole() {
        let facts = |index: u32| PageFacts {
            depth: index as u8,
            inlinks: 100 - index,
            site_inlinks: index * 3 % 7,
            site_unfetched_pages: index * 5 % 11,
            cash: index as f32,
            ranks: [0.25 * index as f32; 5],
            ..PageFacts::default()
        };
        let of = |indexes: std::ops::Range<u32>| {
            indexes.fold(FactMaxima::default(), |mut maxima, index| {
                maxima.observe(&facts(index));
                maxima
            })
        };
        let mut parts = of(0..3);
        parts.merge(&of(3..9));
        assert_eq!(parts, of(0..9));
        // The page without cash does not count in the mean.
        assert_eq!((parts.depth, parts.inlinks, parts.cash.max, parts.cash.mean()), (8, 100, 8.0, 4.5));
        assert_eq!((parts.site_inlinks, parts.site_unfetched_pages, parts.ranks[4].max), (6, 10, 2.0));
    }

    #[test]
    fn values_that_are_not_positive_and_finite_are_ignored() {
        let mut maxima = FactMaxima::default();
        for cash in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0] {
            maxima.observe(&PageFacts { cash, ..PageFacts::default() });
        }
        assert_eq!(maxima, FactMaxima::default());
    }
}
