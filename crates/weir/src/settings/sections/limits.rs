//! How much is enough?

use crate::settings::section::section;

section! {
    /// How much is enough. What lies beyond is known by its URL, and not fetched.
    "limits", LimitsSection {
        /// How many links from a seed, or from where its site was entered, a page may lie away.
        depth_static: u8 = 15, wire "manager/maxdepth/static";
        /// The same for pages that a program makes.
        depth_dynamic: u8 = 5, wire "manager/maxdepth/dynamic";
        /// How many pages of one site may be known.
        pages_per_site: u32 = 25_000, within 1..=u32::MAX, wire "seeder/max-urls-per-site";
        /// How many pages the collection may know.
        pages: u32 = 10_000_000, within 1..=u32::MAX, wire "collection/maxdoc";
        /// How many sites it may know.
        sites: u32 = 100_000, within 1..=u32::MAX, wire "collection/maxsite";
        /// How many redirects in a row are followed.
        redirects: u8 = 5, within 0..=6;
        /// How many pages of one registered domain, such as example.org, are fetched if no other domain links to it.
        domain_pages: u32 = 25_000;
        /// How many more for each other domain that links to it.
        domain_pages_per_link: u32 = 5_000;
        /// How many at most.
        domain_pages_most: u32 = 1_000_000;
    }
}
