//! Which requests begin now? Those whose turn has come, as far as there is room, the pace of the whole crawl allows it, and nobody
//! has stopped or paused it.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fetch::FetchJob;
use frontier::Turn;
use parse::ROBOTS_LIMIT_BYTES;

use super::reading::MOST_UNREAD;
use super::{Ended, Harvester};
use crate::job::Job;

impl Harvester<'_> {
    /// Begins all requests that may begin now.
    pub(super) fn start_turns(&mut self) {
        // The last of the pages that were asked for ends it.
        self.paced_until_ms = 0;
        while self.running.may_begin() && self.has_room() {
            let now_ms = self.running.clock.now_ms();
            if !self.keeps_pace(now_ms) {
                return;
            }
            let Some(turn) = self.workbench.take(now_ms) else { return };
            self.start(turn);
        }
    }

    /// Whether a turn, if there is one, may begin now by the pace of the whole crawl; it then counts.
    fn keeps_pace(&mut self, now_ms: u64) -> bool {
        let per_second = self.settings.requests_per_second;
        if per_second == 0.0 {
            return true;
        }
        if self.workbench.next_ready_ms().is_none_or(|ready_ms| ready_ms > now_ms) {
            return false;
        }
        let paced = self.running.keep_pace(per_second);
        self.paced_until_ms = paced.err().unwrap_or(0);
        paced.is_ok()
    }

    fn start(&mut self, turn: Turn) {
        let Some(job) = self.jobs.remove(turn.job) else {
            self.workbench.finish(turn.site, 0, 0);
            return;
        };
        if matches!(job, Job::Page { .. }) && !self.running.take_page() {
            // As many pages as were asked for are fetched, or on their way.
            let job = self.jobs.add(job);
            self.workbench.push_first(turn.site, job);
            self.workbench.finish(turn.site, 0, 0);
            self.running.stop_in_order();
            return;
        }
        let kept = self.kept.remove(&turn.address).filter(|(site, _)| *site == turn.site);
        let request = self.sites.get(&turn.site).map(|run| Arc::clone(&run.request)).unwrap_or_default();
        let fetcher = Rc::clone(&self.fetcher);
        let body_bytes = match &job {
            Job::Page { .. } => self.settings.fetch.body_bytes,
            Job::Robots { .. } | Job::Errand(_) => ROBOTS_LIMIT_BYTES,
            Job::Sitemap { .. } => self.settings.sitemap_bytes,
        };
        let lease = Arc::clone(&self.running.lease);
        self.running.counters.requests.fetch_add(1, Relaxed);
        self.running.counters.requests_under_way.fetch_add(1, Relaxed);
        self.requests.spawn_local(async move {
            let asked = FetchJob {
                url: job.url(),
                address: turn.address,
                extra: &request,
                if_none_match: job.validators().and_then(|held| held.etag.as_deref()),
                if_modified_since: job.validators().and_then(|held| held.last_modified.as_deref()),
                body_bytes,
                any_media_type: !matches!(job, Job::Page { .. }),
                send_before: lease.last_begin(),
            };
            let fetch = fetcher.fetch(&asked, kept.map(|(_, connection)| connection));
            let (answer, connection) = tokio::select! {
                biased;
                (answer, connection) = fetch => {
                    // A server is not to be blamed for what we have slept through.
                    let is_told = answer.failure.is_none() || lease.holds();
                    (Some(answer).filter(|_| is_told), connection)
                }
                // By then somebody else may be there.
                () = lease.over() => (None, None),
            };
            Ended { turn, job, answer, connection }
        });
    }

    /// Whether another request may be sent.
    pub(super) fn has_room(&self) -> bool {
        self.requests.len() < self.most_requests && self.unread.len() < MOST_UNREAD && !self.outbox.is_full()
    }
}
