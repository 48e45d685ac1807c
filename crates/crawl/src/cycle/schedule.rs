//! Timing of the crawl loop: when it scans for the next batch, and when it commits. Every method takes the current time.

use std::time::{Duration, Instant};

use harvest::settings::crawl_settings::CommitSettings;

/// Maximum share of the time that the manager takes: 1/10.
const MAX_MANAGER_TIME_SHARE: u32 = 10;
/// Minimum time between two scans for due pages, since pages become due one after the other.
pub(super) const DUE_SCAN_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum time between two batches for local harvesters.
pub(super) const MIN_BATCH_INTERVAL: Duration = Duration::from_millis(10);
/// Maximum wait for items while there is nothing to commit.
const MAX_RECEIVE_WAIT: Duration = Duration::from_secs(1);

/// Times of the last batch and of the last commit, and what has changed since.
pub(super) struct LoopSchedule {
    last_batch: Instant,
    /// Time that the manager took for the last batch.
    last_batch_duration: Duration,
    /// Whether something has changed since the manager's last scan.
    pub(super) scan_needed: bool,
    last_commit: Instant,
    bytes_since_commit: u64,
    changed_since_commit: bool,
}

impl LoopSchedule {
    /// Schedule of a crawl that starts now: it scans, and has its recovery to commit.
    pub(super) fn new(now: Instant) -> LoopSchedule {
        LoopSchedule {
            last_batch: now,
            last_batch_duration: Duration::ZERO,
            scan_needed: true,
            last_commit: now,
            bytes_since_commit: 0,
            changed_since_commit: true,
        }
    }

    /// Whether enough time has passed since the last batch; an idle crawl need not wait.
    pub(super) fn may_scan(&self, now: Instant, min_interval: Duration, is_idle: bool) -> bool {
        is_idle || now.saturating_duration_since(self.last_batch) >= self.batch_interval(min_interval)
    }

    fn batch_interval(&self, min_interval: Duration) -> Duration {
        (self.last_batch_duration * MAX_MANAGER_TIME_SHARE).max(min_interval)
    }

    /// Records a scan of the manager.
    pub(super) fn scanned(&mut self, started: Instant, now: Instant) {
        (self.last_batch, self.last_batch_duration) = (now, now.saturating_duration_since(started));
    }

    /// Time until the next scan for due pages, which become due at `next_scan`.
    pub(super) fn due_in(&self, now: Instant, next_scan: Instant) -> Duration {
        let since_batch = now.saturating_duration_since(self.last_batch);
        next_scan.saturating_duration_since(now).max(DUE_SCAN_INTERVAL.saturating_sub(since_batch))
    }

    /// Records changes of the collection, with the bytes that they add.
    pub(super) fn changed(&mut self, bytes: u64) {
        self.bytes_since_commit += bytes;
        self.changed_since_commit = true;
    }

    /// Records a commit.
    pub(super) fn committed(&mut self, now: Instant) {
        (self.last_commit, self.bytes_since_commit, self.changed_since_commit) = (now, 0, false);
    }

    /// Whether changes must be committed: by time, by size, or because a component of the collection is full.
    pub(super) fn should_commit(&self, now: Instant, commits: &CommitSettings, is_full: bool) -> bool {
        let by_time = self.commit_in(now, commits) == Duration::ZERO;
        self.changed_since_commit && (by_time || is_full || self.bytes_since_commit >= commits.max_bytes)
    }

    fn commit_in(&self, now: Instant, commits: &CommitSettings) -> Duration {
        let since_commit = now.saturating_duration_since(self.last_commit);
        Duration::from_millis(commits.interval_ms).saturating_sub(since_commit)
    }

    /// Maximum time to wait for items: until the next commit, the next scan or the end of the crawl. `min_interval` is the
    /// minimum time between two batches.
    pub(super) fn receive_timeout(
        &self,
        now: Instant,
        commits: &CommitSettings,
        min_interval: Duration,
        next_scan: Instant,
        end_in: Option<Duration>,
    ) -> Duration {
        let commit_in =
            if self.changed_since_commit { self.commit_in(now, commits) } else { MAX_RECEIVE_WAIT };
        let scan_in =
            if self.scan_needed { self.batch_interval(min_interval) } else { self.due_in(now, next_scan) };
        commit_in.min(scan_in).min(end_in.unwrap_or(Duration::MAX)).max(Duration::from_millis(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const COMMITS: CommitSettings = CommitSettings { interval_ms: 5_000, max_bytes: 1_000 };

    #[test]
    fn the_manager_takes_at_most_a_tenth_of_the_time() {
        let start = Instant::now();
        let mut schedule = LoopSchedule::new(start);
        schedule.scanned(start, start + 2 * SECOND);
        let may_scan = |seconds| schedule.may_scan(start + seconds * SECOND, MIN_BATCH_INTERVAL, false);
        assert!(!may_scan(21) && may_scan(22));
        assert!(schedule.may_scan(start + 3 * SECOND, MIN_BATCH_INTERVAL, true), "nothing else is to do");
    }

    #[test]
    fn batches_are_created_at_the_minimum_interval_if_the_manager_is_quick() {
        let start = Instant::now();
        let schedule = LoopSchedule::new(start);
        assert!(!schedule.may_scan(start, MIN_BATCH_INTERVAL, false));
        assert!(schedule.may_scan(start + MIN_BATCH_INTERVAL, MIN_BATCH_INTERVAL, false));
    }

    #[test]
    fn due_pages_are_scanned_for_once_a_second() {
        let start = Instant::now();
        let schedule = LoopSchedule::new(start);
        assert_eq!(schedule.due_in(start, start), SECOND);
        assert_eq!(schedule.due_in(start + SECOND, start), Duration::ZERO);
        assert_eq!(schedule.due_in(start + SECOND, start + 9 * SECOND), 8 * SECOND);
    }

    #[test]
    fn only_changes_are_committed_by_time_by_size_or_when_full() {
        let start = Instant::now();
        let mut schedule = LoopSchedule::new(start);
        assert!(!schedule.should_commit(start + 4 * SECOND, &COMMITS, false));
        assert!(schedule.should_commit(start + 5 * SECOND, &COMMITS, false), "the recovery of the start");
        assert!(schedule.should_commit(start, &COMMITS, true));
        schedule.committed(start + 5 * SECOND);
        assert!(!schedule.should_commit(start + 60 * SECOND, &COMMITS, true), "nothing has changed");
        schedule.changed(999);
        assert!(!schedule.should_commit(start + 6 * SECOND, &COMMITS, false));
        schedule.changed(1);
        assert!(schedule.should_commit(start + 6 * SECOND, &COMMITS, false));
    }

    #[test]
    fn items_are_awaited_until_the_next_commit_scan_or_end() {
        let start = Instant::now();
        let mut schedule = LoopSchedule::new(start);
        schedule.scan_needed = false;
        let wait = |schedule: &LoopSchedule, end_in| {
            let now = start + SECOND;
            schedule.receive_timeout(now, &COMMITS, MIN_BATCH_INTERVAL, start + 60 * SECOND, end_in)
        };
        assert_eq!(wait(&schedule, None), 4 * SECOND, "the commit");
        assert_eq!(wait(&schedule, Some(2 * SECOND)), 2 * SECOND, "the end");
        assert_eq!(wait(&schedule, Some(Duration::ZERO)), Duration::from_millis(1), "never a busy loop");
        schedule.committed(start);
        assert_eq!(wait(&schedule, None), MAX_RECEIVE_WAIT);
        schedule.scan_needed = true;
        assert_eq!(wait(&schedule, None), MIN_BATCH_INTERVAL, "the scan");
    }
}
