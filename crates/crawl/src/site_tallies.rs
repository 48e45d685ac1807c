//! Which sites of a run are slow, and which fail? A bounded tally: of many sites, those stay that matter for either list.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::live::LiveSite;

/// What a run has seen of its sites, by their names.
#[derive(Debug, Default)]
pub(crate) struct SiteTallies {
    sites: HashMap<Box<str>, Tally>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    visits: u64,
    failures: u64,
    answers: u64,
    answers_ms: u64,
    errors_in_a_row: u16,
    back_off_until_ms: u64,
}

/// How much a site measures, its name and its tally.
type Entry<'t> = (Reverse<u64>, &'t str, &'t Tally);

/// With more sites than this, those of no account are forgotten.
const MOST_SITES: usize = 4_096;
/// So many of either kind are remembered then.
const KEPT: usize = 1_024;

impl SiteTallies {
    /// A page of a site was visited.
    pub(crate) fn count(&mut self, site: &str, answer_ms: Option<u32>, success: bool) {
        self.change(site, |tally| {
            tally.visits += 1;
            tally.failures += u64::from(!success);
            tally.answers += u64::from(answer_ms.is_some());
            tally.answers_ms += u64::from(answer_ms.unwrap_or(0));
        });
    }

    /// A site came back.
    pub(crate) fn close(&mut self, site: &str, errors_in_a_row: u16, back_off_until_ms: u64) {
        // Of one that was never counted, good news are no news.
        if errors_in_a_row > 0 || self.sites.contains_key(site) {
            self.change(site, |tally| {
                (tally.errors_in_a_row, tally.back_off_until_ms) = (errors_in_a_row, back_off_until_ms);
            });
        }
    }

    fn change(&mut self, site: &str, change: impl FnOnce(&mut Tally)) {
        match self.sites.get_mut(site) {
            Some(tally) => change(tally),
            None => {
                self.make_room();
                change(self.sites.entry(site.into()).or_default());
            }
        }
    }

    fn make_room(&mut self) {
        if self.sites.len() < MOST_SITES {
            return;
        }
        let mut kept = HashMap::with_capacity(MOST_SITES);
        for (site, tally) in
            self.first(KEPT, Tally::slowness).into_iter().chain(self.first(KEPT, Tally::failing))
        {
            kept.insert(site.into(), *tally);
        }
        self.sites = kept;
    }

    /// The slowest first.
    pub(crate) fn slowest(&self, most: usize) -> Vec<LiveSite> {
        self.first(most, Tally::slowness).into_iter().map(|(site, tally)| tally.live(site)).collect()
    }

    /// Those with most failures first.
    pub(crate) fn failing(&self, most: usize) -> Vec<LiveSite> {
        self.first(most, Tally::failing).into_iter().map(|(site, tally)| tally.live(site)).collect()
    }

    /// The first by a measure, without those that measure nothing.
    fn first(&self, most: usize, measure: fn(&Tally) -> u64) -> Vec<(&str, &Tally)> {
        let order = |one: &Entry<'_>, other: &Entry<'_>| (one.0, one.1).cmp(&(other.0, other.1));
        let mut all: Vec<Entry<'_>> = self
            .sites
            .iter()
            .map(|(site, tally)| (Reverse(measure(tally)), site.as_ref(), tally))
            .filter(|(measure, ..)| measure.0 > 0)
            .collect();
        if all.len() > most {
            all.select_nth_unstable_by(most, order);
            all.truncate(most);
        }
        all.sort_unstable_by(order);
        all.into_iter().map(|(_, site, tally)| (site, tally)).collect()
    }
}

impl Tally {
    /// How long an answer takes.
    fn slowness(&self) -> u64 {
        self.answers_ms.checked_div(self.answers).unwrap_or(0)
    }

    /// A site that was never asked for a page because of its trouble fails as well.
    fn failing(&self) -> u64 {
        self.failures.max(u64::from(self.errors_in_a_row))
    }

    fn live(&self, site: &str) -> LiveSite {
        LiveSite {
            site: site.to_owned(),
            visits: self.visits,
            failures: self.failures,
            mean_ms: self.answers_ms.checked_div(self.answers),
            errors_in_a_row: self.errors_in_a_row,
            back_off_until_ms: Some(self.back_off_until_ms).filter(|until_ms| *until_ms > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(sites: &[LiveSite]) -> Vec<&str> {
        sites.iter().map(|site| site.site.as_str()).collect()
    }

    #[test]
    fn sites_are_listed_by_how_slow_they_are_and_how_often_they_fail() {
        let mut tallies = SiteTallies::default();
        for (site, ms, success) in [("a", 10, true), ("b", 500, true), ("b", 300, false), ("c", 50, false)] {
            tallies.count(site, Some(ms), success);
        }
        tallies.count("c", None, false);
        tallies.close("d", 3, 99);
        tallies.close("e", 0, 0);
        assert_eq!(names(&tallies.slowest(9)), ["b", "c", "a"]);
        assert_eq!(names(&tallies.failing(9)), ["d", "c", "b"]);
        assert_eq!(names(&tallies.slowest(1)), ["b"]);
        let slowest = &tallies.slowest(1)[0];
        assert_eq!((slowest.visits, slowest.failures, slowest.mean_ms), (2, 1, Some(400)));
        assert_eq!(tallies.failing(1)[0].back_off_until_ms, Some(99));
        tallies.close("d", 0, 0);
        assert_eq!(names(&tallies.failing(9)), ["c", "b"]);
    }

    #[test]
    fn of_many_sites_those_stay_that_matter() {
        let mut tallies = SiteTallies::default();
        for number in 0..100_000u32 {
            tallies.count(&format!("site {number}"), Some(1), true);
            if number % 10_000 == 7 {
                (0..5).for_each(|_| tallies.count("slow", Some(9_000), true));
                (0..5).for_each(|_| tallies.count("bad", Some(1), false));
            }
        }
        assert!(tallies.sites.len() <= MOST_SITES);
        assert_eq!(names(&tallies.slowest(1)), ["slow"]);
        assert_eq!(names(&tallies.failing(9)), ["bad"]);
        assert_eq!(tallies.failing(1)[0].visits, 50, "nothing of it was forgotten");
    }
}
