//! How long are a site and its address left alone between two requests?

/// The waits of politeness, from the end of an answer to the start of the next request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waits {
    /// For a site. 15 s, as in WIRE.
    pub wait_ms: u64,
    /// For a site with many pages, which would never be covered otherwise and can bear more. 5 s, as in WIRE.
    pub large_site_wait_ms: u64,
    /// A site with more known pages than this is a large one. 100, as in WIRE.
    pub large_site_pages: u32,
    /// For an address, whichever of its sites is next; nothing is as long as the wait of the site that was just asked,
    /// and the default. Thousands of small sites may share a server: who crawls a whole country may want less.
    pub address_wait_ms: Option<u64>,
    /// A longer `Crawl-delay` counts as this one. 60 s: at a minute a page, a day brings 1,440 pages, and who writes more
    /// has most often mistaken the unit. Who means it can be given a longer wait of its own.
    pub most_crawl_delay_ms: u64,
}

impl Waits {
    /// How long a site waits: what the settings say, or longer where its robots.txt asks for it.
    ///
    /// `crawl_delay_ms` is 0 without a `Crawl-delay`. `own_wait_ms` is what the settings say for this very site; it stands
    /// in for the general wait and may be shorter, but a `Crawl-delay` is honoured all the same.
    pub fn site_wait_ms(&self, pages_known: u32, crawl_delay_ms: u64, own_wait_ms: Option<u64>) -> u64 {
        let is_large = pages_known > self.large_site_pages;
        let general = if is_large { self.large_site_wait_ms } else { self.wait_ms };
        own_wait_ms.unwrap_or(general).max(crawl_delay_ms.min(self.most_crawl_delay_ms))
    }
}

impl Default for Waits {
    fn default() -> Waits {
        Waits {
            wait_ms: 15_000,
            large_site_wait_ms: 5_000,
            large_site_pages: 100,
            address_wait_ms: None,
            most_crawl_delay_ms: 60_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_waits_as_long_as_the_strictest_of_those_who_have_a_say() {
        let waits = Waits::default();
        // Known pages, Crawl-delay, own wait, and what comes of them.
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
        for (pages, crawl_delay, own, expected) in cases {
            assert_eq!(
                waits.site_wait_ms(pages, crawl_delay, own),
                expected,
                "{pages} {crawl_delay} {own:?}"
            );
        }
    }
}
