//! Newest row of each page, in tables with several rows per page.

/// Tracker of the newest row of each page, by fetch time; 4 bytes per page.
///
/// Rows are in the order of the commits, which differs from the order of the fetches after an import.
#[derive(Debug)]
pub struct NewestRows {
    times_s: Vec<u32>,
}

impl NewestRows {
    /// Creates a tracker for the page ids below `pages`.
    pub fn new(pages: usize) -> NewestRows {
        NewestRows { times_s: vec![0; pages] }
    }

    /// Whether a row is at least as new as all previous rows of its page. Rows of other pages are rejected.
    pub fn accept(&mut self, page_id: u32, fetch_time: i64) -> bool {
        let Some(newest_s) = self.times_s.get_mut(page_id as usize) else { return false };
        let time_s = (fetch_time / 1_000).clamp(0, u32::MAX.into()) as u32;
        let is_newest = time_s >= *newest_s;
        if is_newest {
            *newest_s = time_s;
        }
        is_newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_accepted_if_they_are_not_older_than_the_previous_ones_of_their_page() {
        let mut rows = NewestRows::new(2);
        let accepted = [(0, 5_000), (0, 4_000), (0, 5_000), (1, 1_000), (0, 6_000), (2, 9_000)]
            .map(|(page, time_ms)| rows.accept(page, time_ms));
        assert_eq!(accepted, [true, false, true, true, true, false]);
    }
}
