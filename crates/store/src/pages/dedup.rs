//! Window of recent payload digests, for the deduplication of bodies.
//!
//! It is empty when a collection is opened, and drops the older half when it is full: it finds bodies that many URLs of a
//! site share, not old ones. For a page that is fetched again, the caller passes the location of its earlier version.

use std::collections::HashMap;

use super::RecordLocation;
use warc::PayloadKey;

pub(super) struct DedupWindow {
    half: usize,
    young: HashMap<PayloadKey, RecordLocation>,
    old: HashMap<PayloadKey, RecordLocation>,
}

impl DedupWindow {
    pub(super) fn new(window: usize) -> DedupWindow {
        DedupWindow { half: window / 2, young: HashMap::new(), old: HashMap::new() }
    }

    pub(super) fn get(&self, digest: &PayloadKey) -> Option<RecordLocation> {
        self.young.get(digest).or_else(|| self.old.get(digest)).copied()
    }

    /// Records the location of a payload.
    pub(super) fn insert(&mut self, digest: PayloadKey, location: RecordLocation) {
        if self.half == 0 {
            return;
        }
        if self.young.len() >= self.half {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(digest, location);
    }

    /// Applies the relocations of a compaction, and removes dropped records.
    pub(super) fn relocate(&mut self, new_location: impl Fn(RecordLocation) -> Option<RecordLocation>) {
        for part in [&mut self.young, &mut self.old] {
            part.retain(|_, location| match new_location(*location) {
                Some(new) => {
                    *location = new;
                    true
                }
                None => false,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warc::Sha1Digest;

    #[test]
    fn recent_payloads_are_found_within_the_size_of_the_window() {
        let mut duplicates = DedupWindow::new(100);
        let key = |number: u64| Sha1Digest::of(&number.to_le_bytes()).key(number);
        for number in 0..1_000 {
            duplicates.insert(key(number), RecordLocation { file: 0, offset: number, length: 1 });
            assert!(duplicates.young.len() + duplicates.old.len() <= 100);
            let recent = number.saturating_sub(49);
            assert_eq!(duplicates.get(&key(recent)).map(|location| location.offset), Some(recent));
        }
        assert_eq!(duplicates.get(&key(0)), None);
    }
}
