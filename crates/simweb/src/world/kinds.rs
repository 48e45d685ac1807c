//! Kinds of sites, pages, robots.txt files and sitemaps: plain values below all other modules of the world.

use serde::Serialize;

use crate::world::random::KeyedRandom;

/// Reference to a page of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct PageRef {
    /// Index of the site.
    pub site: u32,
    /// Index of the page in its site.
    pub page: u32,
}

/// Class of the path of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PathClass {
    /// Ordinary path.
    Static,
    /// Query with the id of the page.
    Dynamic,
    /// Below `/private/`.
    Private,
    /// Below `/private/`, but allowed again by an Allow line.
    Open,
    /// Named `draft-`.
    Draft,
}

/// Kind of a replica of another site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplicaKind {
    /// Same content on another IP address.
    Mirror,
    /// Another name of the same site on the same IP address.
    Alias,
}

/// Validity of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Certificate {
    /// Valid: signed by the authority of this Web, for this name, and not expired.
    Good,
    /// Expired.
    Expired,
    /// Issued for another host.
    WrongName,
    /// Signed by an unknown issuer.
    SelfSigned,
}

/// Behaviour of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// Works normally.
    Good,
    /// Delays the first byte.
    Slow,
    /// Sends bodies in small chunks with pauses.
    SlowBody,
    /// Responds to some requests with an error.
    Flaky,
    /// Responds to all requests with 503.
    Down,
    /// Accepts requests and never responds.
    Unresponsive,
    /// Host name does not exist (NXDOMAIN).
    NxDomain,
    /// Name server fails (SERVFAIL).
    ServFail,
}

impl Health {
    /// Reports whether pages of such a site can be fetched, possibly after retries.
    pub fn responds(self) -> bool {
        matches!(self, Health::Good | Health::Slow | Health::SlowBody | Health::Flaky)
    }
}

/// Form of a session id in links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStyle {
    /// `?PHPSESSID=`
    Php,
    /// `;jsessionid=` at the end of the path.
    Java,
    /// `?osCsid=`
    OsCommerce,
}

/// Kind of a crawler trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrapKind {
    /// `/calendar/YYYY/MM`, endless in both directions.
    Calendar,
    /// `/archive/`: each page links to longer paths.
    Growing,
    /// `/maze/`: each page links to pages with random names.
    Maze,
}

impl TrapKind {
    /// Path of the link from the front page into the trap.
    pub(crate) fn entrance(self) -> &'static str {
        match self {
            TrapKind::Calendar => "/calendar/2026/01",
            TrapKind::Growing => "/archive/",
            TrapKind::Maze => "/maze/0",
        }
    }
}

/// Kind of a robots.txt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RobotsKind {
    /// Status 404.
    Missing,
    /// Allows everything.
    AllowAll,
    /// Disallows private pages, drafts and traps.
    DisallowSome,
    /// Disallows everything.
    DisallowAll,
    /// Allows everything, with a Crawl-delay.
    CrawlDelay,
    /// Status 503, which disallows everything.
    ServerError,
    /// Status 403, which allows everything.
    Forbidden,
    /// Like `DisallowSome`, after a redirect.
    Redirected,
    /// Like `DisallowSome`, after a delay.
    Slow,
    /// Like `DisallowSome`, followed by 600 KiB of comments.
    Huge,
    /// Like `DisallowSome`, with syntax errors.
    Malformed,
}

/// Format of a sitemap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SitemapKind {
    /// One XML file.
    Xml,
    /// An index of XML files.
    Index,
    /// One XML file, gzipped.
    Gzip,
    /// Text with one URL per line.
    Text,
}

impl SitemapKind {
    pub(crate) fn generate(random: KeyedRandom) -> SitemapKind {
        [SitemapKind::Xml, SitemapKind::Index, SitemapKind::Gzip, SitemapKind::Text][random.below(4) as usize]
    }

    /// Path of the first file.
    pub(crate) fn path(self) -> &'static str {
        match self {
            SitemapKind::Xml => "/sitemap.xml",
            SitemapKind::Index => "/sitemap-index.xml",
            SitemapKind::Gzip => "/sitemap.xml.gz",
            SitemapKind::Text => "/sitemap.txt",
        }
    }
}

/// Keys of the random properties of a site, below its own key.
#[derive(Clone, Copy)]
pub(crate) enum SiteKey {
    Size,
    Language,
    Charset,
    Https,
    Certificate,
    Robots,
    Sitemap,
    Rdf,
    Health,
    Session,
    Trap,
    RateLimit,
    Compressed,
    Chunked,
    Validators,
    Domain,
    Replica,
    Ip,
    Isolated,
    Absence,
    RobotsPhases,
    Move,
    Growth,
}
