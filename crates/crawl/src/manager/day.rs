//! How many requests are left for today? So that a crawl that goes on for months takes no more than it may.
//!
//! A day is one of UTC. What is counted are requests for pages; robots.txt and sitemaps, asked for once in a while, come on
//! top. All of a day are counted when pages are put into a batch, and given back when a page comes back unasked. The count is
//! a note of the collection. So that a restart does not begin anew, and yet not every batch costs a commit, requests are
//! reserved ahead, and that is committed: of a crawl that dies, up to a twentieth of the limit may be counted that was not asked
//! for. Those of a site are counted by its pages: who was visited today is in their records, and where the settings limit a
//! site, no page is visited twice a day.

use std::collections::{BTreeMap, HashMap};

use model::SiteId;
use store::{Column, PageStateReader, Result, ScanRow, Stage};

use crate::budgets::Budgets;
use crate::crawl_settings::CrawlSettings;

/// Notes of the collection: which day it is, counted from 1970 on, and the requests of that day.
const DAY: &str = "day";
const REQUESTS: &str = "requests of the day";
/// While a crawl runs: how many requests of the day may have been made when it dies.
const RESERVED: &str = "requests reserved";
/// So large a part of a day's requests is reserved at once: 1/20.
const RESERVED_PART: u32 = 20;
const DAY_MS: u64 = 86_400_000;

/// The budget of today.
#[derive(Debug, Default)]
pub(crate) struct Day {
    /// When it began, in Unix seconds.
    began_s: u32,
    left: Option<usize>,
    per_site: Option<usize>,
    of_site: HashMap<SiteId, usize>,
}

impl Day {
    /// What the settings leave for the day of this time.
    pub(crate) fn look(
        notes: &BTreeMap<String, u64>,
        pages: &PageStateReader,
        settings: &CrawlSettings,
        now_ms: u64,
    ) -> Result<Day> {
        let some = |most: u32| (most > 0).then_some(most as usize);
        let mut day = Day {
            began_s: crate::clock::seconds(number(now_ms) * DAY_MS),
            left: some(settings.requests_per_day),
            per_site: some(settings.requests_per_site_per_day),
            of_site: HashMap::new(),
        };
        let asked = requests(notes, now_ms);
        day.left = day.left.map(|most| most.saturating_sub(asked as usize));
        if day.per_site.is_some() {
            let columns = [Column::Site, Column::Marks, Column::LastVisit];
            let count = |counts: &mut HashMap<SiteId, usize>, row: &ScanRow| {
                if row.stage == Stage::Queued || row.last_visit_s >= day.began_s {
                    *counts.entry(row.site).or_default() += 1;
                }
            };
            for (site, count) in pages.scan(&columns, count)?.into_iter().flatten() {
                *day.of_site.entry(site).or_default() += count;
            }
        }
        Ok(day)
    }

    /// How many requests are left; nothing stands for any number.
    pub(crate) fn left(&self) -> Option<usize> {
        self.left
    }

    /// The same for a site.
    pub(crate) fn left_of(&self, site: SiteId) -> Option<usize> {
        self.per_site.map(|most| most.saturating_sub(self.of_site.get(&site).copied().unwrap_or(0)))
    }

    /// How many sites have had all that they may have.
    pub(crate) fn sites_done(&self) -> u64 {
        let Some(most) = self.per_site else { return 0 };
        self.of_site.values().filter(|asked| **asked >= most).count() as u64
    }

    /// Whether a page that was last visited then may be visited today.
    pub(super) fn admits(&self, last_visit_s: u32) -> bool {
        self.per_site.is_none() || last_visit_s < self.began_s
    }

    /// When tomorrow begins, in Unix milliseconds.
    pub(super) fn end_ms(&self) -> u64 {
        u64::from(self.began_s) * 1_000 + DAY_MS
    }
}

/// What the settings allow in the day of this time, and how much of it is used.
pub(crate) fn budgets(notes: &BTreeMap<String, u64>, settings: &CrawlSettings, now_ms: u64) -> Budgets {
    let some = |most: u32| (most > 0).then_some(u64::from(most));
    Budgets {
        requests_today: requests(notes, now_ms),
        requests_per_day: some(settings.requests_per_day),
        day_ends_ms: (number(now_ms) + 1) * DAY_MS,
        requests_per_site_per_day: some(settings.requests_per_site_per_day),
        ..Budgets::default()
    }
}

