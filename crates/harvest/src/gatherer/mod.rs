//! Gatherer: parses fetched pages and extracts their links.
//!
//! It only computes, one [`Gatherer`] per thread: content coding, parsing, language, fingerprints, canonical links, and the
//! compressed WARC record.
//!
//! It decides which links are followed, by the link alone: those to pages in the scope of the crawl, unless the page
//! (`nofollow` in its meta element or header) or the link (`rel=nofollow`) forbids it. All others are only recorded in the
//! table of links. A `nofollow` link is not an endorsement, so that it is not an edge of the link graph either. A reference
//! with a fragment to the page itself leads to a position in it, and is not a link at all.

mod front_page;
pub mod pool;
pub(crate) mod response;

use std::borrow::Cow;

use frontier::quantize_u16;
use model::{CanonicalUrl, Reason, Truncation};
use parse::{
    ContentKind, DecodeEnd, Document, Fingerprint, RobotsDirectives, decode_content, parse_date,
    top_level_domain,
};
use warc::RecordEncoder;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use crate::gatherer::front_page::front_page_fingerprint;
use crate::gatherer::response::{MAX_INVALID_URL_BYTES, ResponseParts, cut, describe_response, link_target};
use crate::item::fetch_outcome::FetchOutcome;
use crate::item::fetched_page::FetchedPage;
use crate::item::gathered_page::{GatheredDocument, GatheredLink, GatheredLinks, GatheredPage, LinkTarget};
use crate::item::harvest_event::SitemapUrl;
use crate::item::http_head::HttpHead;
use crate::settings::gather_settings::GatherSettings;

/// Maximum lengths of strings in tables.
pub(crate) const MAX_ANCHOR_BYTES: usize = 1 << 10;
pub(crate) const MAX_REL_BYTES: usize = 128;

/// Parser of fetched pages; one per thread.
pub struct Gatherer<'s> {
    /// Owned after a change of the settings.
    settings: Cow<'s, GatherSettings>,
    encoder: RecordEncoder,
    /// Reused for each page.
    document: Document,
    links: GatheredLinks,
}

