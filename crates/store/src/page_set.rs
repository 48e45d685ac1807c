//! Set of pages as a bitmap.

use model::PageId;

/// Set of pages, one bit each.
#[derive(Debug, Clone)]
pub struct PageSet(Vec<u64>);

impl PageSet {
    /// Creates a set for `pages` pages, empty or full.
    pub fn new(pages: usize, all: bool) -> PageSet {
        PageSet(vec![if all { u64::MAX } else { 0 }; pages / 64 + 1])
    }

    /// Whether a page is in it.
    pub fn contains(&self, page: PageId) -> bool {
        self.0.get(page.0 as usize / 64).is_some_and(|word| word >> (page.0 % 64) & 1 == 1)
    }

    /// Puts a page in, or takes it out; those beyond the number are in no set.
    pub fn set(&mut self, page: PageId, value: bool) {
        if let Some(word) = self.0.get_mut(page.0 as usize / 64) {
            let bit = 1 << (page.0 % 64);
            *word = if value { *word | bit } else { *word & !bit };
        }
    }
}
