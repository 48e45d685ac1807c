//! Cooldowns of sites and addresses: when the next request may start.

use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;

use fetch::{Connection, LocalFault};
use frontier::{AcquiredSite, FetchEvent};
use model::{Reason, SiteId};

use super::Harvester;
use crate::control::local_faults;
use crate::control::local_faults::Admission;
use crate::dispatcher::robots_fetch::SiteKey;
use crate::harvester::active_site::ActiveSite;
use crate::harvester::job::RequestJob;
use crate::item::harvest_event::HarvestEvent;
use crate::settings::random::random;

impl Harvester<'_> {
    /// Sets the first request time of a site: its own, that after a fetch of its robots.txt for another site, and its full
    /// delay if the clocks of the previous run are lost.
    pub(super) fn set_clocks(
        &mut self,
        active: &mut ActiveSite,
        earliest_request_ms: u64,
        robots_request_ms: u64,
    ) {
        let delay_ms = active.delay_ms(&self.settings.politeness);
        let after_robots_ms = if robots_request_ms > 0 { robots_request_ms + delay_ms } else { 0 };
        let lost_clock_ms = self.lost_clock_delay_ms(active.address, delay_ms);
        let ready_ms = earliest_request_ms.max(after_robots_ms).max(lost_clock_ms);
        active.next_request_ms = ready_ms;
        self.workbench.add_site(active.site.into(), active.address, ready_ms);
    }

    /// Earliest request time of a site after a run whose clocks are lost; 0 otherwise. Its address gets the longest delay of
    /// any site, because it is unknown which one was contacted last.
    pub(super) fn lost_clock_delay_ms(&mut self, address: IpAddr, delay_ms: u64) -> u64 {
        let Some(lost_since_ms) = self.clocks_lost_since_ms else { return 0 };
        let address_delay_ms = self.settings.politeness.address_delay_ms;
        let address_delay_ms =
            address_delay_ms.unwrap_or_else(|| self.settings.max_site_delay_ms().max(delay_ms));
        self.workbench.delay_address(address, lost_since_ms + address_delay_ms);
        lost_since_ms + delay_ms
    }

    /// Records a request that failed by a fault of this machine, or by one that has ended meanwhile (`None`). The errors and the
    /// back-off of the site stay as they were.
    pub(super) fn fail_locally(&mut self, job: &RequestJob, admission: Admission, fault: Option<LocalFault>) {
        let counters = &self.context.counters;
        match fault {
            Some(fault) => {
                admission.fail(fault, counters.requests_in_flight.load(Relaxed), local_faults::now());
            }
            None => admission.complete(),
        }
        counters.requests.fetch_sub(1, Relaxed);
        if matches!(job, RequestJob::Page { .. }) {
            self.context.return_page();
        }
        if fault == Some(LocalFault::TooManyOpenFiles) {
            self.idle_connections.clear();
        }
    }

    /// Requeues a request that failed by a local fault, or was aborted; it is sent again if the lease is renewed. If the server
    /// may have received it, the site has its delay from now on, also after the end of this batch.
    pub(super) fn requeue(
        &mut self,
        acquired: AcquiredSite<SiteKey>,
        job: RequestJob,
        ended_ms: u64,
        was_sent: bool,
    ) -> std::io::Result<()> {
        let delay_ms = match (acquired.site.id().and_then(|site| self.sites.get(&site)), &job) {
            (Some(active), _) => active.delay_ms(&self.settings.politeness),
            (None, job) => self.host_delay_ms(job.url(), 0),
        };
        let address_delay_ms = self.settings.politeness.address_delay_ms.unwrap_or(delay_ms);
        if was_sent && let Some(active) = acquired.site.id().and_then(|site| self.sites.get_mut(&site)) {
            (active.last_request_ended_ms, active.next_request_ms) = (ended_ms, ended_ms + delay_ms);
        }
        let job = self.jobs.add(job);
        self.workbench.push_first(acquired.site, job);
        self.workbench.release(acquired.site, ended_ms + delay_ms, ended_ms + address_delay_ms);
        Ok(())
    }

    /// Starts the cooldown of a site and its address after a request: delay, and back-off after a failure.
    pub(super) fn start_cooldown(
        &mut self,
        acquired: AcquiredSite<SiteKey>,
        event: FetchEvent,
        connection: Option<Connection>,
        ended_ms: u64,
    ) -> std::io::Result<()> {
        let Some(site) = acquired.site.id() else { return Ok(()) };
        let Some(active) = self.sites.get_mut(&site) else { return Ok(()) };
        let delay_ms = active.delay_ms(&self.settings.politeness);
        let decision = self.settings.retry.decide(event, active.consecutive_errors, 0, random());
        active.apply_back_off(&decision, ended_ms);
        (active.last_request_ended_ms, active.next_request_ms) = (ended_ms, ended_ms + delay_ms);
        // Without a delay the next request need not wait for the next millisecond.
        let after = |delay_ms: u64| if delay_ms == 0 { 0 } else { ended_ms + delay_ms };
        let site_ready_ms = after(delay_ms.max(decision.site_back_off_ms));
        let address_ready_ms = after(self.settings.politeness.address_delay_ms.unwrap_or(delay_ms));
        self.workbench.release(acquired.site, site_ready_ms, address_ready_ms);
        let (consecutive_errors, until_ms) = (active.consecutive_errors, active.back_off_until_ms);
        let keep_alive = delay_ms <= self.settings.keep_alive_ms && self.context.may_start();
        if decision.site_back_off_ms > 0 {
            self.send(HarvestEvent::SiteBackedOff { site, until_ms, consecutive_errors })?;
        } else if let Some(connection) = connection.filter(|_| keep_alive) {
            self.idle_connections.insert(acquired.address.into(), (site, connection));
        }
        if decision.releases_site {
            let reason =
                if let FetchEvent::NoResponse(reason) = event { reason } else { Reason::SiteFailing };
            self.return_pages(site, Some(reason))?;
        }
        Ok(())
    }

    /// Extends the current cooldown of a site whose delay has become longer since its last request ended.
    pub(super) fn extend_cooldown(&mut self, site: SiteId) {
        let Some(active) = self.sites.get_mut(&site).filter(|active| active.last_request_ended_ms > 0) else {
            return;
        };
        let ready_ms = active.last_request_ended_ms + active.delay_ms(&self.settings.politeness);
        active.next_request_ms = active.next_request_ms.max(ready_ms);
        let address = active.address;
        self.workbench.delay_site(site.into(), ready_ms);
        if self.settings.politeness.address_delay_ms.is_none() {
            self.workbench.delay_address(address, ready_ms);
        }
    }
}
