//! The k items with the highest scores, independent of the order of the input.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// The best items so far.
#[derive(Debug, Clone)]
pub struct TopK<T> {
    limit: usize,
    /// Heap with the worst item on top.
    best: BinaryHeap<Reverse<Scored<T>>>,
}

#[derive(Debug, Clone)]
struct Scored<T> {
    score: f64,
    item: T,
}

impl<T: Ord> TopK<T> {
    /// Creates a collector of at most `limit` items.
    pub fn new(limit: usize) -> TopK<T> {
        TopK { limit, best: BinaryHeap::new() }
    }

    /// Adds an item if its score is high enough; `item` is called only then. Of equal scores, the smaller item is
    /// better. NaN scores are ignored.
    pub fn offer(&mut self, score: f64, item: impl FnOnce() -> T) {
        let worst = self.best.peek().map(|worst| worst.0.score);
        let is_full = self.best.len() >= self.limit;
        if score.is_nan() || is_full && worst.is_none_or(|worst| score < worst) {
            return;
        }
        self.best.push(Reverse(Scored { score, item: item() }));
        if self.best.len() > self.limit {
            self.best.pop();
        }
    }

    /// Adds the items of another collector.
    pub fn merge(&mut self, other: TopK<T>) {
        for Reverse(Scored { score, item }) in other.best {
            self.offer(score, || item);
        }
    }

    /// Returns the items, best first.
    pub fn finish(self) -> Vec<(f64, T)> {
        let best = self.best.into_sorted_vec();
        best.into_iter().map(|Reverse(Scored { score, item })| (score, item)).collect()
    }
}

impl<T: Ord> Ord for Scored<T> {
    fn cmp(&self, other: &Scored<T>) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.item.cmp(&self.item))
    }
}

impl<T: Ord> PartialOrd for Scored<T> {
    fn partial_cmp(&self, other: &Scored<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> PartialEq for Scored<T> {
    fn eq(&self, other: &Scored<T>) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T: Ord> Eq for Scored<T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_best_items_equal_those_of_a_sort(
            scores in prop::collection::vec(prop_oneof![(0u8..9).prop_map(f64::from), Just(f64::NAN)], 0..80),
            limit in 0usize..12,
            cut in 0usize..80,
        ) {
            let (mut first, mut second) = (TopK::new(limit), TopK::new(limit));
            for (item, score) in scores.iter().enumerate() {
                let top = if item < cut { &mut second } else { &mut first };
                top.offer(*score, || item);
            }
            first.merge(second);
            let mut sorted: Vec<(f64, usize)> =
                scores.iter().enumerate().filter(|(_, score)| !score.is_nan()).map(|(item, score)| (*score, item)).collect();
            sorted.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            sorted.truncate(limit);
            prop_assert_eq!(first.finish(), sorted);
        }
    }
}