impl<'s> Gatherer<'s> {
    /// Creates a gatherer.
    pub fn new(settings: &'s GatherSettings) -> Gatherer<'s> {
        Gatherer {
            settings: Cow::Borrowed(settings),
            encoder: RecordEncoder::new(settings.compression_level),
            document: Document::default(),
            links: GatheredLinks::default(),
        }
    }

    /// Applies new settings to the following pages, except for the compression level.
    pub(crate) fn update_settings(&mut self, settings: &GatherSettings) {
        self.settings = Cow::Owned(settings.clone());
    }

    /// Parses a page.
    pub fn gather(&mut self, fetched: &FetchedPage) -> GatheredPage {
        let head = HttpHead(&fetched.head);
        let outcome = fetched.outcome();
        let content_type = head.value("Content-Type");
        let mut gathered = describe_response(
            &self.settings,
            ResponseParts {
                url: fetched.url.clone(),
                fetched_ms: fetched.fetched_ms,
                address: fetched.address,
                status: fetched.status,
                outcome,
                protocols: &fetched.protocols,
                head: &fetched.head,
                body: &fetched.body,
                failure: fetched.failure,
                truncated: fetched.truncated,
                latency_ms: fetched.latency_ms,
                duration_ms: fetched.duration_ms,
            },
        );
        gathered.record = self.encode(fetched, outcome);
        if outcome.has_content() {
            self.read_content(fetched, head, content_type.as_deref(), &mut gathered);
        }
        gathered
    }

    /// Encodes the record of a response; `None` without a response. An archive can mark a page as not modified although the
    /// server sent it again: that only concerns the state of the page.
    fn encode(
        &mut self,
        fetched: &FetchedPage,
        outcome: FetchOutcome,
    ) -> Option<warc::Result<warc::EncodedRecord>> {
        let has_response = match outcome {
            FetchOutcome::NoResponse => false,
            FetchOutcome::NotModified => HttpHead(&fetched.head).status() == Some(304),
            _ => true,
        };
        if !has_response {
            return None;
        }
        let protocols: Vec<&str> = fetched.protocols.iter().map(String::as_str).collect();
        let request = Some(fetched.request.as_slice());
        let request = request.filter(|request| self.settings.store_requests && !request.is_empty());
        Some(self.encoder.encode(&fetched.capture(&protocols, request)))
    }

    fn read_content(
        &mut self,
        fetched: &FetchedPage,
        head: HttpHead<'_>,
        content_type: Option<&str>,
        gathered: &mut GatheredPage,
    ) {
        let options = &self.settings.options;
        let encoding = head.joined("Content-Encoding");
        let body = decode_content(&fetched.body, &encoding, options.limits.input_bytes);
        mark_incomplete(body.end, gathered);
        if body.end == DecodeEnd::Undecodable {
            return;
        }
        let top_level_domain = fetched.url.host().rsplit('.').next();
        self.document.read(&body.bytes, content_type, top_level_domain, options);
        if self.document.kind == ContentKind::Other {
            return;
        }
        self.document.robots_directives = self
            .document
            .robots_directives
            .merge(RobotsDirectives::from_header(&head.joined("X-Robots-Tag"), &options.agent));
        self.document.modified =
            self.document.modified.or_else(|| head.value("Last-Modified").as_deref().and_then(parse_date));
        let main_text = self.document.main_text();
        let relevance = self.settings.focus.score_text(&self.document.title, &main_text);
        gathered.links = self.links(&fetched.url, relevance);
        let mut document = self.describe(&fetched.url, &main_text, body.bytes.len() as u64);
        document.relevance = quantize_u16(relevance);
        gathered.document = Some(document);
        if self.document.kind == ContentKind::Feed {
            gathered.feed_entries = self.feed_entries(&fetched.url);
        }
    }

    /// Pages of the same site that a feed lists. Entries of other sites are links like any other.
    fn feed_entries(&self, feed: &CanonicalUrl) -> Vec<SitemapUrl> {
        let mut dates = self.document.entry_dates.iter();
        let mut entries = Vec::new();
        self.document.resolve(feed, &self.settings.rules, |resolved| {
            let date = dates.next().copied().flatten();
            let url = resolved.target.ok().filter(|url| url.site() == feed.site());
            let url = url.filter(|url| self.settings.scope.check(url).is_ok());
            entries.extend(url.map(|url| SitemapUrl::new(url, date)));
        });
        entries
    }

    /// Collects the links of a page in a reused buffer; the copy in the result has no spare capacity.
    fn links(&mut self, page: &CanonicalUrl, relevance: f32) -> GatheredLinks {
        let focus = &self.settings.focus;
        let mut links = std::mem::take(&mut self.links);
        links.clear();
        let nofollow = self.document.robots_directives.nofollow();
        self.document.resolve(page, &self.settings.rules, |resolved| {
            let link = resolved.link;
            if link.href.contains('#') && resolved.target.as_ref().is_ok_and(|url| *url == page) {
                return;
            }
            match (link.kind.leads_to_page(), resolved.is_internal) {
                (false, _) => links.embedded += 1,
                (true, true) => links.internal += 1,
                (true, false) => links.external += 1,
            }
            let target = match resolved.target {
                Ok(url) if !link.kind.leads_to_page() => LinkTarget::Unfollowed(
                    links.store_text(url.as_str(), usize::MAX),
                    Some(Reason::FileExtension),
                ),
                Ok(url) if nofollow || is_nofollow(link.rel) => {
                    LinkTarget::Unfollowed(links.store_text(url.as_str(), usize::MAX), Some(Reason::Nofollow))
                }
                Ok(url) if !self.settings.followed_kinds.contains(&link.kind) => LinkTarget::Unfollowed(
                    links.store_text(url.as_str(), usize::MAX),
                    Some(Reason::LinkElement),
                ),
                Ok(url) => {
                    let score = || focus.score_link(relevance, link.anchor, url.as_str());
                    let relevance = if focus.is_empty() { 0 } else { quantize_u16(score()) };
                    link_target(&self.settings, url, url.site() != page.site(), relevance, &mut links)
                }
                Err(_) => LinkTarget::Unfollowed(links.store_text(link.href, MAX_INVALID_URL_BYTES), None),
            };
            let gathered = GatheredLink {
                target,
                rel: links.store_text(link.rel, MAX_REL_BYTES),
                anchor: links.store_text(link.anchor, MAX_ANCHOR_BYTES),
                kind: link.kind,
                context: link.context.bits(),
                position: link.position,
                internal: resolved.is_internal,
            };
            links.all.push(gathered);
        });
        let copy = links.clone();
        self.links = links;
        copy
    }

    fn describe(&mut self, page: &CanonicalUrl, main_text: &str, raw_bytes: u64) -> GatheredDocument {
        let document = &mut self.document;
        let rules = &self.settings.rules;
        let canonical = document.canonical_url().map(|raw| {
            let url = rules.join(&document.base(page, rules), raw);
            url.map_or_else(|_| cut(raw, MAX_INVALID_URL_BYTES), |url| url.as_str().to_owned())
        });
        GatheredDocument {
            kind: document.kind,
            language: document
                .language(main_text, top_level_domain(page.as_str()))
                .map(|found| (found.code.into(), found.confidence as f32)),
            language_declared: std::mem::take(&mut document.language_declared),
            charset: std::mem::take(&mut document.charset),
            charset_source: document.charset_source.map(|source| source.as_str().into()),
            canonical,
            robots: document.robots_directives,
            published_ms: document.published.map(|time| time.saturating_mul(1000)),
            modified_ms: document.modified.map(|time| time.saturating_mul(1000)),
            raw_bytes,
            text_bytes: document.text.len() as u64,
            words: document.word_count(),
            text_hash: if main_text.is_empty() { 0 } else { xxh3_64(main_text.as_bytes()) },
            change_hash: match document.kind {
                ContentKind::Feed => entries_hash(document),
                _ => document.change_hash(main_text),
            },
            front_page_hash: match page.path_and_query() {
                "/" => front_page_fingerprint(document, page, rules),
                _ => 0,
            },
            fingerprint: Fingerprint::from_text(main_text),
            relevance: 0,
            title: std::mem::take(&mut document.title),
            description: std::mem::take(&mut document.description),
        }
    }
}

/// Marks a page whose body is not decoded completely. In a body that was truncated when it was received, the truncation is
/// the cause, and is marked already.
fn mark_incomplete(end: DecodeEnd, gathered: &mut GatheredPage) {
    let (truncated, failure) = match end {
        DecodeEnd::Complete => return,
        DecodeEnd::LimitReached => (Some(Truncation::Length), None),
        DecodeEnd::Broken => (Some(Truncation::Unspecified), Some(Reason::InvalidContentEncoding)),
        DecodeEnd::Undecodable => (None, Some(Reason::InvalidContentEncoding)),
    };
    if gathered.truncated.is_none() {
        gathered.truncated = truncated;
        gathered.failure = gathered.failure.or(failure);
    }
}

/// Hash of the entries of a feed: the time at which it was generated is no change.
fn entries_hash(feed: &Document) -> u64 {
    let mut hash = Xxh3Default::new();
    for (link, date) in feed.links().zip(&feed.entry_dates) {
        hash.update(link.href.as_bytes());
        hash.update(&date.unwrap_or(0).to_le_bytes());
    }
    hash.digest()
}

fn is_nofollow(rel: &str) -> bool {
    rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("nofollow"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TITLE: &str = "<title>A page</title><a href=/next>next</a>";

    fn gather(encoding: &str, body: &[u8], truncated: Option<Truncation>) -> GatheredPage {
        let settings = GatherSettings::default();
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: {encoding}\r\n\r\n");
        Gatherer::new(&settings).gather(&FetchedPage {
            url: settings.rules.canonical("http://a.example/").unwrap(),
            fetched_ms: 0,
            address: None,
            protocols: Vec::new(),
            status: 200,
            head: head.into_bytes(),
            body: body.to_vec(),
            truncated,
            request: Vec::new(),
            failure: None,
            latency_ms: None,
            duration_ms: None,
        })
    }

    /// Mark, reason, title and number of links.
    fn marks(page: &GatheredPage) -> (Option<Truncation>, Option<Reason>, Option<&str>, usize) {
        let title = page.document.as_ref().map(|document| document.title.as_str());
        (page.truncated, page.failure, title, page.links.all.len())
    }

    #[test]
    fn the_http_version_is_that_of_the_protocol_and_not_of_the_stored_head() {
        let settings = GatherSettings::default();
        let version = |protocols: &[&str]| {
            let fetched = FetchedPage {
                url: settings.rules.canonical("https://a.example/").unwrap(),
                fetched_ms: 0,
                address: None,
                protocols: protocols.iter().map(|&name| name.to_owned()).collect(),
                status: 200,
                head: b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
                body: Vec::new(),
                truncated: None,
                request: Vec::new(),
                failure: None,
                latency_ms: None,
                duration_ms: None,
            };
            Gatherer::new(&settings).gather(&fetched).http_version
        };
        assert_eq!(version(&["h2", "tls/1.3"]).as_deref(), Some("2"));
        assert_eq!(version(&["http/1.1", "tls/1.3"]).as_deref(), Some("1.1"));
        assert_eq!(version(&[]).as_deref(), Some("1.1"));
    }

    #[test]
    fn a_body_that_is_decoded_in_part_is_parsed_and_marked() {
        let noise: String = (0..100_000u64).map(|number| format!("{:x} ", number.wrapping_pow(7))).collect();
        let body = zstd::encode_all(format!("{TITLE}{noise}").as_bytes(), 1).unwrap();
        let cut = &body[..body.len() - 12];
        let invalid = Some(Reason::InvalidContentEncoding);
        assert_eq!(marks(&gather("zstd", &body, None)), (None, None, Some("A page"), 1));
        let unspecified = Some(Truncation::Unspecified);
        assert_eq!(marks(&gather("zstd", cut, None)), (unspecified, invalid, Some("A page"), 1));
        let by_size = Some(Truncation::Length);
        assert_eq!(marks(&gather("zstd", cut, by_size)), (by_size, None, Some("A page"), 1), "cut here");
    }

    #[test]
    fn a_body_that_cannot_be_decoded_has_no_document() {
        let invalid = Some(Reason::InvalidContentEncoding);
        let body = zstd::encode_all(TITLE.as_bytes(), 1).unwrap();
        for (encoding, body) in [("zstd", &body[..8]), ("gzip", &body), ("br", &body)] {
            assert_eq!(marks(&gather(encoding, body, None)), (None, invalid, None, 0), "{encoding}");
        }
        assert_eq!(marks(&gather("gzip", TITLE.as_bytes(), None)), (None, None, Some("A page"), 1), "plain");
    }

    #[test]
    fn a_decompression_bomb_is_marked_as_too_long() {
        let body = zstd::encode_all(&vec![b' '; 32 << 20][..], 1).unwrap();
        let page = gather("zstd", &body, None);
        assert_eq!(marks(&page), (Some(Truncation::Length), None, Some(""), 0));
    }
}
