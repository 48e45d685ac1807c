//! Sitemaps and robots.rdf.

use std::time::Duration;

use super::{DAY, HOUR};
use crate::settings::section::section;
use crate::settings::value::Size;

section! {
    /// Sitemaps and robots.rdf, fetched with the same delays as pages.
    "sitemaps", SitemapsSection {
        /// Read the sitemaps named in robots.txt and /sitemap.xml.
        enabled: bool = true;
        /// Request /robots.rdf, a list of pages with their modification times.
        robots_rdf: bool = true;
        /// Refresh interval of sitemaps.
        refresh_interval: Duration = 7 * DAY, within HOUR..=(365 * DAY);
        /// Maximum number of URLs from the sitemaps of one site.
        max_urls_per_site: u32 = 50_000, within 1..=10_000_000;
        /// Maximum size of one sitemap; the rest is not read.
        max_size: Size = Size(10 << 20), within Size(1_000)..=Size(1 << 30);
    }
}
