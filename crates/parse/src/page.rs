//! Parsing of a response body: selects the parser by the kind of the content and fills a [`Document`].
//!
//! Bodies of other kinds (images, PDF, programs) give an empty document.

use crate::charset::Decoded;
use crate::charset::decode;
use crate::charset::decode_plain;
use crate::content_kind::ContentKind;
use crate::document::{Document, LinkKind, LinkRecord, Span};
use crate::html::Options;
use crate::html::parse_html;
use crate::plain_urls::plain_urls;
use crate::sitemap::SitemapEnd;
use crate::sitemap::SitemapEntry;
use crate::sitemap::SitemapKind;
use crate::sitemap::SitemapLimits;
use crate::sitemap::read_sitemap;

impl Document {
    /// Parses a body into this document and reuses its memory.
    ///
    /// `top_level_domain` (`de`, `jp`) improves the detection of an undeclared charset.
    pub fn read(
        &mut self,
        bytes: &[u8],
        content_type: Option<&str>,
        top_level_domain: Option<&str>,
        options: &Options,
    ) {
        let kind = ContentKind::detect(content_type, bytes);
        let read = &bytes[..bytes.len().min(options.limits.input_bytes)];
        match kind {
            ContentKind::Html => {
                let decoded = decode(read, content_type, top_level_domain);
                parse_html(&decoded.text, options, self);
                self.set_charset(decoded);
            }
            ContentKind::Text => {
                let decoded = decode_plain(read, content_type, top_level_domain);
                self.read_text(&decoded, options);
                self.set_charset(decoded);
            }
            ContentKind::Feed => {
                self.read_feed(read, options);
                self.truncated |= read.len() < bytes.len();
                return;
            }
            ContentKind::Other => self.clear(),
        }
        self.kind = kind;
        self.truncated |= read.len() < bytes.len() && kind != ContentKind::Other;
    }

    fn set_charset(&mut self, decoded: Decoded<'_>) {
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
            // A URL in plain text is its own anchor text.
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
                if self.entry_dates.len() < self.links.len() {
                    self.entry_dates.push(modified);
                }
            }
        });
        let unknown = summary.kind == SitemapKind::Unknown;
        self.kind = if unknown { ContentKind::Other } else { ContentKind::Feed };
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
            href: Span { start, end: self.strings.len() as u32 },
            rel: Span::default(),
            anchor: words,
            alt: Span::default(),
            kind,
            context: crate::Context::NONE,
        });
    }
}
