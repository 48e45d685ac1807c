//! History of sites over years: absences, changes of robots.txt, moves to another name, and growing sitemaps, as functions of
//! the seed and the time.
//!
//! A site with phases alternates between two states with a period of its own, so that its state at any time, and the time of
//! the last change, need no simulation.

use crate::world::kinds::{ReplicaKind, RobotsKind, SiteKey};
use crate::world::random::KeyedRandom;
use crate::world::site::Site;
use crate::world::synthetic_web::World;

const DAY_S: u64 = 86_400;
/// Period of the phases of a site: from 200 to 500 days.
const MIN_PERIOD_DAYS: u64 = 200;
const PERIOD_SPREAD_DAYS: u64 = 300;
/// Moves and new entries of sitemaps happen within this time after the start of the clock.
const HISTORY_DAYS: u64 = 365;

/// Alternation between two states: the second one takes a third of the period.
#[derive(Clone, Copy, Debug)]
struct Phases {
    period_s: u64,
    offset_s: u64,
}

impl Phases {
    fn new(random: KeyedRandom) -> Phases {
        let period_s = (MIN_PERIOD_DAYS + random.child(0).below(PERIOD_SPREAD_DAYS)) * DAY_S;
        Phases { period_s, offset_s: random.child(1).below(period_s) }
    }

    fn position_s(self, seconds: u64) -> u64 {
        (seconds + self.offset_s) % self.period_s
    }

    /// Reports whether it is in the second state.
    fn is_second(self, seconds: u64) -> bool {
        self.position_s(seconds) < self.period_s / 3
    }

    /// Returns the time of the last change.
    fn changed_s(self, seconds: u64) -> u64 {
        let position_s = self.position_s(seconds);
        let since_s = if self.is_second(seconds) { position_s } else { position_s - self.period_s / 3 };
        seconds.saturating_sub(since_s)
    }
}

impl World {
    /// Reports whether the server of a site is gone at a time, in seconds since the beginning of this Web: it responds to all
    /// requests with 503.
    pub fn is_absent(&self, site: &Site, seconds: u64) -> bool {
        self.absences(site).is_some_and(|phases| phases.is_second(seconds))
    }

    /// Returns the kind of the robots.txt of a site at a time.
    pub fn robots_at(&self, site: &Site, seconds: u64) -> RobotsKind {
        match self.robots_phases(site) {
            Some(phases) if phases.is_second(seconds) => RobotsKind::DisallowAll,
            _ => site.robots,
        }
    }

    /// Reports whether a mirror has moved at a time: its pages redirect to those of its origin.
    pub fn has_moved(&self, site: &Site, seconds: u64) -> bool {
        self.move_s(site).is_some_and(|move_s| seconds >= move_s)
    }

    /// Returns the time of the last change of absence, robots.txt or name of a site; 0 if there was none.
    pub fn site_changed_s(&self, site: &Site, seconds: u64) -> u64 {
        let phases = [self.absences(site), self.robots_phases(site)].into_iter().flatten();
        let moved_s = self.move_s(site).filter(|move_s| *move_s <= seconds);
        phases.map(|phases| phases.changed_s(seconds)).chain(moved_s).max().unwrap_or(0)
    }

    /// Returns the time from which the sitemap of a site lists an isolated page; `None` if it never does.
    pub fn listed_s(&self, site: &Site, index: u32) -> Option<u64> {
        let random = site.key.child(SiteKey::Growth as u64);
        let grows = site.sitemap.is_some() && random.chance(self.settings.growing_sitemaps);
        let day = random.child(u64::from(index)).below(HISTORY_DAYS);
        (grows && (site.linked..site.pages).contains(&index)).then(|| self.start_s() + day * DAY_S)
    }

    fn absences(&self, site: &Site) -> Option<Phases> {
        let random = self.site_key(site.index).child(SiteKey::Absence as u64);
        (!site.is_portal() && random.chance(self.settings.intermittent_sites)).then(|| Phases::new(random))
    }

    fn robots_phases(&self, site: &Site) -> Option<Phases> {
        let random = site.key.child(SiteKey::RobotsPhases as u64);
        (!site.is_portal() && random.chance(self.settings.changing_robots)).then(|| Phases::new(random))
    }

    fn move_s(&self, site: &Site) -> Option<u64> {
        let random = self.site_key(site.index).child(SiteKey::Move as u64);
        let moves = site.replica == Some(ReplicaKind::Mirror) && random.chance(self.settings.moving_mirrors);
        moves.then(|| self.start_s() + random.child(0).below(HISTORY_DAYS) * DAY_S)
    }

    /// Start of the clock.
    fn start_s(&self) -> u64 {
        (self.settings.start_day * DAY_S as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_alternate_and_know_their_last_change() {
        let phases = Phases::new(KeyedRandom::seed(3));
        let mut changes = 0;
        for day in 1..3_650 {
            let (before, now) = (phases.is_second((day - 1) * DAY_S), phases.is_second(day * DAY_S));
            changes += u32::from(before != now);
            let changed_s = phases.changed_s(day * DAY_S);
            assert_eq!(before != now, changed_s > (day - 1) * DAY_S, "day {day}");
            assert!(changed_s <= day * DAY_S);
        }
        assert!((14..=37).contains(&changes), "{changes}");
    }
}
