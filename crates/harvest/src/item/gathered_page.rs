//! Parsed page: everything that is ingested into the collection, in few allocations. All strings of links share one buffer.

use std::borrow::Cow;
use std::net::IpAddr;

use model::UrlBatch;
use model::{CanonicalUrl, Reason, Truncation};
use parse::{ContentKind, Fingerprint, LinkKind, RobotsDirectives};
use warc::EncodedRecord;

use crate::item::fetch_outcome::FetchOutcome;
use crate::item::harvest_event::SitemapUrl;

/// Parsed page, ready to be ingested.
#[derive(Debug)]
pub struct GatheredPage {
    /// URL.
    pub url: CanonicalUrl,
    /// Whether the URL is classified as dynamic.
    pub dynamic: bool,
    /// Time of the fetch, in Unix milliseconds.
    pub fetched_ms: i64,
    /// Address of the server.
    pub address: Option<IpAddr>,
    /// HTTP status code; 0 for no response.
    pub status: u16,
    /// Outcome of the fetch.
    pub outcome: FetchOutcome,
    /// Reason for no or an incomplete response.
    pub failure: Option<Reason>,
    /// Time from the request to the first byte.
    pub latency_ms: Option<u32>,
    /// Time from the request to the last byte.
    pub duration_ms: Option<u32>,
    /// Cause of the truncation of the body, if it is truncated.
    pub truncated: Option<Truncation>,
    /// HTTP version of the response.
    pub http_version: Option<String>,
    /// `Server` header field.
    pub server: Option<String>,
    /// MIME type of the `Content-Type` header field.
    pub mime_declared: Option<String>,
    /// Length of the body as transferred.
    pub content_bytes: u64,
    /// XXH3 of the body as transferred; 0 without a body.
    pub content_hash: u64,
    /// Last modification by the server, in Unix seconds.
    pub modified_s: Option<u32>,
    /// Target of a redirect.
    pub redirect: Option<String>,
    /// Encoded WARC record; `None` if nothing is to be stored.
    pub record: Option<warc::Result<EncodedRecord>>,
    /// Content, if it was parsed.
    pub document: Option<GatheredDocument>,
    /// Links.
    pub links: GatheredLinks,
    /// Pages of the same site that a feed lists, with their dates.
    pub feed_entries: Vec<SitemapUrl>,
}

/// Content of a parsed page.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "the fields are the columns of the table of documents")]
pub struct GatheredDocument {
    pub kind: ContentKind,
    pub title: String,
    pub description: String,
    pub language: Option<(Cow<'static, str>, f32)>,
    pub language_declared: String,
    pub charset: String,
    pub charset_source: Option<Cow<'static, str>>,
    pub canonical: Option<String>,
    pub robots: RobotsDirectives,
    pub published_ms: Option<i64>,
    pub modified_ms: Option<i64>,
    /// Length of the body without content coding.
    pub raw_bytes: u64,
    pub text_bytes: u64,
    pub words: u32,
    /// Relevance to the topic of the crawl, quantized.
    pub relevance: u16,
    /// XXH3 of the main text; 0 if there is none.
    pub text_hash: u64,
    /// Hash of the content that is compared with other versions of the page; 0 without any.
    pub change_hash: u64,
    /// Fingerprint of a front page; 0 for other pages, and for one with too little content.
    pub front_page_hash: u64,
    /// SimHash fingerprint of the main text.
    pub fingerprint: Fingerprint,
}

/// Links of a page.
#[derive(Debug, Default, Clone)]
pub struct GatheredLinks {
    /// All links, in document order.
    pub all: Vec<GatheredLink>,
    /// URLs that are followed, in document order.
    pub followed: UrlBatch,
    /// Parallel to `followed`: whether the URL is dynamic.
    pub dynamic: Vec<bool>,
    /// Parallel to `followed`: estimated relevance. Empty in a crawl without a topic.
    relevance: Vec<u16>,
    strings: String,
    /// Number of links to pages of the same host.
    pub internal: u32,
    /// Number of links to pages of other hosts.
    pub external: u32,
    /// Number of embedded resources.
    pub embedded: u32,
}

/// Link of a page.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the fields are the columns of the table of links")]
pub struct GatheredLink {
    pub target: LinkTarget,
    pub rel: Span,
    pub anchor: Span,
    pub kind: LinkKind,
    pub context: u16,
    pub position: f32,
    pub internal: bool,
}

/// Target of a link.
#[derive(Debug, Clone, Copy)]
pub enum LinkTarget {
    /// Page that can be fetched: index in [`GatheredLinks::followed`].
    Followed(u32),
    /// Target that is recorded but not followed, with the reason; `None` if it is not a URL that could be followed.
    Unfollowed(Span, Option<Reason>),
}

/// Range in the string buffer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Span {
    start: u32,
    end: u32,
}

impl GatheredLinks {
    /// Removes all links and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.all.clear();
        self.followed.clear();
        self.dynamic.clear();
        self.relevance.clear();
        self.strings.clear();
        (self.internal, self.external, self.embedded) = (0, 0, 0);
    }

    /// Appends a string, cut at a maximum length, to the buffer.
    pub fn store_text(&mut self, text: &str, max_bytes: usize) -> Span {
        let start = self.strings.len() as u32;
        self.strings.push_str(&text[..text.floor_char_boundary(max_bytes)]);
        Span { start, end: self.strings.len() as u32 }
    }

    /// String of a range.
    pub fn text(&self, span: Span) -> &str {
        &self.strings[span.start as usize..span.end as usize]
    }

    /// String of a range; `None` if it is empty.
    pub fn non_empty_text(&self, span: Span) -> Option<&str> {
        Some(self.text(span)).filter(|text| !text.is_empty())
    }

    /// Appends a URL to those that are followed.
    pub fn follow(&mut self, url: &CanonicalUrl, dynamic: bool, relevance: u16) -> LinkTarget {
        let index = self.followed.len();
        self.followed.push(url);
        self.dynamic.push(dynamic);
        if relevance > 0 {
            self.relevance.resize(index, 0);
            self.relevance.push(relevance);
        }
        LinkTarget::Followed(index as u32)
    }

    /// Estimated relevance of a followed URL.
    pub fn relevance(&self, index: usize) -> u16 {
        self.relevance.get(index).copied().unwrap_or(0)
    }

    /// URL of a target, or its text if it is not a URL.
    pub fn url(&self, target: LinkTarget) -> &str {
        match target {
            LinkTarget::Followed(index) => self.followed.url(index as usize),
            LinkTarget::Unfollowed(span, _) => self.text(span),
        }
    }
}

impl GatheredPage {
    /// URL of the page.
    pub fn url(&self) -> &CanonicalUrl {
        &self.url
    }

    /// Whether the content is used although a limit on size or time cut it.
    pub fn is_truncated(&self) -> bool {
        let is_limit = matches!(self.truncated, Some(Truncation::Length | Truncation::Time));
        self.outcome == FetchOutcome::Success && is_limit
    }

    /// Number of links of all kinds.
    pub fn links(&self) -> usize {
        self.links.all.len()
    }

    /// Length of the body as transferred.
    pub fn content_bytes(&self) -> u64 {
        self.content_bytes
    }
}
