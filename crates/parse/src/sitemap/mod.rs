//! Streaming parser of sitemaps (XML, index, text), feeds (RSS, Atom) and `robots.rdf`, with or without gzip.
//!
//! All formats produce the same entries, so that a caller need not know the format. Memory does not grow with the file:
//! all input is limited, and entries before a limit or an error are returned. URLs are returned as written: they may be
//! relative or invalid.

mod item;
mod stream;
mod xml;

use std::io::{BufRead, Read};

use stream::Stream;

/// Maximum length of a URL or date; an entry with a longer URL is skipped.
pub const MAX_SITEMAP_URL_BYTES: usize = 8 * 1024;

/// Maximum length of one markup or text node.
pub const MAX_SITEMAP_NODE_BYTES: usize = 4 << 20;

/// Maximum nesting depth of elements.
pub const MAX_SITEMAP_DEPTH: usize = 64;

/// Limits for one file. The defaults are those of sitemaps.org: 50 MiB and 50,000 entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SitemapLimits {
    /// Maximum number of bytes read from the source.
    pub read_bytes: u64,
    /// Maximum number of bytes after decompression.
    pub expanded_bytes: u64,
    /// Maximum number of entries.
    pub entries: u64,
}

impl Default for SitemapLimits {
    fn default() -> SitemapLimits {
        SitemapLimits { read_bytes: 50 << 20, expanded_bytes: 50 << 20, entries: 50_000 }
    }
}

/// An entry of a sitemap or feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SitemapEntry<'a> {
    /// A page.
    Page {
        /// URL as written.
        url: &'a str,
        /// Time of the last change in Unix seconds.
        modified: Option<i64>,
    },
    /// A sitemap of a sitemap index.
    Sitemap {
        /// URL as written.
        url: &'a str,
        /// Time of the last change in Unix seconds.
        modified: Option<i64>,
    },
}

/// Format of a file.
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
    /// One URL per line.
    Text,
    /// None of these; no entries were read.
    Unknown,
}

/// End of the parsing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SitemapEnd {
    /// End of the file.
    Complete,
    /// Limit reached.
    LimitReached(SitemapLimit),
    /// Error in the XML, the compression or the source.
    Broken {
        /// Position in the decompressed text.
        at_byte: u64,
    },
}

/// The limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SitemapLimit {
    /// Bytes from the source.
    ReadBytes,
    /// Bytes after decompression.
    ExpandedBytes,
    /// Bytes of one markup or text node.
    NodeBytes,
    /// Nested elements.
    Depth,
    /// Entries.
    Entries,
}

/// Summary of the parsing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SitemapSummary {
    /// Format of the file.
    pub kind: SitemapKind,
    /// Number of entries.
    pub entries: u64,
    /// End of the parsing.
    pub end: SitemapEnd,
}

/// Parses a sitemap or feed and calls `on_entry` for every entry, in the order of the file.
pub fn read_sitemap(
    source: impl BufRead,
    limits: SitemapLimits,
    on_entry: impl FnMut(SitemapEntry<'_>),
) -> SitemapSummary {
    let mut sink = EntrySink { on_entry, entries: 0, limit: limits.entries };
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
        Err(_) => (SitemapKind::Unknown, Some(StopReason::Broken)),
    };
    let end = match (stop, stream.limit_reached()) {
        (None, _) => SitemapEnd::Complete,
        (Some(StopReason::Limit(limit)), _) | (Some(StopReason::Broken), Some(limit)) => {
            SitemapEnd::LimitReached(limit)
        }
        (Some(StopReason::Broken), None) => SitemapEnd::Broken { at_byte: stream.position_bytes() },
    };
    SitemapSummary { kind, entries: sink.entries, end }
}

/// Reason why the parsing stopped before the end of the file.
enum StopReason {
    Limit(SitemapLimit),
    Broken,
}

/// Receiver of entries, with their maximum number.
struct EntrySink<F> {
    on_entry: F,
    entries: u64,
    limit: u64,
}

impl<F: FnMut(SitemapEntry<'_>)> EntrySink<F> {
    fn emit(&mut self, entry: SitemapEntry<'_>) -> Result<(), StopReason> {
        if self.entries >= self.limit {
            return Err(StopReason::Limit(SitemapLimit::Entries));
        }
        self.entries += 1;
        (self.on_entry)(entry);
        Ok(())
    }
}

/// Parses a text sitemap. Lines without an absolute URL are skipped; a file without any is not a sitemap.
fn read_lines<R: BufRead, F>(
    stream: &mut Stream<R>,
    sink: &mut EntrySink<F>,
) -> (SitemapKind, Option<StopReason>)
where
    F: FnMut(SitemapEntry<'_>),
{
    let mut line = Vec::new();
    let stop = loop {
        line.clear();
        stream.start_node();
        // A line beyond the maximum length is split; its parts are not valid URLs.
        match stream.by_ref().take(MAX_SITEMAP_URL_BYTES as u64).read_until(b'\n', &mut line) {
            Ok(0) => break None,
            Ok(_) => {}
            Err(_) => break Some(StopReason::Broken),
        }
        let Ok(url) = std::str::from_utf8(line.trim_ascii()) else { continue };
        if line.len() < MAX_SITEMAP_URL_BYTES
            && is_absolute(url)
            && let Err(stop) = sink.emit(SitemapEntry::Page { url, modified: None })
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
