//! Which are the best? The few with the highest scores, whatever the order in which they come.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// The best so far.
#[derive(Debug, Clone)]
pub struct TopK<T> {
    most: usize,
    /// The worst on top.
    best: BinaryHeap<Reverse<Scored<T>>>,
}

#[derive(Debug, Clone)]
struct Scored<T> {
    score: f64,
    item: T,
}

impl<T: Ord> TopK<T> {
    /// Keeps so many.
    pub fn new(most: usize) -> TopK<T> {
        TopK { most, best: BinaryHeap::new() }
    }

    /// Takes an item if its score is high enough; it is made only then. Of equal scores, the smaller item is better. What
    /// has no number for a score is left out.
    pub fn offer(&mut self, score: f64, item: impl FnOnce() -> T) {
        let worst = self.best.peek().map(|worst| worst.0.score);
        let is_full = self.best.len() >= self.most;
        if score.is_nan() || is_full && worst.is_none_or(|worst| score < worst) {
            return;
        }
        self.best.push(Reverse(Scored { score, item: item() }));
        if self.best.len() > self.most {
            self.best.pop();
        }
    }

    /// Takes what another has kept.
    pub fn merge(&mut self, other: TopK<T>) {
        for Reverse(Scored { score, item }) in other.best {
            self.offer(score, || item);
        }
    }

    /// The best, best first.
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
        fn the_best_are_those_of_a_sort(
            scores in prop::collection::vec(prop_oneof![(0u8..9).prop_map(f64::from), Just(f64::NAN)], 0..80),
            most in 0usize..12,
            cut in 0usize..80,
        ) {
            let (mut first, mut second) = (TopK::new(most), TopK::new(most));
            for (item, score) in scores.iter().enumerate() {
                let top = if item < cut { &mut second } else { &mut first };
                top.offer(*score, || item);
            }
            first.merge(second);
            let mut sorted: Vec<(f64, usize)> =
                scores.iter().enumerate().filter(|(_, score)| !score.is_nan()).map(|(item, score)| (*score, item)).collect();
            sorted.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            sorted.truncate(most);
            prop_assert_eq!(first.finish(), sorted);
        }
    }
}
