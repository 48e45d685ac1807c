//! Start of requests: those that are due, as far as capacity, rate limit and control state allow.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fetch::FetchRequest;
use frontier::AcquiredSite;
use parse::MAX_ROBOTS_BYTES;
use tokio::sync::Notify;

use super::parsing::MAX_UNPARSED;
use super::{FinishedRequest, Harvester};
use crate::control::local_faults::{Activity, Admission};
use crate::dispatcher::robots_fetch::SiteKey;
use crate::harvester::job::RequestJob;
use crate::harvester::outage::CheckedFetcher;

impl Harvester<'_> {
    /// Starts all requests that may start now.
    pub(super) fn start_requests(&mut self) {
        (self.rate_limited_until_ms, self.paused_until, self.waits_for_quota) = (0, None, false);
        while self.context.may_start() && self.has_capacity() {
            let now_ms = self.context.clock.now_ms();
            if self.workbench.next_ready_ms().is_none_or(|ready_ms| ready_ms > now_ms) {
                return;
            }
            let admission = match self.context.admit(Activity::Requests) {
                Ok(admission) => admission,
                Err(until) => {
                    self.paused_until = Some(until);
                    return;
                }
            };
            if !self.within_rate() {
                return;
            }
            let Some(acquired) = self.workbench.acquire(now_ms) else { return };
            if !self.start(acquired, admission) {
                return;
            }
        }
    }

    /// Whether the rate limit allows a request now; it takes a slot of the rate limiter then.
    fn within_rate(&mut self) -> bool {
        let per_second = self.settings.max_requests_per_second;
        if per_second == 0.0 {
            return true;
        }
        let slot = self.context.acquire_rate(per_second);
        self.rate_limited_until_ms = slot.err().unwrap_or(0);
        slot.is_ok()
    }

    /// Starts a request; false if the page quota of the crawl is used up by fetched pages and requests in flight. Those may fail,
    /// which returns their part of the quota.
    fn start(&mut self, acquired: AcquiredSite<SiteKey>, mut admission: Admission) -> bool {
        let Some(job) = self.jobs.remove(acquired.job) else {
            self.workbench.release(acquired.site, 0, 0);
            return true;
        };
        if matches!(job, RequestJob::Page { .. }) && !self.context.acquire_page() {
            let job = self.jobs.add(job);
            self.workbench.push_first(acquired.site, job);
            self.workbench.release(acquired.site, 0, 0);
            self.waits_for_quota = true;
            self.context.stop_at_quota();
            return false;
        }
        let idle = self
            .idle_connections
            .remove(&acquired.address.into())
            .filter(|(site, _)| acquired.site == SiteKey::Site(*site));
        let active = acquired.site.id().and_then(|site| self.sites.get(&site));
        let headers = active.map(|active| Arc::clone(&active.headers)).unwrap_or_default();
        self.evict_idle_connections();
        let fetcher = self.checked_fetcher(&admission);
        let max_body_bytes = match &job {
            RequestJob::Page { .. } => self.settings.fetch.max_body_bytes,
            RequestJob::Robots { .. } | RequestJob::CrossHostRobots(_) => MAX_ROBOTS_BYTES,
            RequestJob::Sitemap { .. } => self.settings.sitemaps.max_bytes,
        };
        let lease = Arc::clone(&self.context.lease);
        self.context.counters.requests.fetch_add(1, Relaxed);
        self.context.counters.requests_in_flight.fetch_add(1, Relaxed);
        self.requests.spawn_local(async move {
            let first_byte = Notify::new();
            let request = FetchRequest {
                url: job.url(),
                address: acquired.address,
                site_headers: &headers,
                if_none_match: job.validators().and_then(|validators| validators.etag.as_deref()),
                if_modified_since: job
                    .validators()
                    .and_then(|validators| validators.last_modified.as_deref()),
                max_body_bytes,
                any_mime_type: !matches!(job, RequestJob::Page { .. }),
                send_deadline: lease.last_start(),
                first_byte: Some(&first_byte),
            };
            let on_first_byte = async {
                first_byte.notified().await;
                admission.on_first_byte();
                std::future::pending::<()>().await;
            };
            let fetch = fetcher.fetch(&request, idle.map(|(_, connection)| connection));
            let (response, connection) = tokio::select! {
                biased;
                (response, connection) = fetch => {
                    // A failure after the lease has expired can be caused by a suspended machine, not by the server.
                    let is_valid = response.failure.is_none() || lease.is_valid();
                    (Some(response).filter(|_| is_valid), connection)
                }
                // From now on another worker can contact the address.
                () = lease.expired() => (None, None),
                () = on_first_byte => (None, None),
            };
            FinishedRequest { acquired, job, response, connection, admission }
        });
        true
    }

    fn checked_fetcher(&self, admission: &Admission) -> CheckedFetcher {
        CheckedFetcher {
            faults: Arc::clone(&self.context.local_faults),
            settings: Arc::clone(&self.settings),
            fetcher: Rc::clone(&self.fetcher),
            is_probe: admission.is_probe(),
        }
    }

    /// Closes idle connections until there is room for another one: they count as connections.
    fn evict_idle_connections(&mut self) {
        while self.requests.len() + self.idle_connections.len() >= self.max_requests
            && let Some(address) = self.idle_connections.keys().next().copied()
        {
            self.idle_connections.remove(&address);
        }
    }

    /// Whether another request can be in flight.
    pub(super) fn has_capacity(&self) -> bool {
        self.requests.len() < self.max_requests
            && self.unparsed.len() < MAX_UNPARSED
            && !self.outbox.is_full()
    }
}
