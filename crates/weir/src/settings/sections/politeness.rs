//! When may a site be asked again?

use std::time::Duration;

use super::{DAY, HOUR, MINUTE, SECOND};
use crate::settings::section::section;

section! {
    /// When a site may be asked again. A site and its address get one request at a time; a wait is from the end of an answer
    /// to the next request.
    "politeness", PolitenessSection {
        /// How long to wait between two requests to a site.
        wait: Duration = 15 * SECOND, within Duration::ZERO..=DAY, wire "harvester/wait/normal", applies at_once;
        /// How long if the site is large, which would never be covered otherwise.
        large_site_wait: Duration = 5 * SECOND, within Duration::ZERO..=DAY, applies at_once;
        /// A site with more known pages than this is large.
        large_site_pages: u32 = 100, applies at_once;
        /// How long to wait between two requests to an address, whichever of its sites they are for; "none" is as long as for
        /// the site that was just asked. Thousands of small sites may share a server: who crawls a whole country may want less.
        address_wait: Option<Duration> = None, within None..=Some(DAY), applies at_once;
        /// The longest wait that robots.txt may ask for by Crawl-delay; a longer one counts as this.
        most_crawl_delay: Duration = MINUTE, within Duration::ZERO..=DAY, applies at_once;
        /// How long an answer about robots.txt counts.
        robots_period: Duration = DAY, within MINUTE..=(30 * DAY), applies at_once;
        /// How long until robots.txt is asked for again if it could not be had, and with it the site not be asked at all.
        robots_retry: Duration = HOUR, within SECOND..=(30 * DAY), applies at_once;
        /// How long a site is left alone after a failure; each further one in a row doubles it. Up to a quarter is added at
        /// random, so that sites that failed together do not come back together.
        back_off: Duration = 30 * SECOND, within Duration::ZERO..=DAY, applies at_once;
        /// How long at most.
        most_back_off: Duration = DAY, within Duration::ZERO..=(30 * DAY), applies at_once;
        /// The longest Retry-After that is obeyed; a longer one counts as this.
        most_retry_after: Duration = DAY, within Duration::ZERO..=(30 * DAY), applies at_once;
        /// After so many failures in a row a site is left to a later batch.
        site_errors: u16 = 5, within 1..=10_000, applies at_once;
        /// A site that has to be left alone for longer than this goes to a later batch as well.
        longest_wait_in_batch: Duration = 10 * MINUTE, within Duration::ZERO..=(30 * DAY), applies at_once;
        /// How often a page is tried before it is given up.
        tries: u16 = 3, within 1..=1_000, applies at_once;
        /// How long until a page is tried again after a failure; each further one makes it four times as long.
        page_retry: Duration = 10 * MINUTE, within Duration::ZERO..=(30 * DAY), applies at_once;
        /// How long at most.
        most_page_retry: Duration = DAY, within Duration::ZERO..=(365 * DAY), applies at_once;
    }
}
