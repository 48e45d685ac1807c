//! What is taken from the lists that sites make of their own pages?

use std::time::Duration;

use super::{DAY, HOUR};
use crate::settings::section::section;
use crate::settings::value::Size;

section! {
    /// What is taken from the lists that sites make of their own pages. They are asked for as politely as pages.
    "sitemaps", SitemapsSection {
        /// Whether sitemaps are read, which robots.txt names or which lie at /sitemap.xml.
        read: bool = true;
        /// Whether sites are asked for their robots.rdf, a list of pages with their times.
        robots_rdf: bool = true;
        /// How long until they are read again.
        period: Duration = 7 * DAY, within HOUR..=(365 * DAY);
        /// How many URLs are taken from the sitemaps of one site.
        urls: u32 = 50_000, within 1..=10_000_000;
        /// How much of one sitemap is read.
        longest: Size = Size(10 << 20), within Size(1_000)..=Size(1 << 30);
    }
}
