//! Parsers of web content: HTML, plain text, feeds, sitemaps, robots.txt, charsets and languages.
//!
//! [`Document::read`] parses the body of a response: links, text, title, language and robots directives. The other
//! parsers read what sites publish about their pages: [`RobotsRules`], sitemaps and feeds.
//!
//! All input is hostile. No parser fails, panics or hangs, none uses memory beyond its limits, none does I/O or reads a
//! clock.

pub mod html;

mod change_hash;
mod charset;
mod content_encoding;
mod content_kind;
mod date;
mod document;
mod document_reader;
mod fingerprint;
mod frequent_words;
mod language;
mod main_text;
mod outline;
mod page;
mod plain_urls;
mod query_charset;
mod robots;
mod robots_directives;
mod sitemap;
mod word_count;
mod word_hashes;

pub use charset::{CharsetSource, Decoded, decode};
pub use content_encoding::{
    DecodeEnd, DecodedBody, MAX_CONTENT_ENCODINGS, decode_content, max_decoded_bytes,
};
pub use content_kind::ContentKind;
pub use date::{format_date, parse_date};
pub use document::{Context, Document, Heading, Link, LinkKind, ResolvedLink};
pub use document_reader::{DocumentReader, StoredResponse};
pub use fingerprint::Fingerprint;
pub use frequent_words::is_frequent_word;
pub use language::{Language, detect_language};
pub use plain_urls::plain_urls;
pub use robots::{Decision, MAX_ROBOTS_BYTES, MAX_ROBOTS_RULES, MAX_ROBOTS_SITEMAPS, RobotsRules, Rule};
pub use robots_directives::RobotsDirectives;
pub use sitemap::{
    MAX_SITEMAP_DEPTH, MAX_SITEMAP_NODE_BYTES, MAX_SITEMAP_URL_BYTES, SitemapEnd, SitemapEntry, SitemapKind,
    SitemapLimit, SitemapLimits, SitemapSummary, read_sitemap,
};
pub use word_hashes::for_each_word_hash;
