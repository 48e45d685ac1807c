//! The gatherer: what does a fetched page say, and where does it lead?
//!
//! Pure work for any thread, one [`Gatherer`] each: content encoding, parsing, language, fingerprints, links made
//! canonical, and the page compressed for the store.
//!
//! Which links are followed is decided here, by the link alone: those that lead to pages that belong to the crawl, unless the page (`nofollow` in its meta element or header) or the link (`rel=nofollow`) asks otherwise. All others
//! are noted in the table of links and nowhere else: who asks a crawler not to follow a link neither wants the page
//! visited nor stands for it, so that it has no place in the graph either.

use frontier::Scope;
use model::{CanonicalUrl, Reason, UrlClass, UrlRules};
use parse::html::Options;
use parse::{
    Document, Fingerprint, LinkKind, PageKind, RobotsDirectives, decode_content, detect_language, parse_date,
};
use store::Preparer;
use xxhash_rust::xxh3::xxh3_64;

use crate::fetched::Fetched;
use crate::focus::{Focus, in_16_bits};
use crate::gathered::{Gathered, GatheredDocument, GatheredLink, GatheredLinks, Span, Target};
use crate::http_head::HttpHead;
use crate::outcome::Outcome;

/// How pages are read.
#[derive(Debug, Clone)]
pub struct GatherSettings {
    /// How URLs are made canonical.
    pub rules: UrlRules,
    /// Which URLs are pages that belong to the crawl.
    pub scope: Scope,
    /// What is taken from a page, and how much.
    pub options: Options,
    /// Compression level of the store, from 1 to 12.
    pub level: u8,
    /// Whether requests are stored beside the answers.
    pub keep_requests: bool,
    /// What the crawl is after.
    pub focus: Focus,
}

impl Default for GatherSettings {
    fn default() -> GatherSettings {
        GatherSettings {
            rules: UrlRules::default(),
            scope: Scope::default(),
            options: Options::default(),
            level: 1,
            keep_requests: false,
            focus: Focus::default(),
        }
    }
}

/// Limits on the strings that go into tables.
const ANCHOR_LIMIT_BYTES: usize = 1 << 10;
const REL_LIMIT_BYTES: usize = 128;
const NO_URL_LIMIT_BYTES: usize = 256;
const NAME_LIMIT_BYTES: usize = 128;

/// Reads pages; one per thread.
pub struct Gatherer<'s> {
    settings: &'s GatherSettings,
    preparer: Preparer,
    /// Used again for each page.
    document: Document,
    links: GatheredLinks,
}

