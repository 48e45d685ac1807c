//! First page of each recently stored body.

use std::collections::HashMap;

use model::PageId;
use store::RecordLocation;

/// Pages of recently stored bodies. When it is full, the older half is evicted.
#[derive(Debug)]
pub(crate) struct FirstCopies {
    half: usize,
    young: HashMap<RecordLocation, PageId>,
    old: HashMap<RecordLocation, PageId>,
}

impl FirstCopies {
    pub(crate) fn new(window: usize) -> FirstCopies {
        FirstCopies { half: (window / 2).max(1), young: HashMap::new(), old: HashMap::new() }
    }

    pub(crate) fn get(&self, stored: RecordLocation) -> Option<PageId> {
        self.young.get(&stored).or_else(|| self.old.get(&stored)).copied()
    }

    pub(crate) fn insert(&mut self, stored: RecordLocation, page: PageId) {
        if self.young.len() >= self.half {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(stored, page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_bodies_are_remembered() {
        let mut first_copies = FirstCopies::new(10);
        let location = |number: u32| RecordLocation { file: 0, offset: u64::from(number), length: 1 };
        for number in 0..100 {
            first_copies.insert(location(number), PageId(number));
            assert_eq!(
                first_copies.get(location(number.saturating_sub(4))),
                Some(PageId(number.saturating_sub(4)))
            );
            assert!(first_copies.young.len() + first_copies.old.len() <= 10);
        }
        assert_eq!(first_copies.get(location(0)), None);
    }
}
