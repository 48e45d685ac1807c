//! Was this body stored lately? A bounded memory of payload digests.
//!
//! It begins empty whenever a collection is opened, and forgets the older half of what it knows when it is full: it
//! finds what many URLs of a site have in common, not what was stored long ago. A page that is fetched again brings the
//! place of its earlier version along, so that it needs no memory here.

use std::collections::HashMap;

use super::PageLocation;
use crate::warc::DigestKey;

pub(super) struct Duplicates {
    half: usize,
    young: HashMap<DigestKey, PageLocation>,
    old: HashMap<DigestKey, PageLocation>,
}

impl Duplicates {
    pub(super) fn new(window: usize) -> Duplicates {
        Duplicates { half: window / 2, young: HashMap::new(), old: HashMap::new() }
    }

    pub(super) fn get(&self, digest: &DigestKey) -> Option<PageLocation> {
        self.young.get(digest).or_else(|| self.old.get(digest)).copied()
    }

    /// Remembers where a payload is.
    pub(super) fn insert(&mut self, digest: DigestKey, location: PageLocation) {
        if self.half == 0 {
            return;
        }
        if self.young.len() >= self.half {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(digest, location);
    }

    /// Follows the records of a compaction, and forgets those that are gone.
    pub(super) fn relocate(&mut self, new_place: impl Fn(PageLocation) -> Option<PageLocation>) {
        for part in [&mut self.young, &mut self.old] {
            part.retain(|_, location| match new_place(*location) {
                Some(place) => {
                    *location = place;
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
    use crate::warc::Digest;

    #[test]
    fn it_remembers_what_was_lately_and_not_more_than_it_may() {
        let mut duplicates = Duplicates::new(100);
        let key = |number: u64| Digest::of(&number.to_le_bytes()).key(number);
        for number in 0..1_000 {
            duplicates.insert(key(number), PageLocation { file: 0, offset: number, length: 1 });
            assert!(duplicates.young.len() + duplicates.old.len() <= 100);
            let recent = number.saturating_sub(49);
            assert_eq!(duplicates.get(&key(recent)).map(|location| location.offset), Some(recent));
        }
        assert_eq!(duplicates.get(&key(0)), None);
    }
}