impl<'s> Gatherer<'s> {
    /// Reads by these settings.
    pub fn new(settings: &'s GatherSettings) -> Gatherer<'s> {
        Gatherer {
            settings,
            preparer: Preparer::new(settings.level),
            document: Document::default(),
            links: GatheredLinks::default(),
        }
    }

    /// Reads what was fetched.
    pub fn read(&mut self, fetched: &Fetched) -> Gathered {
        let head = HttpHead(&fetched.head);
        let outcome = fetched.outcome();
        let content_type = head.value("Content-Type");
        let mut gathered = Gathered {
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
            server: head.value("Server").map(|name| cut(&name, NAME_LIMIT_BYTES)),
            mime_declared: content_type.as_deref().and_then(media_type),
            content_bytes: fetched.body.len() as u64,
            content_hash: if fetched.body.is_empty() { 0 } else { xxh3_64(&fetched.body) },
            modified_s: last_modified_s(head),
            redirect: None,
            prepared: self.prepare(fetched, outcome),
            document: None,
            links: GatheredLinks::default(),
        };
        match outcome {
            Outcome::Ok => self.read_content(fetched, head, content_type.as_deref(), &mut gathered),
            Outcome::Redirect => self.read_redirect(head, &mut gathered),
            _ => {}
        }
        gathered
    }

    /// What nobody said cannot be stored. An archive may know that a page was as before though its server had sent it again:
    /// that is for the page's state alone.
    fn prepare(&mut self, fetched: &Fetched, outcome: Outcome) -> Option<store::Result<store::Prepared>> {
        let said = match outcome {
            Outcome::NoAnswer => false,
            Outcome::NotModified => HttpHead(&fetched.head).status() == Some(304),
            _ => true,
        };
        if !said {
            return None;
        }
        let protocols: Vec<&str> = fetched.protocols.iter().map(String::as_str).collect();
        let request = Some(fetched.request.as_slice());
        let request = request.filter(|request| self.settings.keep_requests && !request.is_empty());
        Some(self.preparer.prepare(&fetched.capture(&protocols, request)))
    }

    fn read_content(
        &mut self,
        fetched: &Fetched,
        head: HttpHead<'_>,
        content_type: Option<&str>,
        gathered: &mut Gathered,
    ) {
        let options = &self.settings.options;
        let encoding = head.joined("Content-Encoding");
        let body = decode_content(&fetched.body, &encoding, options.limits.input_bytes);
        let top_level_domain = fetched.url.host().rsplit('.').next();
        self.document.read(&body.bytes, content_type, top_level_domain, options);
        if self.document.kind == PageKind::Other {
            return;
        }
        self.document.robots = self
            .document
            .robots
            .merge(RobotsDirectives::from_header(&head.joined("X-Robots-Tag"), &options.agent));
        self.document.modified =
            self.document.modified.or_else(|| head.value("Last-Modified").as_deref().and_then(parse_date));
        let main_text = self.document.main_text();
        let relevance = self.settings.focus.of_text(&self.document.title, &main_text);
        gathered.links = self.links(&fetched.url, relevance);
        let mut document = self.describe(&fetched.url, &main_text, body.bytes.len() as u64);
        document.relevance = in_16_bits(relevance);
        gathered.document = Some(document);
    }

    fn read_redirect(&self, head: HttpHead<'_>, gathered: &mut Gathered) {
        let Some(location) = head.value("Location") else { return };
        let target = match self.settings.rules.join(&gathered.url, &location) {
            Ok(url) => {
                gathered.redirect = Some(url.as_str().to_owned());
                self.target(&url, url.site() != gathered.url.site(), 0, &mut gathered.links)
            }
            Err(_) => Target::Noted(gathered.links.keep(&location, NO_URL_LIMIT_BYTES), None),
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

    /// What grows link by link is used again; the copy that a page takes along is as large as it must be.
    fn links(&mut self, page: &CanonicalUrl, relevance: f32) -> GatheredLinks {
        let focus = &self.settings.focus;
        let mut links = std::mem::take(&mut self.links);
        links.clear();
        let nofollow = self.document.robots.nofollow();
        self.document.resolve(page, &self.settings.rules, |resolved| {
            let link = resolved.link;
            match (link.kind.leads_to_page(), resolved.internal) {
                (false, _) => links.embedded += 1,
                (true, true) => links.internal += 1,
                (true, false) => links.external += 1,
            }
            let target = match resolved.target {
                Ok(url) if !link.kind.leads_to_page() => {
                    Target::Noted(links.keep(url.as_str(), usize::MAX), Some(Reason::NotAPage))
                }
                Ok(url) if nofollow || is_nofollow(link.rel) => {
                    Target::Noted(links.keep(url.as_str(), usize::MAX), Some(Reason::Nofollow))
                }
                Ok(url) => {
                    let of_link = || focus.of_link(relevance, link.text, url.as_str());
                    let relevance = if focus.is_empty() { 0 } else { in_16_bits(of_link()) };
                    self.target(url, url.site() != page.site(), relevance, &mut links)
                }
                Err(_) => Target::Noted(links.keep(link.raw, NO_URL_LIMIT_BYTES), None),
            };
            let kept = GatheredLink {
                target,
                rel: links.keep(link.rel, REL_LIMIT_BYTES),
                anchor: links.keep(link.text, ANCHOR_LIMIT_BYTES),
                kind: link.kind,
                context: link.context.bits(),
                position: link.position,
                internal: resolved.internal,
            };
            links.all.push(kept);
        });
        let copy = links.clone();
        self.links = links;
        copy
    }

    /// What does not belong to the crawl is noted with the reason, and not followed.
    fn target(
        &self,
        url: &CanonicalUrl,
        from_other_site: bool,
        relevance: u16,
        links: &mut GatheredLinks,
    ) -> Target {
        match self.settings.scope.judge_entry(url, from_other_site) {
            Ok(class) => links.follow(url, class == UrlClass::Dynamic, relevance),
            Err(reason) => Target::Noted(links.keep(url.as_str(), usize::MAX), Some(reason)),
        }
    }

    fn describe(&mut self, page: &CanonicalUrl, main_text: &str, raw_bytes: u64) -> GatheredDocument {
        let document = &mut self.document;
        let sample = if main_text.is_empty() { &document.text } else { main_text };
        let rules = &self.settings.rules;
        let canonical = document.canonical().map(|raw| {
            let url = rules.join(&document.base(page, rules), raw);
            url.map_or_else(|_| cut(raw, NO_URL_LIMIT_BYTES), |url| url.as_str().to_owned())
        });
        GatheredDocument {
            kind: document.kind,
            language: detect_language(sample).map(|found| (found.code.into(), found.confidence as f32)),
            language_declared: std::mem::take(&mut document.declared_language),
            charset: std::mem::take(&mut document.charset),
            charset_source: document.charset_source.map(|source| source.as_str().into()),
            canonical,
            robots: document.robots,
            published_ms: document.published.map(|time| time.saturating_mul(1000)),
            modified_ms: document.modified.map(|time| time.saturating_mul(1000)),
            raw_bytes,
            text_bytes: document.text.len() as u64,
            words: document.words(),
            text_hash: if main_text.is_empty() { 0 } else { xxh3_64(main_text.as_bytes()) },
            fingerprint: Fingerprint::of(main_text),
            relevance: 0,
            title: std::mem::take(&mut document.title),
            description: std::mem::take(&mut document.description),
        }
    }
}

/// When the server says that it changed the page. One that always says "just now" makes its pages on request, and knows
/// nothing of their changes.
fn last_modified_s(head: HttpHead<'_>) -> Option<u32> {
    let time = |name| head.value(name).as_deref().and_then(parse_date);
    let modified = time("Last-Modified").filter(|modified| *modified > 0)?;
    let is_just_now = time("Date").is_some_and(|now| modified >= now);
    u32::try_from(modified).ok().filter(|_| !is_just_now)
}

fn is_nofollow(rel: &str) -> bool {
    rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("nofollow"))
}

/// `text/html` of `Text/HTML; charset=utf-8`.
fn media_type(content_type: &str) -> Option<String> {
    let name = content_type.split(';').next().unwrap_or_default().trim();
    (!name.is_empty()).then(|| cut(&name.to_ascii_lowercase(), NAME_LIMIT_BYTES))
}

fn cut(text: &str, limit_bytes: usize) -> String {
    text[..text.floor_char_boundary(limit_bytes)].to_owned()
}
