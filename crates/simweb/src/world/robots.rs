//! Content of robots.txt files, and their meaning (RFC 9309) for an agent without a group of its own.

use std::fmt::Write;

use crate::settings::Settings;
use crate::world::kinds::{PathClass, RobotsKind};
use crate::world::random::KeyedRandom;
use crate::world::random::one_of;

/// Path of a redirected robots.txt.
pub(crate) const REDIRECTED_PATH: &str = "/about/robots.txt";

/// Size of a huge robots.txt.
const HUGE_BYTES: usize = 600 * 1024;

impl RobotsKind {
    pub(crate) fn generate(random: KeyedRandom, settings: &Settings) -> RobotsKind {
        let kinds = [
            (settings.robots_missing, RobotsKind::Missing),
            (settings.robots_disallow_some, RobotsKind::DisallowSome),
            (settings.robots_disallow_all, RobotsKind::DisallowAll),
            (settings.robots_crawl_delay, RobotsKind::CrawlDelay),
            (settings.robots_server_error, RobotsKind::ServerError),
            (settings.robots_forbidden, RobotsKind::Forbidden),
            (settings.robots_redirected, RobotsKind::Redirected),
            (settings.robots_slow, RobotsKind::Slow),
            (settings.robots_huge, RobotsKind::Huge),
            (settings.robots_malformed, RobotsKind::Malformed),
        ];
        one_of(random, &kinds).unwrap_or(RobotsKind::AllowAll)
    }

    /// Returns the HTTP status of the robots.txt.
    pub(crate) fn status(self) -> u16 {
        match self {
            RobotsKind::Missing => 404,
            RobotsKind::ServerError => 503,
            RobotsKind::Forbidden => 403,
            _ => 200,
        }
    }

    /// Reports whether pages of this path class may be fetched.
    pub(crate) fn allows(self, path_class: PathClass) -> bool {
        match self {
            RobotsKind::Missing | RobotsKind::AllowAll | RobotsKind::CrawlDelay | RobotsKind::Forbidden => {
                true
            }
            RobotsKind::DisallowAll | RobotsKind::ServerError => false,
            RobotsKind::DisallowSome
            | RobotsKind::Redirected
            | RobotsKind::Slow
            | RobotsKind::Huge
            | RobotsKind::Malformed => !matches!(path_class, PathClass::Private | PathClass::Draft),
        }
    }

    /// Returns the content of the file. `sitemap` is the URL of its `Sitemap` line.
    pub(crate) fn text(self, crawl_delay_s: u64, sitemap: Option<&str>) -> String {
        let mut text = String::new();
        match self {
            RobotsKind::Missing | RobotsKind::ServerError | RobotsKind::Forbidden => return text,
            RobotsKind::AllowAll => text.push_str("User-agent: *\nDisallow:\n"),
            RobotsKind::DisallowAll => {
                text.push_str("# All paths are disallowed\nUser-agent: *\nDisallow: /\n");
            }
            RobotsKind::CrawlDelay => {
                let _ = write!(text, "User-agent: *\nCrawl-delay: {crawl_delay_s}\nDisallow:\n");
            }
            RobotsKind::DisallowSome | RobotsKind::Redirected | RobotsKind::Slow => text.push_str(SOME),
            RobotsKind::Huge => {
                text.push_str(SOME);
                while text.len() < HUGE_BYTES {
                    text.push_str("# This comment line is repeated until the file has its size.\n");
                }
            }
            RobotsKind::Malformed => text.push_str(MALFORMED),
        }
        if let Some(url) = sitemap {
            let _ = writeln!(text, "\nSitemap: {url}");
        }
        text
    }
}

const SOME: &str = "\
User-agent: greedybot
Disallow: /

User-agent: *
Disallow: /private/
Allow: /private/public-
Disallow: /*/draft-
Disallow: /calendar/
Disallow: /archive/
Disallow: /maze/
";

/// The same rules with a byte order mark, mixed line ends and case, lines without a colon, rules before the first
/// group, and two groups of `*`, which RFC 9309 merges.
const MALFORMED: &str = "\u{feff}Disallow: /before-any-group/\r\n\
this line means nothing\r\
USER-AGENT:*\r\n\
disallow : /private/   # not for you\r\n\
Noindex: /old/\n\
Allow:/private/public-\n\
<html>oops</html>\n\
\n\
User-Agent: greedybot\n\
Disallow: /\n\
\n\
user-agent: *\n\
DISALLOW: /*/draft-\n\
Disallow: /calendar/\rDisallow: /archive/\rDisallow: /maze/\r\n";
