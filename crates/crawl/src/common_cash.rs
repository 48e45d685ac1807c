//! Where is the cash of pages that lead nowhere?
//!
//! OPIC ([`frontier::Purse`]): a visit shares the cash of a page among those that it links to. What it cannot pass on (no links,
//! no answer, a duplicate, a page that has not changed) goes into [common](CommonCash); a page takes its equal part when it is put
//! into a batch. So no cash is lost, and the order of pages that wait is that of their own cash.
//!
//! The amount is a note of the collection, in millionths.

use std::collections::BTreeMap;

use frontier::{CommonCash, FIRST_CASH};
use store::PageRecord;

const NOTE: &str = "common cash";
const MILLION: f64 = 1e6;

/// The store, which knows no OPIC, gives new pages the same.
const _: () = assert!(PageRecord::FIRST_CASH == FIRST_CASH);

/// Adds cash.
pub(crate) fn add(notes: &mut BTreeMap<String, u64>, cash: CommonCash) {
    let millionths = (cash.0 * MILLION) as u64;
    if millionths > 0 {
        let common = notes.entry(NOTE.to_owned()).or_default();
        *common = common.saturating_add(millionths);
    }
}

/// Takes the equal parts of so many of all pages out; tells the part of each.
pub(crate) fn take(notes: &mut BTreeMap<String, u64>, takers: usize, pages: u32) -> f32 {
    let Some(note) = notes.get_mut(NOTE) else { return 0.0 };
    let mut common = CommonCash(*note as f64 / MILLION);
    let part = common.take(takers, pages as usize);
    *note = (common.0 * MILLION).round() as u64;
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_and_nobody_takes_more_than_an_equal_part() {
        let mut notes = BTreeMap::new();
        assert_eq!(take(&mut notes, 3, 10), 0.0);
        add(&mut notes, CommonCash(4.0));
        add(&mut notes, CommonCash(1.0));
        assert_eq!(take(&mut notes, 4, 10), 0.5);
        assert_eq!(notes[NOTE], 3_000_000);
        assert_eq!(take(&mut notes, 10, 10), 0.3);
        assert_eq!(notes[NOTE], 0);
    }
}
