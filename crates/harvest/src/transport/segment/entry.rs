//! Items of a segment as they are encoded.
//!
//! A page has no fields that its record states (URL, status, header fields, length and hash of the body), so that a worker
//! cannot contradict the record: they are derived from it when the segment is read.

use std::fmt;
use std::net::IpAddr;

use model::{Reason, Truncation};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::item::gathered_page::{GatheredDocument, GatheredLink, GatheredLinks, GatheredPage, LinkTarget};

/// Maximum number of links of a page, which is that of the link log of a collection.
pub(crate) const MAX_LINKS: usize = 1 << 20;

/// Item of a segment.
#[derive(Serialize, Deserialize)]
pub(crate) enum SegmentEntry<'a> {
    #[serde(borrow)]
    Page(Box<SegmentPage<'a>>),
    Event(&'a str),
}

/// Parsed page.
#[derive(Serialize, Deserialize)]
pub(crate) struct SegmentPage<'a> {
    /// Index in the batch.
    pub(crate) page: u32,
    /// Time and address of a fetch without a response; a record states those of a response.
    pub(crate) fetched_ms: i64,
    pub(crate) address: Option<IpAddr>,
    pub(crate) failure: Option<u8>,
    pub(crate) latency_ms: Option<u32>,
    pub(crate) duration_ms: Option<u32>,
    pub(crate) truncated: Option<&'a str>,
    /// Offset and length of the record; `None` without a response.
    pub(crate) record: Option<(u64, u64)>,
    #[serde(borrow)]
    pub(crate) document: Option<SegmentDocument<'a>>,
    /// Links of a page with content.
    #[serde(borrow, deserialize_with = "limited_links")]
    pub(crate) links: Vec<SegmentLink<'a>>,
}

/// Content of a page, as parsed by the worker.
#[derive(Serialize, Deserialize)]
pub(crate) struct SegmentDocument<'a> {
    pub(crate) kind: &'a str,
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
    pub(crate) language: Option<(&'a str, f32)>,
    pub(crate) language_declared: &'a str,
    pub(crate) charset: &'a str,
    pub(crate) charset_source: Option<&'a str>,
    pub(crate) canonical: Option<&'a str>,
    pub(crate) robots: (u8, Option<i64>),
    pub(crate) published_ms: Option<i64>,
    pub(crate) modified_ms: Option<i64>,
    pub(crate) raw_bytes: u64,
    pub(crate) text_bytes: u64,
    pub(crate) words: u32,
    pub(crate) relevance: u16,
    pub(crate) text_hash: u64,
    pub(crate) change_hash: u64,
    pub(crate) front_page_hash: u64,
    pub(crate) fingerprint: (u64, Option<u64>),
}

/// Link: a followed URL has its estimated relevance, another one the reason why it is not followed.
#[derive(Serialize, Deserialize)]
pub(crate) struct SegmentLink<'a> {
    pub(crate) url: &'a str,
    pub(crate) followed: Option<u16>,
    pub(crate) reason: Option<Reason>,
    pub(crate) kind: u8,
    pub(crate) context: u16,
    pub(crate) position: f32,
    pub(crate) internal: bool,
    pub(crate) rel: &'a str,
    pub(crate) anchor: &'a str,
}

impl<'a> SegmentPage<'a> {
    /// Describes the page with this index in its batch, whose record is at `offset`.
    pub(crate) fn of(index: u32, page: &'a GatheredPage, offset: u64) -> SegmentPage<'a> {
        let record = page.record.as_ref().and_then(|record| record.as_ref().ok());
        let document = page.document.as_ref().map(SegmentDocument::of);
        let links = document.is_some().then_some(&page.links);
        SegmentPage {
            page: index,
            fetched_ms: page.fetched_ms,
            address: page.address,
            failure: page.failure.map(Reason::code),
            latency_ms: page.latency_ms,
            duration_ms: page.duration_ms,
            truncated: page.truncated.map(Truncation::as_str),
            record: record.map(|record| (offset, record.members().len() as u64)),
            document,
            links: links.map_or_else(Vec::new, |links| {
                links.all.iter().map(|link| SegmentLink::of(links, link)).collect()
            }),
        }
    }
}

impl<'a> SegmentDocument<'a> {
    fn of(document: &'a GatheredDocument) -> SegmentDocument<'a> {
        let language = document.language.as_ref();
        SegmentDocument {
            kind: document.kind.as_str(),
            title: document.title.as_str(),
            description: document.description.as_str(),
            language: language.map(|(code, confidence)| (code.as_ref(), *confidence)),
            language_declared: document.language_declared.as_str(),
            charset: document.charset.as_str(),
            charset_source: document.charset_source.as_deref(),
            canonical: document.canonical.as_deref(),
            robots: (document.robots.bits(), document.robots.unavailable_after),
            published_ms: document.published_ms,
            modified_ms: document.modified_ms,
            raw_bytes: document.raw_bytes,
            text_bytes: document.text_bytes,
            words: document.words,
            relevance: document.relevance,
            text_hash: document.text_hash,
            change_hash: document.change_hash,
            front_page_hash: document.front_page_hash,
            fingerprint: (document.fingerprint.simhash, document.fingerprint.minhash),
        }
    }
}

impl<'a> SegmentLink<'a> {
    fn of(links: &'a GatheredLinks, link: &GatheredLink) -> SegmentLink<'a> {
        let (followed, reason) = match link.target {
            LinkTarget::Followed(index) => (Some(links.relevance(index as usize)), None),
            LinkTarget::Unfollowed(_, reason) => (None, reason),
        };
        SegmentLink {
            url: links.url(link.target),
            followed,
            reason,
            kind: link.kind.code(),
            context: link.context,
            position: link.position,
            internal: link.internal,
            rel: links.text(link.rel),
            anchor: links.text(link.anchor),
        }
    }
}

/// Reads links, and skips those after the first one beyond the maximum: an encoded link can be ten times smaller than one in
/// memory.
fn limited_links<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SegmentLink<'de>>, D::Error> {
    struct LimitedLinks;

    impl<'de> Visitor<'de> for LimitedLinks {
        type Value = Vec<SegmentLink<'de>>;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("links")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
            let mut links = Vec::new();
            while let Some(link) = sequence.next_element()? {
                if links.len() <= MAX_LINKS {
                    links.push(link);
                }
            }
            Ok(links)
        }
    }

    deserializer.deserialize_seq(LimitedLinks)
}
