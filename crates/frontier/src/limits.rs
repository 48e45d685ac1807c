//! How deep and how wide may the crawl go?
//!
//! Depth and number of pages end every maze in time; the budget of a domain sees to it that one who owns a name, and with
//! it endlessly many sites below it, gets no more than others think it is worth (Lee, Leonard, Wang and Loguinov, "IRLbot",
//! WWW 2008). This module counts nothing itself.

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
}
