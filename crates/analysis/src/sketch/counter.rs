//! Counts by key.
//!
//! The number of keys is bounded; further keys are counted together. As long as all keys fit, the result does not
//! depend on the order of the input.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// Counts by key.
#[derive(Debug, Clone)]
pub struct Counter<K> {
    counts: HashMap<K, u64>,
    max_keys: usize,
    others: u64,
}

/// Result of a [`Counter`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts<K> {
    /// Keys by descending count; of equal counts, the smaller key first.
    pub counts: Vec<(K, u64)>,
    /// Number of occurrences of keys that are not listed.
    pub others: u64,
}

impl<K: Hash + Eq + Ord> Counter<K> {
    /// Creates a counter with at most `max_keys` keys.
    pub fn new(max_keys: usize) -> Counter<K> {
        Counter { counts: HashMap::new(), max_keys, others: 0 }
    }

    /// Counts one occurrence.
    pub fn add<Q>(&mut self, key: &Q)
    where
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        K: Borrow<Q>,
    {
        self.add_many(key, 1);
    }

    /// Counts several occurrences.
    pub fn add_many<Q>(&mut self, key: &Q, count: u64)
    where
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        K: Borrow<Q>,
    {
        // Most keys exist already; those are not copied.
        match self.counts.get_mut(key) {
            Some(known) => *known += count,
            None => self.insert(key.to_owned(), count),
        }
    }

    /// Adds the counts of another counter.
    pub fn merge(&mut self, other: Counter<K>) {
        self.others += other.others;
        for (key, count) in other.counts {
            match self.counts.get_mut(&key) {
                Some(known) => *known += count,
                None => self.insert(key, count),
            }
        }
    }

    /// Returns the sorted counts.
    pub fn finish(self) -> Counts<K> {
        let mut counts: Vec<(K, u64)> = self.counts.into_iter().collect();
        counts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Counts { counts, others: self.others }
    }

    fn insert(&mut self, key: K, count: u64) {
        if self.counts.len() < self.max_keys {
            self.counts.insert(key, count);
        } else {
            self.others += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_equal_those_of_a_plain_map(parts in prop::collection::vec(prop::collection::vec(0u8..40, 0..50), 0..5)) {
            let mut naive: BTreeMap<u8, u64> = BTreeMap::new();
            let mut all = Counter::new(100);
            for part in &parts {
                let mut counter = Counter::new(100);
                part.iter().for_each(|key| counter.add(key));
                part.iter().for_each(|key| *naive.entry(*key).or_default() += 1);
                all.merge(counter);
            }
            let found = all.finish();
            prop_assert_eq!(found.others, 0);
            prop_assert!(found.counts.is_sorted_by_key(|(key, count)| (std::cmp::Reverse(*count), *key)));
            prop_assert_eq!(found.counts.into_iter().collect::<BTreeMap<_, _>>(), naive);
        }

        #[test]
        fn keys_beyond_the_limit_are_counted_together(keys in prop::collection::vec(0u8..40, 0..200), limit in 0usize..10) {
            let (mut first, mut second) = (Counter::new(limit), Counter::new(limit));
            let (one, two) = keys.split_at(keys.len() / 2);
            one.iter().for_each(|key| first.add(key));
            two.iter().for_each(|key| second.add(key));
            first.merge(second);
            let found = first.finish();
            prop_assert!(found.counts.len() <= limit);
            let counted: u64 = found.counts.iter().map(|(_, count)| count).sum();
            prop_assert_eq!(counted + found.others, keys.len() as u64);
        }
    }

    #[test]
    fn strings_are_keys() {
        let mut counter: Counter<String> = Counter::new(10);
        ["de", "en", "de"].into_iter().for_each(|language| counter.add(language));
        assert_eq!(counter.finish().counts, [("de".to_owned(), 2), ("en".to_owned(), 1)]);
    }
}
