//! Entries since the last commit: a few sorted lists in memory, which a commit writes as a run.

use super::run::{LookupKey, RunEntry, gallop};

/// Entries that are not yet in a run.
///
/// Each list is more than twice as long as the next, so there are few lists, and small batches are cheap.
#[derive(Debug, Default)]
pub(super) struct MemTable {
    lists: Vec<Vec<RunEntry>>,
}

impl MemTable {
    pub(super) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.lists.clear();
    }

    /// Adds entries sorted by hash.
    pub(super) fn add(&mut self, mut entries: Vec<RunEntry>) {
        while let Some(last) = self.lists.pop_if(|last| last.len() <= 2 * entries.len()) {
            entries.extend(last);
            // The stable sort detects the two sorted runs and merges them in one pass.
            entries.sort();
        }
        if !entries.is_empty() {
            self.lists.push(entries);
        }
    }

    /// Returns all entries, sorted by hash.
    pub(super) fn sorted(&self) -> Vec<RunEntry> {
        let mut all = self.lists.concat();
        all.sort();
        all
    }

    /// Calls `on_found` for the sorted keys that are here, and removes them.
    pub(super) fn look_up(&self, keys: &mut Vec<LookupKey>, on_found: &mut impl FnMut(LookupKey, u32)) {
        for list in &self.lists {
            let mut index = 0;
            keys.retain(|key| {
                index = gallop(index, list.len(), |index| list[index].hash < key.hash);
                let entry = list.get(index).filter(|entry| entry.hash == key.hash);
                entry.inspect(|entry| on_found(*key, entry.page)).is_none()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_many_small_batches_are_found_in_few_lists() {
        let mut mem_table = MemTable::default();
        let hash = |page: u32| u64::from(page).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for batch in 0..500_u32 {
            let pages = batch * 3..(batch + 1) * 3;
            let mut entries: Vec<RunEntry> = pages.map(|page| RunEntry { hash: hash(page), page }).collect();
            entries.sort();
            mem_table.add(entries);
        }
        assert!(mem_table.lists.len() < 10);
        let sorted = mem_table.sorted();
        assert_eq!(sorted.len(), 1500);
        assert!(sorted.is_sorted());

        let mut keys: Vec<LookupKey> =
            sorted.iter().map(|entry| LookupKey { hash: entry.hash, slot: entry.page }).collect();
        keys.push(LookupKey { hash: u64::MAX, slot: 0 });
        mem_table.look_up(&mut keys, &mut |key, page| assert_eq!(key.slot, page));
        assert_eq!(keys.len(), 1);
    }
}
