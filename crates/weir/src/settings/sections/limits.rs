//! Size limits of the collection.

use crate::settings::section::section;

section! {
    /// Size limits of the collection. URLs beyond a limit are recorded, but not fetched.
    "limits", LimitsSection {
        /// Maximum link depth of static pages, from a seed or from the entry page of the site.
        max_depth_static: u8 = 15, wire "manager/maxdepth/static", reload yes;
        /// Maximum link depth of dynamic pages.
        max_depth_dynamic: u8 = 5, wire "manager/maxdepth/dynamic", reload yes;
        /// Maximum number of known pages per site.
        max_pages_per_site: u32 = 25_000, within 1..=u32::MAX, wire "seeder/max-urls-per-site", reload yes;
        /// Maximum number of known pages.
        max_pages: u32 = 10_000_000, within 1..=u32::MAX, wire "collection/maxdoc", reload yes;
        /// Maximum number of known sites.
        max_sites: u32 = 100_000, within 1..=u32::MAX, wire "collection/maxsite", reload yes;
        /// Maximum number of consecutive redirects.
        max_redirects: u8 = 5, within 0..=6, reload yes;
        /// Page budget of a registered domain, such as example.org, that no other domain links to (IRLbot).
        domain_budget_base: u32 = 25_000, reload yes;
        /// Additional pages per linking domain.
        domain_budget_per_linking_domain: u32 = 5_000, reload yes;
        /// Upper bound of the page budget.
        domain_budget_max: u32 = 1_000_000, reload yes;
    }
}
