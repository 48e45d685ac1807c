//! Which pages does a site name itself, and when did they change? Reads sitemaps (XML, index, text), feeds (RSS,
//! Atom) and `robots.rdf`, gzipped or not, as a stream.
//!
//! Every kind gives the same entries, so that a caller need not know what it has fetched. Memory does not grow with
//! the file: everything that comes from outside has a limit, and what was read before a limit or a break counts.
//! Addresses are given as they are written: they may be relative, or no addresses at all.

mod item;
mod stream;
mod xml;

use std::io::{BufRead, Read};

use stream::Stream;

/// The longest address or date that is taken; an entry with a longer address is skipped.
pub const SITEMAP_LIMIT_URL_BYTES: usize = 8 * 1024;

/// The longest piece of markup or text that is taken into memory at once.
pub const SITEMAP_LIMIT_NODE_BYTES: usize = 4 << 20;

/// How deep elements may be nested.
pub const SITEMAP_LIMIT_DEPTH: usize = 64;

/// How much of one file is read at most. The default is what sitemaps.org allows: 50 MiB and 50,000 entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SitemapLimits {
    /// Bytes taken from the source.
    pub read_bytes: u64,
    /// Bytes after decompression.
    pub expanded_bytes: u64,
    /// Entries given.
    pub entries: u64,
}

impl Default for SitemapLimits {
    fn default() -> SitemapLimits {
        SitemapLimits { read_bytes: 50 << 20, expanded_bytes: 50 << 20, entries: 50_000 }
    }
}

/// One address that a file names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SitemapEntry<'a> {
    /// A page, with the Unix time of its last change where that is told.
    Page {
        /// The address as written.
        url: &'a str,
        /// When the page last changed.
        modified: Option<i64>,
    },
    /// Another sitemap, in an index.
    Sitemap {
        /// The address as written.
        url: &'a str,
        /// When that sitemap last changed.
        modified: Option<i64>,
    },
}

/// What a file turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SitemapKind {
    /// An XML sitemap.
    UrlSet,
    /// An index of sitemaps.
    Index,
    /// RSS 0.9x or 2.0.
    Rss,
    /// Atom.
    Atom,
    /// RDF: RSS 1.0, or a `robots.rdf`.
    Rdf,
    /// One address per line.
    Text,
    /// None of these; nothing was read from it.
    Unknown,
}

/// How the reading ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SitemapEnd {
    /// At the end of the file.
    Complete,
    /// At a limit.
    LimitReached(SitemapLimit),
    /// Where the XML, the compression or the source broke, at this byte of the expanded text.
    Broken {
        /// How far it was read.
        at_byte: u64,
    },
}

/// What there was too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SitemapLimit {
    /// Bytes from the source.
    ReadBytes,
    /// Bytes after decompression.
    ExpandedBytes,
    /// Bytes in one piece of markup or text.
    NodeBytes,
    /// Nested elements.
    Depth,
    /// Entries.
    Entries,
}

/// What a reading came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SitemapSummary {
    /// What the file is.
    pub kind: SitemapKind,
    /// How many entries were given.
    pub entries: u64,
    /// How the reading ended.
    pub end: SitemapEnd,
}

/// Reads a sitemap or feed and calls `each` with every entry, in the order of the file.
pub fn read_sitemap(
    source: impl BufRead,
    limits: SitemapLimits,
    each: impl FnMut(SitemapEntry<'_>),
) -> SitemapSummary {
    let mut sink = Sink { each, entries: 0, limit: limits.entries };
    let Ok(mut stream) = Stream::open(source, limits) else {
        return SitemapSummary {
            kind: SitemapKind::Unknown,
            entries: 0,
            end: SitemapEnd::Broken { at_byte: 0 },
        };
    };
    let (kind, stop) = match stream.first_byte() {
        Ok(Some(b'<')) => xml::read(&mut stream, &mut sink),
        Ok(_) => read_lines(&mut stream, &mut sink),
        Err(_) => (SitemapKind::Unknown, Some(Stop::Broken)),
    };
    let end = match (stop, stream.limit_reached()) {
        (None, _) => SitemapEnd::Complete,
        (Some(Stop::Limit(limit)), _) | (Some(Stop::Broken), Some(limit)) => SitemapEnd::LimitReached(limit),
        (Some(Stop::Broken), None) => SitemapEnd::Broken { at_byte: stream.position_bytes() },
    };
    SitemapSummary { kind, entries: sink.entries, end }
}

/// Why a reading stopped before the end of the file.
enum Stop {
    Limit(SitemapLimit),
    Broken,
}

/// Where entries go, and how many may still go.
struct Sink<F> {
    each: F,
    entries: u64,
    limit: u64,
}

impl<F: FnMut(SitemapEntry<'_>)> Sink<F> {
    fn give(&mut self, entry: SitemapEntry<'_>) -> Result<(), Stop> {
        if self.entries >= self.limit {
            return Err(Stop::Limit(SitemapLimit::Entries));
        }
        self.entries += 1;
        (self.each)(entry);
        Ok(())
    }
}

/// Reads a text sitemap. Lines that are no absolute address are passed over; a file without any is no sitemap.
fn read_lines<R: BufRead, F>(stream: &mut Stream<R>, sink: &mut Sink<F>) -> (SitemapKind, Option<Stop>)
where
    F: FnMut(SitemapEntry<'_>),
{
    let mut line = Vec::new();
    let stop = loop {
        line.clear();
        stream.start_node();
        // What is longer than an address can be is cut, and the rest of it is no address either.
        match stream.by_ref().take(SITEMAP_LIMIT_URL_BYTES as u64).read_until(b'\n', &mut line) {
            Ok(0) => break None,
            Ok(_) => {}
            Err(_) => break Some(Stop::Broken),
        }
        let Ok(url) = std::str::from_utf8(line.trim_ascii()) else { continue };
        if line.len() < SITEMAP_LIMIT_URL_BYTES
            && is_absolute(url)
            && let Err(stop) = sink.give(SitemapEntry::Page { url, modified: None })
        {
            break Some(stop);
        }
    };
    (if sink.entries > 0 { SitemapKind::Text } else { SitemapKind::Unknown }, stop)
}

fn is_absolute(url: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
}
