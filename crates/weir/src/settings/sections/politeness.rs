//! When may a site be asked again?

use std::time::Duration;

use super::{DAY, HOUR, MINUTE, SECOND};
use crate::settings::section::section;
use crate::settings::value::Share;

section! {
    /// When a site may be asked again. A site and its address are asked by one request at a time; the wait is from the end
    /// of an answer to the next request.
    "politeness", PolitenessSection {
        /// How long to wait between two requests to a site, or to an address.
        wait: Duration = 15 * SECOND, within Duration::ZERO..=DAY, wire "harvester/wait/normal", applies at_once;
        /// How long if the site is large.
        large_site_wait: Duration = 5 * SECOND, within Duration::ZERO..=DAY, applies at_once;
        /// A site is large from so many known pages on.
        large_site_pages: u32 = 100, applies at_once;
        /// The longest wait that robots.txt may ask for by Crawl-delay; more is taken for this.
        most_crawl_delay: Duration = 5 * MINUTE, within Duration::ZERO..=DAY, applies at_once;
        /// How long an answer about robots.txt counts.
        robots_period: Duration = DAY, within MINUTE..=(30 * DAY), applies at_once;
        /// How long a site is left alone after a first error, or when it says that it is busy. It doubles with each one.
        back_off: Duration = MINUTE, within SECOND..=DAY, applies at_once;
        /// How long at most.
        most_back_off: Duration = 6 * HOUR, within SECOND..=(30 * DAY), applies at_once;
        /// Waits after errors are longer by a random share of up to this, so that not all end at once.
        jitter: Share = Share(0.2), applies at_once;
        /// How often a page is tried when its site does not answer or is in trouble.
        tries: u8 = 3, within 1..=100, applies at_once;
        /// After so many errors in a row a site is given up.
        site_errors: u16 = 10, within 1..=10_000, applies at_once;
    }
}
