//! Web model: a completely known Web with its links, sites, response times and change rates.
//!
//! It is in memory, with 4 bytes per link and about 20 per page, and immutable. Ids of pages and sites start at 0.

use std::net::IpAddr;

use model::{PageId, SiteId};

/// A completely known Web.
#[derive(Debug, Clone, Default)]
pub struct WebModel {
    /// Pages by id.
    pub pages: Vec<WebPage>,
    /// Sites by id.
    pub sites: Vec<WebSite>,
    /// Seeds of the crawl.
    pub seeds: Vec<PageId>,
    /// Start of the links of each page in `targets`, and the end of all.
    first_link: Vec<u32>,
    targets: Vec<PageId>,
}

/// A page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WebPage {
    /// Its site.
    pub site: SiteId,
    /// Whether its URL is dynamic.
    pub is_dynamic: bool,
    /// Change rate.
    pub changes_per_day: f32,
    /// Whether its server states the time of the last change.
    pub has_last_modified: bool,
    /// Whether a fetch returns content.
    pub has_content: bool,
}

/// A site.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WebSite {
    /// IP address, possibly shared with other sites.
    pub ip_address: IpAddr,
    /// The page that a crawl fetches first, if it exists.
    pub front_page: Option<PageId>,
    /// Response time.
    pub response_ms: u32,
    /// Crawl-delay in robots.txt; 0 for none.
    pub crawl_delay_ms: u32,
}

/// Maximum number of links.
pub(crate) const MAX_LINKS: usize = u32::MAX as usize;

impl WebModel {
    /// Creates a model of these pages and sites, without links.
    pub fn new(pages: Vec<WebPage>, sites: Vec<WebSite>, seeds: Vec<PageId>) -> WebModel {
        WebModel { pages, sites, seeds, first_link: vec![0], targets: Vec::new() }
    }

    /// Adds the links of the next page, by id. Self-links, links to missing pages, repeated links, and links beyond the
    /// maximum are dropped.
    pub fn push_links(&mut self, targets: &mut Vec<PageId>) {
        let source = PageId((self.first_link.len() - 1) as u32);
        targets.retain(|target| *target != source && target.index() < self.pages.len());
        targets.sort_unstable();
        targets.dedup();
        targets.truncate(MAX_LINKS - self.targets.len());
        self.targets.extend_from_slice(targets);
        self.first_link.push(self.targets.len() as u32);
    }

    /// Pages that a page links to, ascending.
    pub fn links(&self, page: PageId) -> &[PageId] {
        let bounds = self.first_link.get(page.index()).zip(self.first_link.get(page.index() + 1));
        bounds.map_or(&[], |(from, to)| &self.targets[*from as usize..*to as usize])
    }

    /// Number of links.
    pub fn link_count(&self) -> usize {
        self.targets.len()
    }

    /// Number of links to each page.
    pub fn inlinks(&self) -> Vec<u32> {
        let mut counts = vec![0; self.pages.len()];
        self.targets.iter().for_each(|target| counts[target.index()] += 1);
        counts
    }

    /// Number of pages of each site that a finished crawl knows.
    pub fn pages_known(&self) -> Vec<u32> {
        let mut counts = vec![0; self.sites.len()];
        let known = self.pages.iter().zip(self.reachable()).filter(|(_, is_reached)| *is_reached);
        known.for_each(|(page, _)| counts[page.site.index()] += 1);
        counts
    }

    /// Whether each page is reachable from the seeds, by links or as the front page of a discovered site.
    pub fn reachable(&self) -> Vec<bool> {
        let mut reached = vec![false; self.pages.len()];
        let mut is_discovered = vec![false; self.sites.len()];
        let mut open: Vec<PageId> = self.seeds.clone();
        while let Some(page) = open.pop() {
            if std::mem::replace(&mut reached[page.index()], true) {
                continue;
            }
            let site = self.pages[page.index()].site.index();
            if !std::mem::replace(&mut is_discovered[site], true) {
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

    /// A Web model of sites with these numbers of pages; the first page of each is its front page, the very first the seed.
    pub(crate) fn web(sites: &[u32], links: &[(u32, u32)]) -> WebModel {
        let mut pages = Vec::new();
        let mut list = Vec::new();
        for (number, count) in sites.iter().enumerate() {
            list.push(WebSite {
                ip_address: IpAddr::from([10, 0, 0, number as u8]),
                front_page: Some(PageId(pages.len() as u32)),
                response_ms: 100,
                crawl_delay_ms: 0,
            });
            let page = WebPage {
                site: SiteId(number as u32),
                is_dynamic: false,
                changes_per_day: 0.1,
                has_last_modified: false,
                has_content: true,
            };
            pages.extend((0..*count).map(|_| page));
        }
        let count = pages.len() as u32;
        let mut web = WebModel::new(pages, list, vec![PageId(0)]);
        for page in 0..count {
            let of = links.iter().filter(|(source, _)| *source == page);
            web.push_links(&mut of.map(|(_, target)| PageId(*target)).collect());
        }
        web
    }

    #[test]
    fn repeated_links_and_self_links_are_dropped() {
        let web = web(&[3], &[(0, 2), (0, 1), (0, 2), (0, 0), (2, 9), (2, 1)]);
        assert_eq!(web.links(PageId(0)), [PageId(1), PageId(2)]);
        assert_eq!(web.links(PageId(1)), []);
        assert_eq!(web.links(PageId(2)), [PageId(1)]);
        assert_eq!((web.links(PageId(7)), web.link_count()), (&[][..], 3));
        assert_eq!(web.inlinks(), [0, 2, 1]);
    }

    #[test]
    fn the_front_page_of_a_discovered_site_is_reachable() {
        let web = web(&[1, 3], &[(0, 2), (1, 3)]);
        assert_eq!(web.reachable(), [true, true, true, true]);
        assert_eq!(web.pages_known(), [1, 3]);
    }
}
