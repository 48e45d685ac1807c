//! Delays between two requests to a site and to an address.

/// Delays between requests, from the end of a response to the start of the next request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Politeness {
    /// Delay for a site. 15 s, as in WIRE.
    pub site_delay_ms: u64,
    /// Delay for a large site, whose pages could otherwise never all be fetched. 5 s, as in WIRE.
    pub large_site_delay_ms: u64,
    /// A site with more known pages than this is large. 100, as in WIRE.
    pub large_site_min_pages: u32,
    /// Delay for an IP address, shared by all its sites; `None`, the default, uses the delay of the site just contacted. A
    /// crawl of a whole country may need a shorter one, since thousands of small sites can share a server.
    pub address_delay_ms: Option<u64>,
    /// Upper bound for `Crawl-delay` of robots.txt. 60 s, which allows 1,440 pages a day: longer values are mostly
    /// mistaken units. The settings of a site can set a longer delay.
    pub max_crawl_delay_ms: u64,
}

impl Politeness {
    /// Delay for a site: the configured one, or the longer `Crawl-delay` of its robots.txt.
    ///
    /// `crawl_delay_ms` is 0 without a `Crawl-delay`. `configured_delay_ms` is the setting of this site; it replaces the
    /// general delay and may be shorter, but a longer `Crawl-delay` still applies.
    pub fn delay_for_site_ms(
        &self,
        pages_known: u32,
        crawl_delay_ms: u64,
        configured_delay_ms: Option<u64>,
    ) -> u64 {
        let is_large = pages_known > self.large_site_min_pages;
        let default_ms = if is_large { self.large_site_delay_ms } else { self.site_delay_ms };
        configured_delay_ms.unwrap_or(default_ms).max(crawl_delay_ms.min(self.max_crawl_delay_ms))
    }
}

impl Default for Politeness {
    fn default() -> Politeness {
        Politeness {
            site_delay_ms: 15_000,
            large_site_delay_ms: 5_000,
            large_site_min_pages: 100,
            address_delay_ms: None,
            max_crawl_delay_ms: 60_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_of_the_configured_delay_and_the_crawl_delay_applies() {
        let politeness = Politeness::default();
        // Known pages, Crawl-delay, configured delay, and the result.
        let cases = [
            (0, 0, None, 15_000),
            (100, 0, None, 15_000),
            (101, 0, None, 5_000),
            (101, 2_000, None, 5_000),
            (101, 10_000, None, 10_000),
            (1, 10_000, None, 15_000),
            (1, 3_600_000, None, 60_000),
            (1, 0, Some(200), 200),
            (1, 10_000, Some(200), 10_000),
            (1, 3_600_000, Some(90_000), 90_000),
        ];
        for (pages, crawl_delay, configured, expected) in cases {
            assert_eq!(
                politeness.delay_for_site_ms(pages, crawl_delay, configured),
                expected,
                "{pages} {crawl_delay} {configured:?}"
            );
        }
    }
}
