//! State of a simulated crawl: the discovered pages, in the order of discovery, with the facts that
//! [`Quality`](frontier::Quality) uses; and the links of the fetched ones.
//!
//! Ids are those a collection would assign: a discovered page gets the next one. Facts are computed as in the crawl:
//! depth from the entry page of a site, links from fetched pages, and OPIC cash, which each page starts with and passes
//! on when it is fetched, or which is held in common.

use frontier::{CashAccount, INITIAL_CASH, PageFacts, SharedCash};
use model::{PageId, SiteId};

use crate::web_model::{WebModel, WebPage};

/// Pages and sites as a crawl knows them.
pub(crate) struct CrawlState<'w> {
    web: &'w WebModel,
    /// Id of each page of the Web model; `UNKNOWN` if it is not discovered.
    ids: Vec<u32>,
    /// Discovered pages, by id.
    pub(crate) pages: Vec<PageState>,
    pub(crate) sites: Vec<SiteState>,
    /// Pages that were not selected yet.
    pub(crate) pending: Vec<u32>,
    /// Fetched pages by id, in the order of fetching, with the end of their links.
    pub(crate) sources: Vec<(PageId, usize)>,
    targets: Vec<PageId>,
    /// Cash of pages without links.
    common_cash: SharedCash,
}

/// A discovered page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageState {
    /// Its id in the Web model.
    pub(crate) page: PageId,
    pub(crate) site: SiteId,
    pub(crate) depth: u8,
    dynamic: bool,
    pub(crate) is_selected: bool,
    pub(crate) is_fetched: bool,
    pub(crate) inlinks: u32,
    pub(crate) purse: CashAccount,
}

/// A site.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SiteState {
    pub(crate) pages_known: u32,
    pub(crate) pages_fetched: u32,
    /// Links from other sites.
    pub(crate) inlinks: u32,
    /// Whether its front page was selected, or does not exist.
    pub(crate) is_entered: bool,
}

const UNKNOWN: u32 = u32::MAX;

