//! How deep and how wide may the crawl go?
//!
//! Depth and number of pages end every maze in time; the budget of a domain sees to it that one who owns a name, and with
//! it endlessly many sites below it, gets no more than others think it is worth (Lee, Leonard, Wang and Loguinov, "IRLbot",
//! WWW 2008). Everything is judged before a page is numbered or chosen; this module counts nothing itself.

use model::{Reason, UrlClass};

/// The sizes that nothing may exceed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Links away from where its site was entered, for static pages. 15, as in WIRE.
    pub depth_static: u8,
    /// The same for dynamic pages. 5, as in WIRE.
    pub depth_dynamic: u8,
    /// Known pages of one site. 25,000, as in WIRE.
    pub pages_per_site: u64,
    /// Known pages of the collection. 10 million, as in WIRE.
    pub pages: u64,
    /// Sites of the collection. 100,000, as in WIRE.
    pub sites: u64,
    /// Redirects in a row. 5.
    pub redirects: u8,
    /// Known pages of one registered domain.
    pub domain: DomainBudget,
}

/// What is known about the place where one more page would go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Known {
    /// Pages of the collection.
    pub pages: u64,
    /// Sites of the collection.
    pub sites: u64,
    /// Pages of the page's site; none if the site is not known yet.
    pub site_pages: Option<u64>,
    /// Pages of all sites of its registered domain.
    pub domain_pages: u64,
    /// Other domains that link to it, by [`linking_domains`](crate::linking_domains).
    pub linking_domains: u32,
}

/// How many pages a registered domain may have: more, the more other domains link to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainBudget {
    /// Without any link from another domain. 25,000, so that one site of a crawl's own seeds is covered.
    pub base: u64,
    /// In addition for each other domain that links to it. 5,000.
    pub per_linking_domain: u64,
    /// However many link to it. 1 million.
    pub most: u64,
}

impl Limits {
    /// Whether a page of this class may lie so many links away from where its site was entered.
    pub fn judge_depth(&self, class: UrlClass, depth: u8) -> Result<(), Reason> {
        let most = match class {
            UrlClass::Static => self.depth_static,
            UrlClass::Dynamic => self.depth_dynamic,
            UrlClass::Logged(_) => return Err(Reason::NotAPage),
        };
        if depth > most { Err(Reason::TooDeep) } else { Ok(()) }
    }

    /// Whether there is room for one more page.
    pub fn judge_room(&self, known: &Known) -> Result<(), Reason> {
        if known.pages >= self.pages || (known.site_pages.is_none() && known.sites >= self.sites) {
            return Err(Reason::CollectionFull);
        }
        if known.site_pages.unwrap_or(0) >= self.pages_per_site {
            return Err(Reason::SiteFull);
        }
        if known.domain_pages >= self.domain.pages(known.linking_domains) {
            return Err(Reason::DomainBudget);
        }
        Ok(())
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            depth_static: 15,
            depth_dynamic: 5,
            pages_per_site: 25_000,
            pages: 10_000_000,
            sites: 100_000,
            redirects: 5,
            domain: DomainBudget::default(),
        }
    }
}

impl DomainBudget {
    /// The pages that so many linking domains earn.
    pub fn pages(&self, linking_domains: u32) -> u64 {
        let earned = self.per_linking_domain.saturating_mul(u64::from(linking_domains));
        self.base.saturating_add(earned).min(self.most)
    }
}

impl Default for DomainBudget {
    fn default() -> DomainBudget {
        DomainBudget { base: 25_000, per_linking_domain: 5_000, most: 1_000_000 }
    }
}

#[cfg(test)]
mod tests {
    use model::Group;

    use super::*;

    #[test]
    fn dynamic_pages_are_followed_less_deep() {
        let limits = Limits::default();
        assert_eq!(limits.judge_depth(UrlClass::Static, 15), Ok(()));
        assert_eq!(limits.judge_depth(UrlClass::Static, 16), Err(Reason::TooDeep));
        assert_eq!(limits.judge_depth(UrlClass::Dynamic, 5), Ok(()));
        assert_eq!(limits.judge_depth(UrlClass::Dynamic, 6), Err(Reason::TooDeep));
        assert_eq!(limits.judge_depth(UrlClass::Logged(Group::Image), 0), Err(Reason::NotAPage));
    }

    #[test]
    fn a_budget_grows_with_the_domains_that_link_in_up_to_its_limit() {
        let budget = DomainBudget::default();
        assert_eq!(
            [0, 1, 10, 195, 266, u32::MAX].map(|domains| budget.pages(domains)),
            [25_000, 30_000, 75_000, 1_000_000, 1_000_000, 1_000_000]
        );
        let endless = DomainBudget { base: 1, per_linking_domain: u64::MAX, most: u64::MAX };
        assert_eq!(endless.pages(u32::MAX), u64::MAX);
    }

    #[test]
    fn each_limit_has_its_reason() {
        let limits = Limits::default();
        let room = Known { site_pages: Some(1), ..Known::default() };
        let cases = [
            (room, Ok(())),
            (Known { pages: 10_000_000, ..room }, Err(Reason::CollectionFull)),
            (Known { sites: 100_000, ..room }, Ok(())),
            (Known { sites: 100_000, site_pages: None, ..room }, Err(Reason::CollectionFull)),
            (Known { site_pages: Some(24_999), ..room }, Ok(())),
            (Known { site_pages: Some(25_000), ..room }, Err(Reason::SiteFull)),
            (Known { domain_pages: 25_000, ..room }, Err(Reason::DomainBudget)),
            (Known { domain_pages: 25_000, linking_domains: 1, ..room }, Ok(())),
        ];
        for (known, expected) in cases {
            assert_eq!(limits.judge_room(&known), expected, "{known:?}");
        }
    }
}
