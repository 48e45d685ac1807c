//! Which pages became known since the last commit? A few sorted lists in memory know; a commit makes a run of them.

use super::run::{Entry, Wanted, gallop};

/// Entries that no run has yet.
///
/// Each list is more than twice as long as the next, so there are few, and small batches cost little.
#[derive(Debug, Default)]
pub(super) struct Recent {
    lists: Vec<Vec<Entry>>,
}

impl Recent {
    pub(super) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.lists.clear();
    }

    /// Adds entries sorted by hash.
    pub(super) fn add(&mut self, mut entries: Vec<Entry>) {
        while let Some(last) = self.lists.pop_if(|last| last.len() <= 2 * entries.len()) {
            entries.extend(last);
            // The sort finds the two sorted stretches and merges them in one pass.
            entries.sort();
        }
        if !entries.is_empty() {
            self.lists.push(entries);
        }
    }

    /// All entries, sorted by hash.
    pub(super) fn sorted(&self) -> Vec<Entry> {
        let mut all = self.lists.concat();
        all.sort();
        all
    }

    /// Calls `found` for those of the sorted hashes that are here, and leaves the others.
    pub(super) fn look_up(&self, wanted: &mut Vec<Wanted>, found: &mut impl FnMut(Wanted, u32)) {
        for list in &self.lists {
            let mut number = 0;
            wanted.retain(|want| {
                number = gallop(number, list.len(), |number| list[number].hash < want.hash);
                let entry = list.get(number).filter(|entry| entry.hash == want.hash);
                entry.inspect(|entry| found(*want, entry.page)).is_none()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_many_small_batches_are_found_in_few_lists() {
        let mut recent = Recent::default();
        let hash = |page: u32| u64::from(page).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for batch in 0..500_u32 {
            let pages = batch * 3..(batch + 1) * 3;
            let mut entries: Vec<Entry> = pages.map(|page| Entry { hash: hash(page), page }).collect();
            entries.sort();
            recent.add(entries);
        }
        assert!(recent.lists.len() < 10);
        let sorted = recent.sorted();
        assert_eq!(sorted.len(), 1500);
        assert!(sorted.is_sorted());

        let mut wanted: Vec<Wanted> =
            sorted.iter().map(|entry| Wanted { hash: entry.hash, place: entry.page }).collect();
        wanted.push(Wanted { hash: u64::MAX, place: 0 });
        recent.look_up(&mut wanted, &mut |want, page| assert_eq!(want.place, page));
        assert_eq!(wanted.len(), 1);
    }
}
