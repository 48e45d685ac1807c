//! What is left of a fetch when it has been read? All that the collection wants, in few pieces of memory: the strings of
//! its links lie in one.

use std::borrow::Cow;
use std::net::IpAddr;

use model::{CanonicalUrl, Reason};
use parse::{Fingerprint, LinkKind, PageKind, RobotsDirectives};
use store::{Prepared, Truncated, UrlBatch};

use crate::outcome::Outcome;

/// A fetch that was read, on its way into the collection.
#[derive(Debug)]
pub struct Gathered {
    pub(crate) url: CanonicalUrl,
    pub(crate) dynamic: bool,
    pub(crate) fetched_ms: i64,
    pub(crate) address: Option<IpAddr>,
    pub(crate) status: u16,
    pub(crate) outcome: Outcome,
    /// Why there is no answer, or no whole one.
    pub(crate) failure: Option<Reason>,
    pub(crate) latency_ms: Option<u32>,
    pub(crate) duration_ms: Option<u32>,
    pub(crate) truncated: Option<Truncated>,
    pub(crate) http_version: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) mime_declared: Option<String>,
    /// As transferred.
    pub(crate) content_bytes: u64,
    /// Of the body as transferred; 0 without one.
    pub(crate) content_hash: u64,
    /// When it was last modified, by the word of its server.
    pub(crate) modified_s: Option<u32>,
    /// Where a redirect leads.
    pub(crate) redirect: Option<String>,
    /// The page for the store; nothing if there is nothing to be stored.
    pub(crate) prepared: Option<store::Result<Prepared>>,
    /// What it says, if it has content that was read.
    pub(crate) document: Option<GatheredDocument>,
    pub(crate) links: GatheredLinks,
}

/// What a document says about itself.
#[derive(Debug, Default)]
pub(crate) struct GatheredDocument {
    pub(crate) kind: PageKind,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) language: Option<(Cow<'static, str>, f32)>,
    pub(crate) language_declared: String,
    pub(crate) charset: String,
    pub(crate) charset_source: Option<Cow<'static, str>>,
    pub(crate) canonical: Option<String>,
    pub(crate) robots: RobotsDirectives,
    pub(crate) published_ms: Option<i64>,
    pub(crate) modified_ms: Option<i64>,
    /// Without its content encoding.
    pub(crate) raw_bytes: u64,
    pub(crate) text_bytes: u64,
    pub(crate) words: u32,
    /// How well it meets the driving query.
    pub(crate) relevance: u16,
    /// Of the main text; 0 without one.
    pub(crate) text_hash: u64,
    /// Of the main text, too.
    pub(crate) fingerprint: Fingerprint,
}

/// The links of a page.
#[derive(Debug, Default, Clone)]
pub(crate) struct GatheredLinks {
    pub(crate) all: Vec<GatheredLink>,
    /// Those that are followed, in their order.
    pub(crate) followed: UrlBatch,
    /// Beside them: whether it is dynamic.
    pub(crate) dynamic: Vec<bool>,
    /// Beside them: how relevant it promises to be. Empty if nobody asks.
    relevance: Vec<u16>,
    strings: String,
    pub(crate) internal: u32,
    pub(crate) external: u32,
    pub(crate) embedded: u32,
}

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GatheredLink {
    pub(crate) target: Target,
    pub(crate) rel: Span,
    pub(crate) anchor: Span,
    pub(crate) kind: LinkKind,
    pub(crate) context: u16,
    pub(crate) position: f32,
    pub(crate) internal: bool,
}

/// Where a link leads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// To a page that may be fetched: its place among those that are followed.
    Followed(u32),
    /// To something that is only noted, for this reason; without one it is no URL, or nothing that could be followed.
    Noted(Span, Option<Reason>),
}

/// A part of the strings.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl GatheredLinks {
    /// Forgets the links and keeps the memory for those of the next page.
    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.followed.clear();
        self.dynamic.clear();
        self.relevance.clear();
        self.strings.clear();
        (self.internal, self.external, self.embedded) = (0, 0, 0);
    }

    /// Keeps a string, up to a limit.
    pub(crate) fn keep(&mut self, text: &str, limit_bytes: usize) -> Span {
        let start = self.strings.len() as u32;
        self.strings.push_str(&text[..text.floor_char_boundary(limit_bytes)]);
        Span { start, end: self.strings.len() as u32 }
    }

    pub(crate) fn text(&self, span: Span) -> &str {
        &self.strings[span.start as usize..span.end as usize]
    }

    /// The same, or nothing where it is empty.
    pub(crate) fn some_text(&self, span: Span) -> Option<&str> {
        Some(self.text(span)).filter(|text| !text.is_empty())
    }

    /// Keeps a link to a page that may be fetched.
    pub(crate) fn follow(&mut self, url: &CanonicalUrl, dynamic: bool, relevance: u16) -> Target {
        let place = self.followed.len();
        self.followed.push(url);
        self.dynamic.push(dynamic);
        if relevance > 0 {
            self.relevance.resize(place, 0);
            self.relevance.push(relevance);
        }
        Target::Followed(place as u32)
    }

    /// How relevant the page that is followed promises to be.
    pub(crate) fn relevance(&self, place: usize) -> u16 {
        self.relevance.get(place).copied().unwrap_or(0)
    }

    pub(crate) fn url(&self, target: Target) -> &str {
        match target {
            Target::Followed(place) => self.followed.url(place as usize),
            Target::Noted(span, _) => self.text(span),
        }
    }
}

impl Gathered {
    /// The page.
    pub fn url(&self) -> &CanonicalUrl {
        &self.url
    }

    /// How many links it has, of all kinds.
    pub fn links(&self) -> usize {
        self.links.all.len()
    }

    /// How long the body was as transferred.
    pub fn content_bytes(&self) -> u64 {
        self.content_bytes
    }
}
