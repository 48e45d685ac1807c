//! What is crawled in an experiment? A Web that is wholly known: who links to whom, which pages belong together, how
//! fast sites answer, how often pages change.
//!
//! It is in memory, with 4 bytes a link and about 20 a page, and it never changes. Pages and sites are numbered from 0.

use std::net::IpAddr;

use model::{PageId, SiteId};

/// A Web and everything an experiment may know about it.
#[derive(Debug, Clone, Default)]
pub struct Web {
    /// In order of their numbers.
    pub pages: Vec<WebPage>,
    /// In order of their numbers.
    pub sites: Vec<WebSite>,
    /// Where a crawl begins.
    pub seeds: Vec<PageId>,
    /// Where the links of each page begin in `targets`, and at last where all end.
    first_link: Vec<u32>,
    targets: Vec<PageId>,
}

/// A page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WebPage {
    /// Its site.
    pub site: SiteId,
    /// Its URL looks as if a program made it.
    pub dynamic: bool,
    /// How often it changes.
    pub changes_per_day: f32,
    /// Its server tells when it was last modified.
    pub dated: bool,
    /// Who asks for it gets something, so that there is a copy to be kept fresh.
    pub has_content: bool,
}

/// A site.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WebSite {
    /// Its address, which it may share with others.
    pub address: IpAddr,
    /// The page that a crawl asks for first, if it is there.
    pub front_page: Option<PageId>,
    /// How long an answer takes.
    pub answer_ms: u32,
    /// The wait that its robots.txt asks for; 0 without.
    pub crawl_delay_ms: u32,
}

/// No more links fit.
pub(crate) const MOST_LINKS: usize = u32::MAX as usize;

impl Web {
    /// A Web of these pages and sites, without links.
    pub fn new(pages: Vec<WebPage>, sites: Vec<WebSite>, seeds: Vec<PageId>) -> Web {
        Web { pages, sites, seeds, first_link: vec![0], targets: Vec::new() }
    }

    /// Adds the links of the next page, in the order of numbers. A link to the page itself, to a page that is not there,
    /// or to the same page for a second time is left out; so is what does not fit.
    pub fn push_links(&mut self, targets: &mut Vec<PageId>) {
        let source = PageId((self.first_link.len() - 1) as u32);
        targets.retain(|target| *target != source && target.index() < self.pages.len());
        targets.sort_unstable();
        targets.dedup();
        targets.truncate(MOST_LINKS - self.targets.len());
        self.targets.extend_from_slice(targets);
        self.first_link.push(self.targets.len() as u32);
    }

    /// The pages a page links to, in ascending order.
    pub fn links(&self, page: PageId) -> &[PageId] {
        let bounds = self.first_link.get(page.index()).zip(self.first_link.get(page.index() + 1));
        bounds.map_or(&[], |(from, to)| &self.targets[*from as usize..*to as usize])
    }

    /// How many links there are.
    pub fn link_count(&self) -> usize {
        self.targets.len()
    }

    /// How many links lead to each page.
    pub fn in_links(&self) -> Vec<u32> {
        let mut counts = vec![0; self.pages.len()];
        self.targets.iter().for_each(|target| counts[target.index()] += 1);
        counts
    }

    /// How many pages a crawl knows of each site when it is through.
    pub fn pages_known(&self) -> Vec<u32> {
        let mut counts = vec![0; self.sites.len()];
        let known = self.pages.iter().zip(self.reachable()).filter(|(_, is_reached)| *is_reached);
        known.for_each(|(page, _)| counts[page.site.index()] += 1);
        counts
    }

    /// Which pages can be reached from the seeds, by links or as the front page of a site that was met.
    pub fn reachable(&self) -> Vec<bool> {
        let mut reached = vec![false; self.pages.len()];
        let mut met = vec![false; self.sites.len()];
        let mut open: Vec<PageId> = self.seeds.clone();
        while let Some(page) = open.pop() {
            if std::mem::replace(&mut reached[page.index()], true) {
                continue;
            }
            let site = self.pages[page.index()].site.index();
            if !std::mem::replace(&mut met[site], true) {
                open.extend(self.sites[site].front_page);
            }
            open.extend(self.links(page).iter().filter(|target| !reached[target.index()]));
        }
        reached
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A Web of sites with so many pages each; the first page of each is its front page, the very first the seed.
    pub(crate) fn web(sites: &[u32], links: &[(u32, u32)]) -> Web {
        let mut pages = Vec::new();
        let mut list = Vec::new();
        for (number, count) in sites.iter().enumerate() {
            list.push(WebSite {
                address: IpAddr::from([10, 0, 0, number as u8]),
                front_page: Some(PageId(pages.len() as u32)),
                answer_ms: 100,
                crawl_delay_ms: 0,
            });
            let page = WebPage {
                site: SiteId(number as u32),
                dynamic: false,
                changes_per_day: 0.1,
                dated: false,
                has_content: true,
            };
            pages.extend((0..*count).map(|_| page));
        }
        let count = pages.len() as u32;
        let mut web = Web::new(pages, list, vec![PageId(0)]);
        for page in 0..count {
            let of = links.iter().filter(|(source, _)| *source == page);
            web.push_links(&mut of.map(|(_, target)| PageId(*target)).collect());
        }
        web
    }

    #[test]
    fn links_are_kept_once_and_only_to_others() {
        let web = web(&[3], &[(0, 2), (0, 1), (0, 2), (0, 0), (2, 9), (2, 1)]);
        assert_eq!(web.links(PageId(0)), [PageId(1), PageId(2)]);
        assert_eq!(web.links(PageId(1)), []);
        assert_eq!(web.links(PageId(2)), [PageId(1)]);
        assert_eq!((web.links(PageId(7)), web.link_count()), (&[][..], 3));
        assert_eq!(web.in_links(), [0, 2, 1]);
    }

    #[test]
    fn a_site_that_is_met_is_entered_by_its_front_page_too() {
        let web = web(&[1, 3], &[(0, 2), (1, 3)]);
        assert_eq!(web.reachable(), [true, true, true, true]);
        assert_eq!(web.pages_known(), [1, 3]);
    }
}
