//! When does which page come, if nobody is asked too often? Requests and answers in virtual time.
//!
//! The clocks of sites and addresses are those of the crawl: the same [`Workbench`], the same [`Waits`]. An answer takes
//! as long as its site takes; no more requests are under way at once than there are connections. Nothing fails here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use frontier::{Waits, Workbench};
use model::{PageId, SiteId};

use crate::web::Web;

/// Asks for pages politely.
pub(crate) struct Harvest<'w> {
    web: &'w Web,
    waits: Waits,
    connections: usize,
    workbench: Workbench,
    is_added: Vec<bool>,
    /// When answers will have come, from which site and which page.
    under_way: BinaryHeap<Reverse<(u64, SiteId, PageId)>>,
    pub(crate) now_ms: u64,
}

/// A page that has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) page: PageId,
    pub(crate) site: SiteId,
    /// When it was there.
    pub(crate) at_ms: u64,
}

impl<'w> Harvest<'w> {
    pub(crate) fn new(web: &'w Web, waits: Waits, connections: usize) -> Harvest<'w> {
        Harvest {
            web,
            waits,
            connections: connections.max(1),
            workbench: Workbench::new(),
            is_added: vec![false; web.sites.len()],
            under_way: BinaryHeap::new(),
            now_ms: 0,
        }
    }

    /// Puts a page at the end of its site's queue.
    pub(crate) fn push(&mut self, page: PageId) {
        let site = self.web.pages[page.index()].site;
        if !std::mem::replace(&mut self.is_added[site.index()], true) {
            self.workbench.add_site(site, self.web.sites[site.index()].address, self.now_ms);
        }
        self.workbench.push(site, page.0);
    }

    /// Pages that were not asked for yet.
    pub(crate) fn waiting(&self) -> usize {
        self.workbench.waiting()
    }

    /// Whether a site has pages waiting or under way.
    pub(crate) fn is_open(&self, site: SiteId) -> bool {
        self.workbench.jobs(site) > 0 || self.workbench.has_turn(site)
    }

    /// The next page that comes, if any does by then; else it is then. `pages_known` are those of each site: large sites
    /// bear more.
    pub(crate) fn next(&mut self, until_ms: u64, pages_known: impl Fn(SiteId) -> u32) -> Option<Arrival> {
        loop {
            self.ask();
            let ends_ms = self.under_way.peek().map(|Reverse((ends_ms, ..))| *ends_ms);
            let has_room = self.under_way.len() < self.connections;
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
                return self.arrive(pages_known);
            }
        }
    }

    /// Sends all requests that may be sent now.
    fn ask(&mut self) {
        while self.under_way.len() < self.connections {
            let Some(turn) = self.workbench.take(self.now_ms) else { return };
            let ends_ms = self.now_ms + u64::from(self.web.sites[turn.site.index()].answer_ms);
            self.under_way.push(Reverse((ends_ms, turn.site, PageId(turn.job))));
        }
    }

    fn arrive(&mut self, pages_known: impl Fn(SiteId) -> u32) -> Option<Arrival> {
        let Reverse((at_ms, site, page)) = self.under_way.pop()?;
        let delay_ms = u64::from(self.web.sites[site.index()].crawl_delay_ms);
        let wait_ms = self.waits.site_wait_ms(pages_known(site), delay_ms, None);
        let address_wait_ms = self.waits.address_wait_ms.unwrap_or(wait_ms);
        self.workbench.finish(site, at_ms + wait_ms, at_ms + address_wait_ms);
        Some(Arrival { page, site, at_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::tests::web;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn nobody_is_asked_twice_within_the_wait(
            pages in prop::collection::vec(0u32..60, 1..120), shared in 1u8..6, connections in 1usize..8,
        ) {
            let mut web = web(&[10; 6], &[]);
            for (number, site) in web.sites.iter_mut().enumerate() {
                site.address = [10, 0, 0, number as u8 % shared].into();
                site.answer_ms = 50 + 37 * number as u32;
            }
            let waits = Waits { wait_ms: 1_000, large_site_pages: 1_000, ..Waits::default() };
            let mut harvest = Harvest::new(&web, waits, connections);
            pages.iter().for_each(|page| harvest.push(PageId(*page)));
            let mut last: HashMap<std::net::IpAddr, u64> = HashMap::new();
            let mut seen = 0;
            while let Some(arrival) = harvest.next(u64::MAX, |_| 10) {
                let site = &web.sites[arrival.site.index()];
                let started_ms = arrival.at_ms - u64::from(site.answer_ms);
                // An address waits as long as its sites do, so this holds for sites, too.
                if let Some(before_ms) = last.insert(site.address, arrival.at_ms) {
                    prop_assert!(started_ms >= before_ms + 1_000, "{started_ms} {before_ms}");
                }
                seen += 1;
            }
            prop_assert_eq!(seen, pages.len());
        }
    }

    #[test]
    fn large_sites_are_asked_more_often_and_time_stops_where_it_is_told() {
        let web = web(&[3, 1], &[]);
        let waits =
            Waits { wait_ms: 1_000, large_site_wait_ms: 200, large_site_pages: 2, ..Waits::default() };
        let mut harvest = Harvest::new(&web, waits, 10);
        (0..3).for_each(|page| harvest.push(PageId(page)));
        let mut times = Vec::new();
        while let Some(arrival) = harvest.next(450, |_| 3) {
            times.push(arrival.at_ms);
        }
        assert_eq!((times, harvest.now_ms, harvest.waiting()), (vec![100, 400], 450, 1));
        assert!(harvest.is_open(SiteId(0)) && !harvest.is_open(SiteId(1)));
        assert_eq!(harvest.next(u64::MAX, |_| 3).map(|arrival| arrival.at_ms), Some(700));
        assert_eq!(harvest.next(u64::MAX, |_| 3), None);
    }
}
