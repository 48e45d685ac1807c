//! How often was each thing met? Counts by key: a histogram by category.
//!
//! The number of keys is bounded; what comes after so many is counted together. As long as all keys fit, the result does
//! not depend on the order of what is counted.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// Counts by key.
#[derive(Debug, Clone)]
pub struct Tally<K> {
    counts: HashMap<K, u64>,
    most_keys: usize,
    others: u64,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tallied<K> {
    /// The keys with most first; of equal counts, the smaller key.
    pub counts: Vec<(K, u64)>,
    /// What was met under keys that are not among them.
    pub others: u64,
}

impl<K: Hash + Eq + Ord> Tally<K> {
    /// Keeps no more keys than these.
    pub fn new(most_keys: usize) -> Tally<K> {
        Tally { counts: HashMap::new(), most_keys, others: 0 }
    }

    /// Counts one.
    pub fn add<Q>(&mut self, key: &Q)
    where
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        K: Borrow<Q>,
    {
        self.add_many(key, 1);
    }

    /// Counts several.
    pub fn add_many<Q>(&mut self, key: &Q, count: u64)
    where
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        K: Borrow<Q>,
    {
        // Nearly all keys were met before: those are not copied.
        match self.counts.get_mut(key) {
            Some(known) => *known += count,
            None => self.insert(key.to_owned(), count),
        }
    }

    /// Counts what another has counted.
    pub fn merge(&mut self, other: Tally<K>) {
        self.others += other.others;
        for (key, count) in other.counts {
            match self.counts.get_mut(&key) {
                Some(known) => *known += count,
                None => self.insert(key, count),
            }
        }
    }

    /// The counts in order.
    pub fn finish(self) -> Tallied<K> {
        let mut counts: Vec<(K, u64)> = self.counts.into_iter().collect();
        counts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Tallied { counts, others: self.others }
    }

    fn insert(&mut self, key: K, count: u64) {
        if self.counts.len() < self.most_keys {
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
        fn counts_are_those_of_the_naive_way(parts in prop::collection::vec(prop::collection::vec(0u8..40, 0..50), 0..5)) {
            let mut naive: BTreeMap<u8, u64> = BTreeMap::new();
            let mut all = Tally::new(100);
            for part in &parts {
                let mut tally = Tally::new(100);
                part.iter().for_each(|key| tally.add(key));
                part.iter().for_each(|key| *naive.entry(*key).or_default() += 1);
                all.merge(tally);
            }
            let found = all.finish();
            prop_assert_eq!(found.others, 0);
            prop_assert!(found.counts.is_sorted_by_key(|(key, count)| (std::cmp::Reverse(*count), *key)));
            prop_assert_eq!(found.counts.into_iter().collect::<BTreeMap<_, _>>(), naive);
        }

        #[test]
        fn nothing_is_lost_beyond_the_bound(keys in prop::collection::vec(0u8..40, 0..200), most in 0usize..10) {
            let (mut first, mut second) = (Tally::new(most), Tally::new(most));
            let (one, two) = keys.split_at(keys.len() / 2);
            one.iter().for_each(|key| first.add(key));
            two.iter().for_each(|key| second.add(key));
            first.merge(second);
            let found = first.finish();
            prop_assert!(found.counts.len() <= most);
            let counted: u64 = found.counts.iter().map(|(_, count)| count).sum();
            prop_assert_eq!(counted + found.others, keys.len() as u64);
        }
    }

    #[test]
    fn texts_are_keys_too() {
        let mut tally: Tally<String> = Tally::new(10);
        ["de", "en", "de"].into_iter().for_each(|word| tally.add(word));
        assert_eq!(tally.finish().counts, [("de".to_owned(), 2), ("en".to_owned(), 1)]);
    }
}
