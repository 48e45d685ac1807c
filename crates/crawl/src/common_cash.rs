//! What becomes of the cash of pages that lead nowhere?
//!
//! OPIC (Abiteboul, Preda and Cobéna, "Adaptive on-line page importance computation", WWW 2003): every page begins with
//! cash 1; a visit adds its cash to its history and shares it equally among the pages that it links to. What a visit cannot
//! pass on (no links, no answer, a duplicate, a page that has not changed) goes into common, which stands for a page that
//! all others link to and that links to all. It is shared out lazily: a page takes its equal part when it is put into a
//! batch. So no cash is lost, nobody has to write to all pages, and the order of pages that wait is that of their own cash.
//!
//! The amount is a note of the collection, in millionths.

use std::collections::BTreeMap;

const NOTE: &str = "common cash";
const MILLION: f64 = 1e6;

/// Adds cash.
pub(crate) fn add(notes: &mut BTreeMap<String, u64>, cash: f64) {
    let millionths = (cash.max(0.0) * MILLION) as u64;
    if millionths > 0 {
        let common = notes.entry(NOTE.to_owned()).or_default();
        *common = common.saturating_add(millionths);
    }
}

/// Takes the equal parts of so many of all pages out; tells the part of each.
pub(crate) fn take(notes: &mut BTreeMap<String, u64>, takers: usize, pages: u32) -> f32 {
    let Some(common) = notes.get_mut(NOTE) else { return 0.0 };
    let part = *common / u64::from(pages.max(1));
    *common = common.saturating_sub(part.saturating_mul(takers as u64));
    (part as f64 / MILLION) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_and_nobody_takes_more_than_an_equal_part() {
        let mut notes = BTreeMap::new();
        assert_eq!(take(&mut notes, 3, 10), 0.0);
        add(&mut notes, 4.0);
        add(&mut notes, 1.0);
        assert_eq!(take(&mut notes, 4, 10), 0.5);
        assert_eq!(notes[NOTE], 3_000_000);
        assert_eq!(take(&mut notes, 10, 10), 0.3);
        assert_eq!(notes[NOTE], 0);
    }
}
