//! Which parser does a body need? The one door for whatever a server sends: bytes and a `Content-Type` in, a
//! [`Document`] out.
//!
//! The header decides, and where it is missing or says no more than "XML", the first bytes do. Bodies of other kinds
//! (images, PDF, programs) give an empty document: this crate reads text.

use crate::charset::{Decoded, decode, decode_plain};
use crate::document::{Document, LinkKind, LinkRecord, Span};
use crate::html::{Options, parse_html};
use crate::plain::plain_urls;
use crate::sitemap::{SitemapEnd, SitemapEntry, SitemapKind, SitemapLimits, read_sitemap};

/// What a body is, as far as parsing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PageKind {
    /// HTML or XHTML.
    #[default]
    Html,
    /// Plain text.
    Text,
    /// RSS, Atom, RDF or a sitemap: a list of links.
    Feed,
    /// Nothing that is read here.
    Other,
}

impl PageKind {
    /// Its name in tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            PageKind::Html => "html",
            PageKind::Text => "text",
            PageKind::Feed => "feed",
            PageKind::Other => "other",
        }
    }

    /// What a body is, by the value of its `Content-Type` header and by its first bytes.
    pub fn of(content_type: Option<&str>, bytes: &[u8]) -> PageKind {
        let media_type = content_type.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
        match media_type.to_ascii_lowercase().as_str() {
            "text/html" | "application/xhtml+xml" => PageKind::Html,
            "text/plain" | "text/markdown" => PageKind::Text,
            "application/rss+xml"
            | "application/atom+xml"
            | "application/rdf+xml"
            | "application/gzip"
            | "application/x-gzip" => PageKind::Feed,
            "" | "text/xml" | "application/xml" | "unknown/unknown" | "application/unknown" | "*/*" => {
                sniff(bytes)
            }
            _ => PageKind::Other,
        }
    }
}

/// How much of a body is looked at to tell what it is, as the MIME Sniffing standard has it.
const SNIFFED_BYTES: usize = 1_445;

fn sniff(bytes: &[u8]) -> PageKind {
    let start = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    if start.starts_with(b"\x1f\x8b") {
        // Only sitemaps are met compressed; whatever else it is, the reader of sitemaps tells.
        return PageKind::Feed;
    }
    let is_utf16 = start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff");
    let has = |word: &[u8]| start.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word));
    let body = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    let feeds: [&[u8]; 5] = [b"<rss", b"<feed", b"<urlset", b"<sitemapindex", b"<rdf:rdf"];
    if body.first() == Some(&b'<') && !has(b"<html") && feeds.into_iter().any(has) {
        PageKind::Feed
    } else if is_utf16 || body.first() == Some(&b'<') {
        PageKind::Html
    } else if start.iter().any(|&byte| matches!(byte, 0..=8 | 0x0e..=0x1a | 0x1c..=0x1f)) {
        // The mark of a binary file, though not of one that begins with a tag.
        PageKind::Other
    } else if has(b"</") || has(b"<!") {
        PageKind::Html
    } else {
        PageKind::Text
    }
}

impl Document {
    /// Reads a body into this document, whose former content is dropped and whose memory is used again.
    ///
    /// `top_level_domain` (`de`, `jp`) helps where nothing declares the charset.
    pub fn read(
        &mut self,
        bytes: &[u8],
        content_type: Option<&str>,
        top_level_domain: Option<&str>,
        options: &Options,
    ) {
        let kind = PageKind::of(content_type, bytes);
        let read = &bytes[..bytes.len().min(options.limits.input_bytes)];
        match kind {
            PageKind::Html => {
                let decoded = decode(read, content_type, top_level_domain);
                parse_html(&decoded.text, options, self);
                self.note_charset(decoded);
            }
            PageKind::Text => {
                let decoded = decode_plain(read, content_type, top_level_domain);
                self.read_text(&decoded, options);
                self.note_charset(decoded);
            }
            PageKind::Feed => {
                self.read_feed(read, options);
                self.truncated |= read.len() < bytes.len();
                return;
            }
            PageKind::Other => self.clear(),
        }
        self.kind = kind;
        self.truncated |= read.len() < bytes.len() && kind != PageKind::Other;
    }

    fn note_charset(&mut self, decoded: Decoded<'_>) {
        self.charset = decoded.encoding;
        self.charset_source = Some(decoded.source);
    }

    fn read_text(&mut self, decoded: &Decoded<'_>, options: &Options) {
        self.clear();
        let limit = options.limits.text_bytes.min(1 << 30);
        let text = &decoded.text[..decoded.text.floor_char_boundary(limit)];
        self.truncated = text.len() < decoded.text.len();
        self.text.push_str(text);
        for (start, url) in plain_urls(text) {
            // A URL in running text is its own anchor text.
            let words = Span { start: start as u32, end: (start + url.len()) as u32 };
            self.add_bare_link(url, words, LinkKind::Text, options);
        }
    }

    fn read_feed(&mut self, bytes: &[u8], options: &Options) {
        self.clear();
        let limits = SitemapLimits {
            expanded_bytes: options.limits.input_bytes as u64,
            entries: options.limits.links as u64,
            ..SitemapLimits::default()
        };
        let summary = read_sitemap(bytes, limits, |entry| match entry {
            SitemapEntry::Page { url, modified } | SitemapEntry::Sitemap { url, modified } => {
                self.modified = self.modified.max(modified);
                self.add_bare_link(url, Span::default(), LinkKind::Feed, options);
            }
        });
        let unknown = summary.kind == SitemapKind::Unknown;
        self.kind = if unknown { PageKind::Other } else { PageKind::Feed };
        self.truncated = !unknown && summary.end != SitemapEnd::Complete;
    }

    fn add_bare_link(&mut self, url: &str, words: Span, kind: LinkKind, options: &Options) {
        if self.links.len() >= options.limits.links {
            self.truncated = true;
            return;
        }
        let start = self.strings.len() as u32;
        self.strings.push_str(url.trim());
        self.links.push(LinkRecord {
            raw: Span { start, end: self.strings.len() as u32 },
            rel: Span::default(),
            words,
            alternative: Span::default(),
            kind,
            context: crate::Context::NONE,
        });
    }
}
