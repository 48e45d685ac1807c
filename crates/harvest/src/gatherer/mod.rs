//! Gatherer: parses fetched pages and extracts their links.
//!
//! It only computes, one [`Gatherer`] per thread: content coding, parsing, language, fingerprints, canonical links, and the
//! compressed WARC record.
//!
//! It decides which links are followed, by the link alone: those to pages in the scope of the crawl, unless the page
//! (`nofollow` in its meta element or header) or the link (`rel=nofollow`) forbids it. All others are only recorded in the
//! table of links. A `nofollow` link is not an endorsement, so that it is not an edge of the link graph either.

pub mod pool;

use frontier::quantize_u16;
use model::{CanonicalUrl, Reason, UrlClass};
use parse::{
    ContentKind, Document, Fingerprint, LinkKind, RobotsDirectives, decode_content, detect_language,
    parse_date,
};
use warc::RecordEncoder;
use xxhash_rust::xxh3::xxh3_64;

use crate::item::fetch_outcome::FetchOutcome;
use crate::item::fetched_page::FetchedPage;
use crate::item::gathered_page::{
    GatheredDocument, GatheredLink, GatheredLinks, GatheredPage, LinkTarget, Span,
};
use crate::item::http_head::HttpHead;
use crate::settings::gather_settings::GatherSettings;

/// Maximum lengths of strings in tables.
const MAX_ANCHOR_BYTES: usize = 1 << 10;
const MAX_REL_BYTES: usize = 128;
const MAX_INVALID_URL_BYTES: usize = 256;
const MAX_NAME_BYTES: usize = 128;

/// Parser of fetched pages; one per thread.
pub struct Gatherer<'s> {
    settings: &'s GatherSettings,
    encoder: RecordEncoder,
    /// Reused for each page.
    document: Document,
    links: GatheredLinks,
}