/// The number of a day, counted from 1970 on.
pub(super) fn number(now_ms: u64) -> u64 {
    now_ms / DAY_MS
}

/// Counts requests that are about to be made.
pub(super) fn count(notes: &mut BTreeMap<String, u64>, now_ms: u64, pages: usize) {
    let asked = requests(notes, now_ms);
    if notes.get(DAY) != Some(&number(now_ms)) {
        notes.remove(RESERVED);
    }
    notes.insert(DAY.to_owned(), number(now_ms));
    notes.insert(REQUESTS.to_owned(), asked + pages as u64);
}

/// Gives back what was counted today and not asked for.
pub(super) fn give_back(notes: &mut BTreeMap<String, u64>, now_ms: u64, pages: usize) {
    let is_today = notes.get(DAY) == Some(&number(now_ms));
    if let Some(asked) = notes.get_mut(REQUESTS).filter(|_| is_today) {
        *asked = asked.saturating_sub(pages as u64);
    }
}

/// Whether requests that were counted have to be reserved before they are made: by a commit. `most` are those of a day.
pub(crate) fn reserve(notes: &mut BTreeMap<String, u64>, most: u32) -> bool {
    let asked = notes.get(REQUESTS).copied().unwrap_or(0);
    if notes.get(RESERVED).is_some_and(|reserved| asked <= *reserved) {
        return false;
    }
    let ahead = asked + u64::from(most / RESERVED_PART);
    notes.insert(RESERVED.to_owned(), ahead.min(u64::from(most)).max(asked));
    true
}

/// What was reserved by a crawl that died counts as asked for.
pub(crate) fn recover(notes: &mut BTreeMap<String, u64>) {
    if let Some(reserved) = notes.remove(RESERVED) {
        let asked = notes.entry(REQUESTS.to_owned()).or_default();
        *asked = reserved.max(*asked);
    }
}

/// A crawl ends in order: what was asked for is known.
pub(crate) fn settle(notes: &mut BTreeMap<String, u64>) {
    notes.remove(RESERVED);
}

/// The requests of the day of this time.
fn requests(notes: &BTreeMap<String, u64>, now_ms: u64) -> u64 {
    let is_today = notes.get(DAY) == Some(&number(now_ms));
    notes.get(REQUESTS).copied().filter(|_| is_today).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_day() {
        let mut notes = BTreeMap::new();
        let noon = 3 * DAY_MS + DAY_MS / 2;
        count(&mut notes, noon, 5);
        count(&mut notes, noon + 1, 2);
        give_back(&mut notes, noon + 2, 3);
        assert_eq!((requests(&notes, noon), requests(&notes, noon + DAY_MS)), (4, 0));
        // What comes back a day later was not counted that day.
        give_back(&mut notes, noon + DAY_MS, 1);
        assert_eq!(requests(&notes, noon), 4);
        count(&mut notes, noon + DAY_MS, 1);
        assert_eq!(requests(&notes, noon + DAY_MS), 1);
    }

    #[test]
    fn requests_are_reserved_ahead_and_lost_with_a_crawl_that_dies() {
        let mut notes = BTreeMap::new();
        count(&mut notes, 1, 3);
        assert!(reserve(&mut notes, 100), "the first must be committed");
        count(&mut notes, 2, 5);
        assert!(!reserve(&mut notes, 100), "eight are reserved");
        let mut dead = notes.clone();
        recover(&mut dead);
        assert_eq!(requests(&dead, 3), 8);
        count(&mut notes, 3, 90);
        assert!(reserve(&mut notes, 100));
        settle(&mut notes);
        recover(&mut notes);
        assert_eq!(requests(&notes, 4), 98);
        // Another day begins with nothing reserved, and no more than the day has is.
        assert!(reserve(&mut notes, 100));
        count(&mut notes, DAY_MS, 1);
        assert!(reserve(&mut notes, 1));
        recover(&mut notes);
        assert_eq!(requests(&notes, DAY_MS), 1);
    }
}
