//! Whose is a stored body? Which page was the first to have it, as far as is remembered.

use std::collections::HashMap;

use model::PageId;
use store::PageLocation;

/// The pages of bodies that were stored lately. When it is full, it forgets the older half.
#[derive(Debug)]
pub(crate) struct Originals {
    half: usize,
    young: HashMap<PageLocation, PageId>,
    old: HashMap<PageLocation, PageId>,
}

impl Originals {
    pub(crate) fn new(window: usize) -> Originals {
        Originals { half: (window / 2).max(1), young: HashMap::new(), old: HashMap::new() }
    }

    pub(crate) fn get(&self, stored: PageLocation) -> Option<PageId> {
        self.young.get(&stored).or_else(|| self.old.get(&stored)).copied()
    }

    pub(crate) fn insert(&mut self, stored: PageLocation, page: PageId) {
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
    fn what_was_lately_is_remembered() {
        let mut originals = Originals::new(10);
        let place = |number: u32| PageLocation { file: 0, offset: u64::from(number), length: 1 };
        for number in 0..100 {
            originals.insert(place(number), PageId(number));
            assert_eq!(
                originals.get(place(number.saturating_sub(4))),
                Some(PageId(number.saturating_sub(4)))
            );
            assert!(originals.young.len() + originals.old.len() <= 10);
        }
        assert_eq!(originals.get(place(0)), None);
    }
}
