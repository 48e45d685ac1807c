//! Polite fetching in virtual time.
//!
//! The clocks of sites and IP addresses are those of the crawl: the same [`Workbench`] and the same delays. A response
//! takes the response time of its site; the number of requests in flight is limited. No request fails.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use frontier::{Politeness, Workbench};
use model::{PageId, SiteId};

use crate::web_model::WebModel;

/// Fetches pages politely in virtual time.
pub(crate) struct FetchSimulation<'w> {
    web: &'w WebModel,
    politeness: Politeness,
    max_connections: usize,
    workbench: Workbench,
    is_added: Vec<bool>,
    /// Completion time, site and page of the requests in flight.
    in_flight: BinaryHeap<Reverse<(u64, SiteId, PageId)>>,
    pub(crate) now_ms: u64,
}

/// A page that was fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Completion {
    pub(crate) page: PageId,
    pub(crate) site: SiteId,
    /// Time of completion.
    pub(crate) at_ms: u64,
}

impl<'w> FetchSimulation<'w> {
    pub(crate) fn new(web: &'w WebModel, politeness: Politeness, connections: usize) -> FetchSimulation<'w> {
        FetchSimulation {
            web,
            politeness,
            max_connections: connections.max(1),
            workbench: Workbench::new(),
            is_added: vec![false; web.sites.len()],
            in_flight: BinaryHeap::new(),
            now_ms: 0,
        }
    }

    /// Appends a page to the queue of its site.
    pub(crate) fn push(&mut self, page: PageId) {
        let site = self.web.pages[page.index()].site;
        if !std::mem::replace(&mut self.is_added[site.index()], true) {
            self.workbench.add_site(site, self.web.sites[site.index()].ip_address, self.now_ms);
        }
        self.workbench.push(site, page.0);
    }

    /// Number of pages whose requests have not started.
    pub(crate) fn queued(&self) -> usize {
        self.workbench.waiting_jobs()
    }

    /// Reports whether a site has pages queued or in flight.
    pub(crate) fn is_busy(&self, site: SiteId) -> bool {
        self.workbench.jobs_of(site) > 0 || self.workbench.is_acquired(site)
    }

    /// Advances to the next completion, or to `until_ms` if there is none before. `pages_known` returns the number of
    /// known pages of a site: large sites have shorter delays.
    pub(crate) fn next(&mut self, until_ms: u64, pages_known: impl Fn(SiteId) -> u32) -> Option<Completion> {
        loop {
            self.start_requests();
            let ends_ms = self.in_flight.peek().map(|Reverse((ends_ms, ..))| *ends_ms);
            let has_room = self.in_flight.len() < self.max_connections;
            let ready_ms = self.workbench.next_ready_ms().filter(|_| has_room);
            let soonest_ms = ends_ms.into_iter().chain(ready_ms).min();
            let Some(soonest_ms) = soonest_ms.filter(|soonest_ms| *soonest_ms <= until_ms) else {
                if until_ms != u64::MAX {
                    self.now_ms = self.now_ms.max(until_ms);
                }
                return None;
            };
            self.now_ms = self.now_ms.max(soonest_ms);
            if ends_ms == Some(soonest_ms) {
                return self.complete(pages_known);
            }
        }
    }

    /// Starts all requests that are allowed now.
    fn start_requests(&mut self) {
        while self.in_flight.len() < self.max_connections {
            let Some(turn) = self.workbench.acquire(self.now_ms) else { return };
            let ends_ms = self.now_ms + u64::from(self.web.sites[turn.site.index()].response_ms);
            self.in_flight.push(Reverse((ends_ms, turn.site, PageId(turn.job))));
        }
    }

    fn complete(&mut self, pages_known: impl Fn(SiteId) -> u32) -> Option<Completion> {
        let Reverse((at_ms, site, page)) = self.in_flight.pop()?;
        let delay_ms = u64::from(self.web.sites[site.index()].crawl_delay_ms);
        let wait_ms = self.politeness.delay_for_site_ms(pages_known(site), delay_ms, None);
        let address_wait_ms = self.politeness.address_delay_ms.unwrap_or(wait_ms);
        self.workbench.release(site, at_ms + wait_ms, at_ms + address_wait_ms);
        Some(Completion { page, site, at_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web_model::tests::web;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn requests_to_a_site_keep_the_delay(
            pages in prop::collection::vec(0u32..60, 1..120), shared in 1u8..6, connections in 1usize..8,
        ) {
            let mut web = web(&[10; 6], &[]);
            for (number, site) in web.sites.iter_mut().enumerate() {
                site.ip_address = [10, 0, 0, number as u8 % shared].into();
                site.response_ms = 50 + 37 * number as u32;
            }
            let politeness = Politeness { site_delay_ms: 1_000, large_site_min_pages: 1_000, ..Politeness::default() };
            let mut fetches = FetchSimulation::new(&web, politeness, connections);
            pages.iter().for_each(|page| fetches.push(PageId(*page)));
            let mut last: HashMap<std::net::IpAddr, u64> = HashMap::new();
            let mut seen = 0;
            while let Some(completion) = fetches.next(u64::MAX, |_| 10) {
                let site = &web.sites[completion.site.index()];
                let started_ms = completion.at_ms - u64::from(site.response_ms);
                // IP addresses have the same delay as sites, so this covers sites, too.
                if let Some(before_ms) = last.insert(site.ip_address, completion.at_ms) {
                    prop_assert!(started_ms >= before_ms + 1_000, "{started_ms} {before_ms}");
                }
                seen += 1;
            }
            prop_assert_eq!(seen, pages.len());
        }
    }

    #[test]
    fn large_sites_have_shorter_delays_and_time_stops_at_the_given_moment() {
        let web = web(&[3, 1], &[]);
        let politeness = Politeness {
            site_delay_ms: 1_000,
            large_site_delay_ms: 200,
            large_site_min_pages: 2,
            ..Politeness::default()
        };
        let mut fetches = FetchSimulation::new(&web, politeness, 10);
        (0..3).for_each(|page| fetches.push(PageId(page)));
        let mut times = Vec::new();
        while let Some(completion) = fetches.next(450, |_| 3) {
            times.push(completion.at_ms);
        }
        assert_eq!((times, fetches.now_ms, fetches.queued()), (vec![100, 400], 450, 1));
        assert!(fetches.is_busy(SiteId(0)) && !fetches.is_busy(SiteId(1)));
        assert_eq!(fetches.next(u64::MAX, |_| 3).map(|completion| completion.at_ms), Some(700));
        assert_eq!(fetches.next(u64::MAX, |_| 3), None);
    }
}
