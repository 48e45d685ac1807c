//! What has a crawl found out so far? The pages it has met, in the order of meeting, with the facts that
//! [`Quality`](frontier::Quality) looks at; and the links of those it has fetched.
//!
//! Numbers here are those a collection would give: a page that is met gets the next one. Facts are counted as the crawl counts
//! them: depth from where a site was entered, links from fetched pages, cash that every page begins with and passes on at its
//! visit, or that is held in common.

use frontier::{CommonCash, FIRST_CASH, PageFacts, Purse};
use model::{PageId, SiteId};

use crate::web::{Web, WebPage};

/// Pages and sites as a crawl knows them.
pub(crate) struct Known<'w> {
    web: &'w Web,
    /// The number of each page of the Web; `UNKNOWN` if it was not met.
    numbers: Vec<u32>,
    /// By number from here on.
    pub(crate) pages: Vec<KnownPage>,
    pub(crate) sites: Vec<KnownSite>,
    /// Pages that were not chosen yet.
    pub(crate) pending: Vec<u32>,
    /// Fetched pages by number, in the order of fetching, with the end of their links.
    pub(crate) sources: Vec<(PageId, usize)>,
    targets: Vec<PageId>,
    /// Of pages without links.
    common_cash: CommonCash,
}

/// A page that was met.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownPage {
    /// Its number in the Web.
    pub(crate) page: PageId,
    pub(crate) site: SiteId,
    pub(crate) depth: u8,
    dynamic: bool,
    pub(crate) is_chosen: bool,
    pub(crate) is_fetched: bool,
    pub(crate) in_links: u32,
    pub(crate) purse: Purse,
}

/// A site, met or not.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KnownSite {
    pub(crate) pages_known: u32,
    pub(crate) pages_fetched: u32,
    /// From other sites.
    pub(crate) in_links: u32,
    /// Whether its front page was asked for, or is not there to be asked for.
    pub(crate) is_entered: bool,
}

const UNKNOWN: u32 = u32::MAX;

impl<'w> Known<'w> {
    /// The seeds, and nothing else.
    pub(crate) fn new(web: &'w Web) -> Known<'w> {
        let mut known = Known {
            web,
            numbers: vec![UNKNOWN; web.pages.len()],
            pages: Vec::new(),
            sites: vec![KnownSite::default(); web.sites.len()],
            pending: Vec::new(),
            sources: Vec::new(),
            targets: Vec::new(),
            common_cash: CommonCash::default(),
        };
        web.seeds.iter().for_each(|seed| {
            known.meet(*seed, 0);
        });
        known
    }

    /// The number of a page, which is met by now if it was not before; its depth is the least it was met at.
    pub(crate) fn meet(&mut self, page: PageId, depth: u8) -> u32 {
        let number = &mut self.numbers[page.index()];
        if *number != UNKNOWN {
            let known = &mut self.pages[*number as usize];
            known.depth = known.depth.min(depth);
            return *number;
        }
        *number = self.pages.len() as u32;
        let WebPage { site, dynamic, .. } = self.web.pages[page.index()];
        self.sites[site.index()].pages_known += 1;
        self.pending.push(*number);
        self.pages.push(KnownPage {
            page,
            site,
            depth,
            dynamic,
            is_chosen: false,
            is_fetched: false,
            in_links: 0,
            purse: Purse { cash: FIRST_CASH, history: 0.0 },
        });
        *number
    }

    /// The number of a page; one that nobody has met is entered here.
    pub(crate) fn number(&mut self, page: PageId) -> u32 {
        let number = self.numbers[page.index()];
        if number == UNKNOWN { self.meet(page, 0) } else { number }
    }

    /// A page has come: its links are counted, and its cash is passed on.
    pub(crate) fn fetch(&mut self, page: PageId) {
        let number = self.number(page);
        let links = self.web.links(page);
        let source = &mut self.pages[number as usize];
        source.is_fetched = true;
        let (site, depth) = (source.site, source.depth);
        let purse = &mut source.purse;
        if links.is_empty() {
            self.common_cash.add(purse.cash);
        }
        let cash = purse.pass_on(links.len());
        self.sites[site.index()].pages_fetched += 1;
        for target in links {
            let is_own = self.web.pages[target.index()].site == site;
            let found = self.meet(*target, if is_own { depth.saturating_add(1) } else { 1 });
            let known = &mut self.pages[found as usize];
            known.in_links += 1;
            known.purse.cash += cash;
            self.sites[known.site.index()].in_links += u32::from(!is_own);
            self.targets.push(PageId(found));
        }
        self.sources.push((PageId(number), self.targets.len()));
    }

    /// Pages are chosen: each takes its equal part of the cash that nobody could pass on.
    pub(crate) fn choose(&mut self, numbers: &[u32]) {
        let part = self.common_cash.take(numbers.len(), self.pages.len());
        for number in numbers {
            let page = &mut self.pages[*number as usize];
            page.is_chosen = true;
            page.purse.cash += part;
        }
    }

    /// What is known about a page, without ranks.
    pub(crate) fn facts(&self, number: u32) -> PageFacts {
        let known = &self.pages[number as usize];
        let site = &self.sites[known.site.index()];
        PageFacts {
            page: PageId(number),
            depth: known.depth,
            dynamic: known.dynamic,
            in_links: known.in_links,
            site_in_links: site.in_links,
            site_pending: site.pages_known - site.pages_fetched,
            cash: if known.is_fetched { known.purse.importance() } else { known.purse.cash },
            ..PageFacts::default()
        }
    }

    /// Shows the links of every fetched page, by numbers.
    pub(crate) fn pass(&self, each: &mut dyn FnMut(PageId, &[PageId])) {
        let mut from = 0;
        for (source, to) in &self.sources {
            each(*source, &self.targets[from..*to]);
            from = *to;
        }
    }

    /// The pages of the Web that were fetched, in the order of fetching.
    pub(crate) fn fetched(&self) -> Vec<PageId> {
        self.sources.iter().map(|(number, _)| self.pages[number.index()].page).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::tests::web;

    #[test]
    fn facts_are_counted_as_the_crawl_counts_them() {
        // 0 is the front page of the first site, 3 that of the second.
        let web = web(&[3, 2], &[(0, 1), (0, 4), (1, 2), (1, 4), (4, 3), (4, 2)]);
        let mut known = Known::new(&web);
        known.fetch(PageId(0));
        let met: Vec<u32> = known.pages.iter().map(|page| page.page.0).collect();
        assert_eq!(met, [0, 1, 4], "numbers are given in the order of meeting");
        let facts = known.facts(2);
        assert_eq!((facts.depth, facts.in_links, facts.site_in_links, facts.site_pending), (1, 1, 1, 1));
        assert_eq!(facts.cash, 1.5);
        known.fetch(PageId(1));
        let facts = known.facts(2);
        assert_eq!((facts.in_links, facts.cash, known.facts(1).cash), (2, 2.25, 1.5));
        assert_eq!(known.facts(3).depth, 2);
        known.fetch(PageId(4));
        assert_eq!(known.facts(3).depth, 1, "a link from another site enters here");
        assert_eq!(known.fetched(), [PageId(0), PageId(1), PageId(4)]);
        known.fetch(PageId(3));
        let before = known.facts(3).cash;
        known.choose(&[3]);
        // Of the cash of a page without links, each of the five pages takes a fifth.
        assert!((known.facts(3).cash - before - known.facts(4).cash / 5.0).abs() < 1e-6);
        let mut links = 0;
        known.pass(&mut |_, targets| links += targets.len());
        assert_eq!((links, known.pages.len()), (6, 5));
    }
}