impl<'w> CrawlState<'w> {
    /// State with only the seeds.
    pub(crate) fn new(web: &'w WebModel) -> CrawlState<'w> {
        let mut state = CrawlState {
            web,
            ids: vec![UNKNOWN; web.pages.len()],
            pages: Vec::new(),
            sites: vec![SiteState::default(); web.sites.len()],
            pending: Vec::new(),
            sources: Vec::new(),
            targets: Vec::new(),
            common_cash: SharedCash::default(),
        };
        web.seeds.iter().for_each(|seed| {
            state.discover(*seed, 0);
        });
        state
    }

    /// Returns the id of a page, and discovers it if necessary; its depth is the minimum seen.
    pub(crate) fn discover(&mut self, page: PageId, depth: u8) -> u32 {
        let id = &mut self.ids[page.index()];
        if *id != UNKNOWN {
            let state = &mut self.pages[*id as usize];
            state.depth = state.depth.min(depth);
            return *id;
        }
        *id = self.pages.len() as u32;
        let WebPage { site, is_dynamic: dynamic, .. } = self.web.pages[page.index()];
        self.sites[site.index()].pages_known += 1;
        self.pending.push(*id);
        self.pages.push(PageState {
            page,
            site,
            depth,
            dynamic,
            is_selected: false,
            is_fetched: false,
            inlinks: 0,
            purse: CashAccount { cash: INITIAL_CASH, history: 0.0 },
        });
        *id
    }

    /// Returns the id of a page; an unknown page becomes an entry page.
    pub(crate) fn id_of(&mut self, page: PageId) -> u32 {
        let id = self.ids[page.index()];
        if id == UNKNOWN { self.discover(page, 0) } else { id }
    }

    /// Processes a fetched page: counts its links and passes on its cash.
    pub(crate) fn fetch(&mut self, page: PageId) {
        let id = self.id_of(page);
        let links = self.web.links(page);
        let source = &mut self.pages[id as usize];
        source.is_fetched = true;
        let (site, depth) = (source.site, source.depth);
        let purse = &mut source.purse;
        if links.is_empty() {
            self.common_cash.add(purse.cash);
        }
        let cash = purse.distribute(links.len());
        self.sites[site.index()].pages_fetched += 1;
        for target in links {
            let is_own = self.web.pages[target.index()].site == site;
            let found = self.discover(*target, if is_own { depth.saturating_add(1) } else { 1 });
            let state = &mut self.pages[found as usize];
            state.inlinks += 1;
            state.purse.cash += cash;
            self.sites[state.site.index()].inlinks += u32::from(!is_own);
            self.targets.push(PageId(found));
        }
        self.sources.push((PageId(id), self.targets.len()));
    }

    /// Marks pages as selected; each receives an equal part of the common cash.
    pub(crate) fn choose(&mut self, ids: &[u32]) {
        let part = self.common_cash.withdraw(ids.len(), self.pages.len());
        for id in ids {
            let page = &mut self.pages[*id as usize];
            page.is_selected = true;
            page.purse.cash += part;
        }
    }

    /// Facts of a page, without ranks.
    pub(crate) fn facts(&self, id: u32) -> PageFacts {
        let state = &self.pages[id as usize];
        let site = &self.sites[state.site.index()];
        PageFacts {
            page: PageId(id),
            depth: state.depth,
            is_dynamic: state.dynamic,
            inlinks: state.inlinks,
            site_inlinks: site.inlinks,
            site_unfetched_pages: site.pages_known - site.pages_fetched,
            cash: if state.is_fetched { state.purse.importance() } else { state.purse.cash },
            ..PageFacts::default()
        }
    }

    /// Calls `f` with the links of each fetched page, by ids.
    pub(crate) fn for_each_source(&self, f: &mut dyn FnMut(PageId, &[PageId])) {
        let mut from = 0;
        for (source, to) in &self.sources {
            f(*source, &self.targets[from..*to]);
            from = *to;
        }
    }

    /// Fetched pages of the Web model, in the order of fetching.
    pub(crate) fn fetched(&self) -> Vec<PageId> {
        self.sources.iter().map(|(id, _)| self.pages[id.index()].page).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web_model::tests::web;

    #[test]
    fn facts_are_counted_as_in_the_crawl() {
        // 0 is the front page of the first site, 3 that of the second.
        let web = web(&[3, 2], &[(0, 1), (0, 4), (1, 2), (1, 4), (4, 3), (4, 2)]);
        let mut state = CrawlState::new(&web);
        state.fetch(PageId(0));
        let discovered: Vec<u32> = state.pages.iter().map(|page| page.page.0).collect();
        assert_eq!(discovered, [0, 1, 4], "ids are assigned in the order of discovery");
        let facts = state.facts(2);
        assert_eq!(
            (facts.depth, facts.inlinks, facts.site_inlinks, facts.site_unfetched_pages),
            (1, 1, 1, 1)
        );
        assert_eq!(facts.cash, 1.5);
        state.fetch(PageId(1));
        let facts = state.facts(2);
        assert_eq!((facts.inlinks, facts.cash, state.facts(1).cash), (2, 2.25, 1.5));
        assert_eq!(state.facts(3).depth, 2);
        state.fetch(PageId(4));
        assert_eq!(state.facts(3).depth, 1, "a link from another site makes an entry page");
        assert_eq!(state.fetched(), [PageId(0), PageId(1), PageId(4)]);
        state.fetch(PageId(3));
        let before = state.facts(3).cash;
        state.choose(&[3]);
        // Of the cash of a page without links, each of the five pages takes a fifth.
        assert!((state.facts(3).cash - before - state.facts(4).cash / 5.0).abs() < 1e-6);
        let mut links = 0;
        state.for_each_source(&mut |_, targets| links += targets.len());
        assert_eq!((links, state.pages.len()), (6, 5));
    }
}
