//! What do bytes from the Web mean?
//!
//! [`Document::read`] takes whatever a server sent and tells what it says: links, words, title, wishes. Around it stand
//! the parsers for what servers say about their pages: [`RobotsRules`], sitemaps and feeds.
//!
//! Everything here takes hostile input. No parser fails, panics or hangs; none grows beyond its limits; none does I/O
//! or reads a clock.

pub mod html;

mod charset;
mod content_encoding;
mod date;
mod directives;
mod document;
mod document_reader;
mod fingerprint;
mod frequent_words;
mod language;
mod legacy_query;
mod main_text;
mod page;
mod plain;
mod robots;
mod sitemap;
mod words;

pub use charset::{CharsetSource, Decoded, decode};
pub use content_encoding::{CONTENT_ENCODING_LIMIT, DecodedBody, Ended, decode_content};
pub use date::{date_text, parse_date};
pub use directives::RobotsDirectives;
pub use document::{Context, Document, Heading, Link, LinkKind, Resolved};
pub use document_reader::{DocumentReader, StoredAnswer};
pub use fingerprint::Fingerprint;
pub use frequent_words::is_frequent_word;
pub use language::{Language, detect_language};
pub use page::PageKind;
pub use plain::plain_urls;
pub use robots::{
    Decision, ROBOTS_LIMIT_BYTES, ROBOTS_LIMIT_RULES, ROBOTS_LIMIT_SITEMAPS, RobotsRules, Rule,
};
pub use sitemap::{
    SITEMAP_LIMIT_DEPTH, SITEMAP_LIMIT_NODE_BYTES, SITEMAP_LIMIT_URL_BYTES, SitemapEnd, SitemapEntry,
    SitemapKind, SitemapLimit, SitemapLimits, SitemapSummary, read_sitemap,
};
pub use words::for_each_word;
