//! What do a site's robots.txt say, and what do they mean? The meaning is RFC 9309's for an agent that no group
//! names.

use std::fmt::Write;

use serde::Serialize;

use crate::draw::Draw;
use crate::page::Style;
use crate::settings::Settings;
use crate::site::one_of;

/// The kinds of robots.txt there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RobotsKind {
    /// 404.
    Missing,
    /// Everything is allowed.
    AllowAll,
    /// Private pages, drafts and traps are forbidden.
    DisallowSome,
    /// Everything is forbidden.
    DisallowAll,
    /// Everything is allowed, slowly.
    CrawlDelay,
    /// 503, which forbids everything.
    ServerError,
    /// 403, which allows everything.
    Forbidden,
    /// As `DisallowSome`, at the other end of a redirect.
    Redirected,
    /// As `DisallowSome`, after a wait.
    Slow,
    /// As `DisallowSome`, then 600 KiB of remarks.
    Huge,
    /// As `DisallowSome`, written badly.
    Malformed,
}

/// Where a redirected robots.txt is.
pub(crate) const MOVED: &str = "/about/robots.txt";

/// The size of a huge robots.txt.
const HUGE_BYTES: usize = 600 * 1024;

impl RobotsKind {
    pub(crate) fn drawn(draw: Draw, settings: &Settings) -> RobotsKind {
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
        one_of(draw, &kinds).unwrap_or(RobotsKind::AllowAll)
    }

    /// The status robots.txt comes with.
    pub(crate) fn status(self) -> u16 {
        match self {
            RobotsKind::Missing => 404,
            RobotsKind::ServerError => 503,
            RobotsKind::Forbidden => 403,
            _ => 200,
        }
    }

    /// Whether pages of this style may be fetched.
    pub(crate) fn allows(self, style: Style) -> bool {
        match self {
            RobotsKind::Missing | RobotsKind::AllowAll | RobotsKind::CrawlDelay | RobotsKind::Forbidden => {
                true
            }
            RobotsKind::DisallowAll | RobotsKind::ServerError => false,
            RobotsKind::DisallowSome
            | RobotsKind::Redirected
            | RobotsKind::Slow
            | RobotsKind::Huge
            | RobotsKind::Malformed => !matches!(style, Style::Private | Style::Draft),
        }
    }

    /// The file. `sitemap` is the URL to name in it.
    pub(crate) fn text(self, crawl_delay_s: u64, sitemap: Option<&str>) -> String {
        let mut text = String::new();
        match self {
            RobotsKind::Missing | RobotsKind::ServerError | RobotsKind::Forbidden => return text,
            RobotsKind::AllowAll => text.push_str("User-agent: *\nDisallow:\n"),
            RobotsKind::DisallowAll => text.push_str("# Nothing to see\nUser-agent: *\nDisallow: /\n"),
            RobotsKind::CrawlDelay => {
                let _ = write!(text, "User-agent: *\nCrawl-delay: {crawl_delay_s}\nDisallow:\n");
            }
            RobotsKind::DisallowSome | RobotsKind::Redirected | RobotsKind::Slow => text.push_str(SOME),
            RobotsKind::Huge => {
                text.push_str(SOME);
                while text.len() < HUGE_BYTES {
                    text.push_str("# This line has been kept by every webmaster since the first one.\n");
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

/// The same rules with a byte order mark, mixed line ends and case, lines without colon, rules before any group, and
/// two groups for everybody, which RFC 9309 has us merge.
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
