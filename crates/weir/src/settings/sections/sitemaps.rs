//! Sitemaps and robots.rdf.

use crate::settings::section::section;
use crate::settings::value::Size;

section! {
    /// Sitemaps and robots.rdf, fetched with the same delays as pages.
    "sitemaps", SitemapsSection {
        /// Read the sitemaps named in robots.txt.
        enabled: bool = true;
        /// Request /sitemap.xml of sites whose robots.txt names no sitemap.
        default_path: bool = false;
        /// Request /robots.rdf, a list of pages with their modification times.
        robots_rdf: bool = true;
        /// Maximum number of URLs from the sitemaps of one site.
        max_urls_per_site: u32 = 50_000, within 1..=10_000_000;
        /// Maximum size of one sitemap; the rest is not read.
        max_size: Size = Size(10 << 20), within Size(1_000)..=Size(1 << 30);
    }
}