impl<'s> Gatherer<'s> {
    /// Creates a gatherer.
    pub fn new(settings: &'s GatherSettings) -> Gatherer<'s> {
        Gatherer {
            settings,
            encoder: RecordEncoder::new(settings.compression_level),
            document: Document::default(),
            links: GatheredLinks::default(),
        }
    }

    /// Parses a page.
    pub fn gather(&mut self, fetched: &FetchedPage) -> GatheredPage {
        let head = HttpHead(&fetched.head);
        let outcome = fetched.outcome();
        let content_type = head.value("Content-Type");
        let mut gathered = GatheredPage {
            dynamic: fetched.url.class(&self.settings.scope.extensions) == UrlClass::Dynamic,
            url: fetched.url.clone(),
            fetched_ms: fetched.fetched_ms,
            address: fetched.address,
            status: fetched.status,
            outcome,
            failure: fetched.failure,
            latency_ms: fetched.latency_ms,
            duration_ms: fetched.duration_ms,
            truncated: fetched.truncated,
            http_version: head.version().map(str::to_owned),
            server: head.value("Server").map(|name| cut(&name, MAX_NAME_BYTES)),
            mime_declared: content_type.as_deref().and_then(media_type),
            content_bytes: fetched.body.len() as u64,
            content_hash: if fetched.body.is_empty() { 0 } else { xxh3_64(&fetched.body) },
            modified_s: last_modified_s(head),
            redirect: None,
            record: self.encode(fetched, outcome),
            document: None,
            links: GatheredLinks::default(),
        };
        match outcome {
            FetchOutcome::Success => self.read_content(fetched, head, content_type.as_deref(), &mut gathered),
            FetchOutcome::Redirect => self.read_redirect(head, &mut gathered),
            _ => {}
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
    }

    fn read_redirect(&self, head: HttpHead<'_>, gathered: &mut GatheredPage) {
        let Some(location) = head.value("Location") else { return };
        let target = match self.settings.rules.join(&gathered.url, &location) {
            Ok(url) => {
                gathered.redirect = Some(url.as_str().to_owned());
                self.target(&url, url.site() != gathered.url.site(), 0, &mut gathered.links)
            }
            Err(_) => {
                LinkTarget::Unfollowed(gathered.links.store_text(&location, MAX_INVALID_URL_BYTES), None)
            }
        };
        let redirected = |url: &str| self.settings.rules.canonical(url).ok();
        let internal = gathered
            .redirect
            .as_deref()
            .and_then(redirected)
            .is_some_and(|url| url.host() == gathered.url.host());
        gathered.links.all.push(GatheredLink {
            target,
            rel: Span::default(),
            anchor: Span::default(),
            kind: LinkKind::Redirect,
            context: 0,
            position: 0.0,
            internal,
        });
    }

    /// Collects the links of a page in a reused buffer; the copy in the result has no spare capacity.
    fn links(&mut self, page: &CanonicalUrl, relevance: f32) -> GatheredLinks {
        let focus = &self.settings.focus;
        let mut links = std::mem::take(&mut self.links);
        links.clear();
        let nofollow = self.document.robots_directives.nofollow();
        self.document.resolve(page, &self.settings.rules, |resolved| {
            let link = resolved.link;
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
                Ok(url) => {
                    let score = || focus.score_link(relevance, link.anchor, url.as_str());
                    let relevance = if focus.is_empty() { 0 } else { quantize_u16(score()) };
                    self.target(url, url.site() != page.site(), relevance, &mut links)
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

    /// Target of a link: a URL out of scope is recorded with the reason and not followed.
    fn target(
        &self,
        url: &CanonicalUrl,
        from_other_site: bool,
        relevance: u16,
        links: &mut GatheredLinks,
    ) -> LinkTarget {
        match self.settings.scope.check_link(url, from_other_site) {
            Ok(class) => links.follow(url, class == UrlClass::Dynamic, relevance),
            Err(reason) => LinkTarget::Unfollowed(links.store_text(url.as_str(), usize::MAX), Some(reason)),
        }
    }

    fn describe(&mut self, page: &CanonicalUrl, main_text: &str, raw_bytes: u64) -> GatheredDocument {
        let document = &mut self.document;
        let sample = if main_text.is_empty() { &document.text } else { main_text };
        let rules = &self.settings.rules;
        let canonical = document.canonical_url().map(|raw| {
            let url = rules.join(&document.base(page, rules), raw);
            url.map_or_else(|_| cut(raw, MAX_INVALID_URL_BYTES), |url| url.as_str().to_owned())
        });
        GatheredDocument {
            kind: document.kind,
            language: detect_language(sample).map(|found| (found.code.into(), found.confidence as f32)),
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
            fingerprint: Fingerprint::from_text(main_text),
            relevance: 0,
            title: std::mem::take(&mut document.title),
            description: std::mem::take(&mut document.description),
        }
    }
}

/// Last modification by the server. A server that always reports the current time generates its pages on request; its date
/// says nothing about changes.
fn last_modified_s(head: HttpHead<'_>) -> Option<u32> {
    let time = |name| head.value(name).as_deref().and_then(parse_date);
    let modified = time("Last-Modified").filter(|modified| *modified > 0)?;
    let is_just_now = time("Date").is_some_and(|now| modified >= now);
    u32::try_from(modified).ok().filter(|_| !is_just_now)
}

fn is_nofollow(rel: &str) -> bool {
    rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("nofollow"))
}

/// MIME type without parameters, in lower case: `text/html` for `Text/HTML; charset=utf-8`.
fn media_type(content_type: &str) -> Option<String> {
    let name = content_type.split(';').next().unwrap_or_default().trim();
    (!name.is_empty()).then(|| cut(&name.to_ascii_lowercase(), MAX_NAME_BYTES))
}

fn cut(text: &str, max_bytes: usize) -> String {
    text[..text.floor_char_boundary(max_bytes)].to_owned()
}
