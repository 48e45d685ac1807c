//! Limits on depth and number of pages, and the page budget of registered domains.
//!
//! Limits on depth and pages end every crawler trap. The budget of a registered domain grows with the number of domains that
//! link to it, because its owner can create any number of hosts (Lee, Leonard, Wang and Loguinov, "IRLbot", WWW 2008). This
//! module counts nothing itself.

use model::{Reason, UrlClass};

/// Maximum sizes of a crawl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Link depth from the entry page of the site, for static pages. 15, as in WIRE.
    pub depth_static: u8,
    /// Maximum depth of dynamic pages. 5, as in WIRE.
    pub depth_dynamic: u8,
    /// Known pages per site. 25,000, as in WIRE.
    pub pages_per_site: u64,
    /// Known pages of the collection. 10 million, as in WIRE.
    pub pages: u64,
    /// Sites of the collection. 100,000, as in WIRE.
    pub sites: u64,
    /// Consecutive redirects. 5.
    pub redirects: u8,
    /// Known pages per registered domain.
    pub domain: DomainBudget,
}

/// Page budget of a registered domain, which grows with the number of domains that link to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainBudget {
    /// Budget without links from other domains. 25,000, enough for one site of the seeds.
    pub base_pages: u64,
    /// Additional pages per linking domain. 5,000.
    pub pages_per_linking_domain: u64,
    /// Upper bound. 1 million.
    pub max_pages: u64,
}

impl Limits {
    /// Checks the link depth of a page of this class.
    pub fn check_depth(&self, class: UrlClass, depth: u8) -> Result<(), Reason> {
        let max_depth = match class {
            UrlClass::Static => self.depth_static,
            UrlClass::Dynamic => self.depth_dynamic,
            UrlClass::Logged(_) => return Err(Reason::FileExtension),
        };
        if depth > max_depth { Err(Reason::TooDeep) } else { Ok(()) }
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
    /// Budget with this number of linking domains.
    pub fn allowed_pages(&self, linking_domains: u32) -> u64 {
        let earned = self.pages_per_linking_domain.saturating_mul(u64::from(linking_domains));
        self.base_pages.saturating_add(earned).min(self.max_pages)
    }
}

impl Default for DomainBudget {
    fn default() -> DomainBudget {
        DomainBudget { base_pages: 25_000, pages_per_linking_domain: 5_000, max_pages: 1_000_000 }
    }
}

#[cfg(test)]
mod tests {
    use model::FileClass;

    use super::*;

    #[test]
    fn dynamic_pages_are_followed_less_deep() {
        let limits = Limits::default();
        assert_eq!(limits.check_depth(UrlClass::Static, 15), Ok(()));
        assert_eq!(limits.check_depth(UrlClass::Static, 16), Err(Reason::TooDeep));
        assert_eq!(limits.check_depth(UrlClass::Dynamic, 5), Ok(()));
        assert_eq!(limits.check_depth(UrlClass::Dynamic, 6), Err(Reason::TooDeep));
        assert_eq!(limits.check_depth(UrlClass::Logged(FileClass::Image), 0), Err(Reason::FileExtension));
    }

    #[test]
    fn a_budget_grows_with_the_linking_domains_up_to_its_limit() {
        let budget = DomainBudget::default();
        assert_eq!(
            [0, 1, 10, 195, 266, u32::MAX].map(|domains| budget.allowed_pages(domains)),
            [25_000, 30_000, 75_000, 1_000_000, 1_000_000, 1_000_000]
        );
        let endless = DomainBudget { base_pages: 1, pages_per_linking_domain: u64::MAX, max_pages: u64::MAX };
        assert_eq!(endless.allowed_pages(u32::MAX), u64::MAX);
    }
}
