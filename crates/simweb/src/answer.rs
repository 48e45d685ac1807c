//! What does a site answer? Decided here as a pure function of the question, so that it can be tested, and counted,
//! without a socket; [`crate::server`] carries it out.

use std::borrow::Cow;
use std::fmt::Write;

use crate::charset::Charset;
use crate::date::{self, EPOCH, Moment};
use crate::draw::Draw;
use crate::gzip::gzip;
use crate::html::{self, Edition};
use crate::page::{Kind, Page, PageRef, Redirect};
use crate::path::{self, Found};
use crate::robots::{MOVED, RobotsKind};
use crate::sheet::Sheet;
use crate::site::{Health, Site};
use crate::world::{Naming, World};
use crate::{files, sitemap, text, traps};

/// A question to a site.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Path and query.
    pub path: &'a str,
    /// How links are to be written.
    pub naming: Naming,
    /// Seconds since this Web began.
    pub seconds: u64,
    /// Numbers the questions; only session ids, noise and flaky sites depend on it.
    pub visit: u64,
    /// Whether gzip is accepted.
    pub gzip: bool,
    /// If-None-Match.
    pub if_none_match: Option<&'a str>,
    /// If-Modified-Since.
    pub if_modified_since: Option<&'a str>,
}

impl<'a> Ask<'a> {
    /// A plain question: first visit, no conditions.
    pub fn new(path: &'a str, seconds: u64) -> Ask<'a> {
        let naming = Naming::Names;
        Ask { path, naming, seconds, visit: 0, gzip: false, if_none_match: None, if_modified_since: None }
    }
}

/// What a site answers, and in which manner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Content-Type.
    pub content_type: Cow<'static, str>,
    /// Location.
    pub location: Option<String>,
    /// X-Robots-Tag.
    pub robots_tag: Option<&'static str>,
    /// ETag.
    pub etag: Option<String>,
    /// Last-Modified.
    pub modified: Option<Moment>,
    /// Whether the body is gzipped.
    pub gzipped: bool,
    /// The body.
    pub body: Vec<u8>,
    /// How it is sent.
    pub manner: Manner,
    /// How long the client waits for the first byte.
    pub delay_ms: u64,
}

/// How an answer is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    /// In one piece, with its length.
    #[default]
    Whole,
    /// Without Content-Length.
    Unsized,
    /// In small pieces with pauses.
    Dripped,
    /// Cut off before its Content-Length.
    Truncated,
    /// Cut off by a reset.
    Reset,
    /// Not at all.
    Silent,
}

impl World {
    /// What `site` answers to a question.
    pub fn answer(&self, site: &Site, ask: &Ask<'_>) -> Answer {
        let found = path::find(self, site, ask.path);
        if let Some(failure) = self.failure(site, ask, &found) {
            return failure;
        }
        let mut answer = match found {
            Found::Page { page, hop } => self.page_answer(site, &self.page(site, page), hop, ask),
            Found::Robots { moved } => self.robots_answer(site, moved, ask),
            Found::Sitemap(path) => match sitemap::file(self, site, &path, ask.naming, ask.seconds) {
                Some(file) => ok(file.content_type.into(), file.bytes),
                None => not_found(site, 404),
            },
            Found::Rdf => ok(
                "application/rdf+xml".into(),
                sitemap::rdf(self, site, ask.naming, ask.seconds).into_bytes(),
            ),
            Found::Trap(path) => match traps::render(site, &path) {
                Some(text) => ok(html_type(site.charset), site.charset.encode(text)),
                None => not_found(site, 404),
            },
            Found::Nothing => not_found(site, 404),
        };
        self.apply_manners(site, ask, &mut answer);
        answer
    }

    /// Failures of the whole site. A flaky site keeps its robots.txt: without it the site would be lost for a day.
    fn failure(&self, site: &Site, ask: &Ask<'_>, found: &Found) -> Option<Answer> {
        let status = match site.health {
            Health::Down => 503,
            Health::Silent => return Some(Answer { manner: Manner::Silent, ..Answer::default() }),
            Health::Flaky if !matches!(found, Found::Robots { .. }) => {
                let luck = site.key.of(990).of(ask.visit);
                if !luck.chance(self.settings.flaky_failures) {
                    return None;
                }
                if luck.bits() & 1 == 0 { 500 } else { 503 }
            }
            _ => return None,
        };
        Some(Answer {
            status,
            content_type: "text/plain".into(),
            body: b"The server cannot answer now.\n".to_vec(),
            ..Answer::default()
        })
    }

    fn apply_manners(&self, site: &Site, ask: &Ask<'_>, answer: &mut Answer) {
        match site.health {
            Health::Slow => answer.delay_ms += self.settings.slow_ms,
            Health::Dripping if answer.manner == Manner::Whole => answer.manner = Manner::Dripped,
            _ => {}
        }
        let textual =
            answer.content_type.starts_with("text/") || answer.content_type.starts_with("application/xml");
        if site.compressed
            && ask.gzip
            && textual
            && answer.body.len() > 1000
            && answer.manner == Manner::Whole
        {
            answer.body = gzip(&answer.body);
            answer.gzipped = true;
        }
        if site.chunked && answer.manner == Manner::Whole {
            answer.manner = Manner::Unsized;
        }
    }

    fn robots_answer(&self, site: &Site, moved: bool, ask: &Ask<'_>) -> Answer {
        if site.robots == RobotsKind::Redirected && !moved {
            return Answer { status: 301, location: Some(MOVED.to_owned()), ..Answer::default() };
        }
        // The same file on all copies of a site.
        let sitemap = site.sitemap.map(|kind| {
            let mut url = String::new();
            self.write_origin(&self.site(site.content), ask.naming, &mut url);
            url + kind.path()
        });
        let text = site.robots.text(self.settings.crawl_delay_s, sitemap.as_deref());
        let delay_ms = if site.robots == RobotsKind::Slow { self.settings.slow_ms } else { 0 };
        Answer { status: site.robots.status(), delay_ms, ..ok("text/plain".into(), text.into_bytes()) }
    }

    fn page_answer(&self, site: &Site, page: &Page, hop: u32, ask: &Ask<'_>) -> Answer {
        match page.kind {
            Kind::Html | Kind::Duplicate { .. } | Kind::NearDuplicate { .. } => {
                self.html_answer(site, page, ask)
            }
            Kind::Truncated => Answer { manner: Manner::Truncated, ..self.html_answer(site, page, ask) },
            Kind::Reset => Answer { manner: Manner::Reset, ..self.html_answer(site, page, ask) },
            Kind::Redirect(redirect) => self.redirect_answer(site, page, redirect, hop, ask.naming),
            Kind::Refresh { to } => self.refresh_answer(site, page, to),
            Kind::Missing => not_found(site, 404),
            Kind::Gone => not_found(site, 410),
            Kind::SoftMissing => not_found(site, 200),
            Kind::Error => Answer { status: 500, ..ok("text/plain".into(), b"Internal error.\n".to_vec()) },
            Kind::Text => self.text_answer(site, page, ask),
            Kind::Pdf => ok("application/pdf".into(), files::pdf(page)),
            Kind::Image => ok("image/png".into(), files::image(page)),
        }
    }

    fn html_answer(&self, site: &Site, page: &Page, ask: &Ask<'_>) -> Answer {
        let (version, modified) = self.version(site, page, ask.seconds);
        let mut answer = ok(html_type(site.charset), Vec::new());
        let content = self.page(site, page.content());
        let directives = html::robots_directives(self, site, &content);
        answer.robots_tag = directives.filter(|_| content.robots_in_header());
        if self.validate(site, page, version, modified, ask, &mut answer) {
            return answer;
        }
        let fresh = site.session.map(|_| format!("{:016x}", Draw::seed(ask.visit).bits()));
        let session = site.session.and(path::session_of(ask.path)).or(fresh.as_deref());
        let edition = Edition { version, modified, naming: ask.naming, session, visit: ask.visit };
        answer.body = site.charset.encode(html::render(self, site, page, edition));
        answer
    }

    fn text_answer(&self, site: &Site, page: &Page, ask: &Ask<'_>) -> Answer {
        let (version, modified) = self.version(site, page, ask.seconds);
        let charset = site.charset.without_meta();
        let mut answer = ok(text_type("text/plain", charset), Vec::new());
        if !self.validate(site, page, version, modified, ask, &mut answer) {
            answer.body = charset.encode(files::plain_text(page, version));
        }
        answer
    }

    /// How often the content of a page has changed, and when it last did.
    pub(crate) fn version(&self, site: &Site, page: &Page, seconds: u64) -> (u64, Moment) {
        let content = if page.content() == page.index { *page } else { self.page(site, page.content()) };
        let changes = content.changes(self);
        let version = changes.count_until(seconds);
        (version, EPOCH + changes.time_of(version))
    }

    /// Adds ETag and Last-Modified; true if the client has this version already and 304 is all it needs.
    fn validate(
        &self,
        site: &Site,
        page: &Page,
        version: u64,
        modified: Moment,
        ask: &Ask<'_>,
        answer: &mut Answer,
    ) -> bool {
        if !site.validators {
            return false;
        }
        // Weak, since compressed and plain bytes share it.
        let mut etag = String::with_capacity(24);
        let _ = write!(etag, "W/\"{version:x}-{:08x}\"", page.key.bits() as u32);
        let unchanged = match (ask.if_none_match, ask.if_modified_since) {
            (Some(tags), _) => tags.split(',').any(|tag| tag.trim() == etag || tag.trim() == "*"),
            (None, Some(since)) => date::parse_http_date(since).is_some_and(|since| modified <= since),
            (None, None) => false,
        };
        answer.etag = Some(etag);
        answer.modified = Some(modified);
        if unchanged {
            answer.status = 304;
            answer.content_type = "".into();
        }
        unchanged
    }

    fn redirect_answer(
        &self,
        site: &Site,
        page: &Page,
        redirect: Redirect,
        hop: u32,
        naming: Naming,
    ) -> Answer {
        let mut location = String::new();
        let next = hop + 1;
        match redirect.target {
            Some(target) if next == redirect.hops => self.write_target(site, target, naming, &mut location),
            Some(_) => path::write_hop(site, page, next, &mut location),
            None => path::write_hop(site, page, next % redirect.hops, &mut location),
        }
        let body =
            format!("<html><body><a href=\"{}\">Moved</a></body></html>\n", location.replace('&', "&amp;"));
        Answer {
            status: redirect.status,
            location: Some(location),
            ..ok("text/html".into(), body.into_bytes())
        }
    }

    /// The target of a redirect: a path on the same site, a URL elsewhere.
    fn write_target(&self, site: &Site, target: PageRef, naming: Naming, out: &mut String) {
        let other = self.site(target.site);
        if target.site != site.index {
            self.write_origin(&other, naming, out);
        }
        path::write_path(self, &other, &self.page(&other, target.page), out);
    }

    fn refresh_answer(&self, site: &Site, page: &Page, to: u32) -> Answer {
        let mut text = Sheet::default();
        let _ = write!(text, "<!DOCTYPE html>\n<html lang=\"{}\">\n<head>\n", page.language.code());
        site.charset.push_meta(&mut text);
        text.push_str("<title>");
        text::push_title(&mut text, page);
        text.push_str("</title>\n<meta http-equiv=\"refresh\" content=\"0; url=");
        let mut path = String::new();
        path::write_path(self, site, &self.page(site, to), &mut path);
        text.push_str(&path.replace('&', "&amp;"));
        text.push_str("\">\n</head>\n<body></body>\n</html>\n");
        ok(html_type(site.charset), site.charset.encode(text))
    }
}

fn ok(content_type: Cow<'static, str>, body: Vec<u8>) -> Answer {
    Answer { status: 200, content_type, body, ..Answer::default() }
}

/// The page for what is not there, with the status it should have, or 200.
pub(crate) fn not_found(site: &Site, status: u16) -> Answer {
    let mut text = Sheet::default();
    let _ = write!(text, "<!DOCTYPE html>\n<html lang=\"{}\">\n<head>\n", site.language.code());
    site.charset.push_meta(&mut text);
    text.push_str("<title>404 - ");
    text::push_site_title(&mut text, site);
    text.push_str("</title>\n</head>\n<body>\n<h1>404</h1>\n<p>");
    text::push_sentence(&mut text, site.language.vocabulary(), site.key.of(980));
    text.push_str("</p>\n<p><a href=\"/\">");
    text::push_site_title(&mut text, site);
    text.push_str("</a></p>\n</body>\n</html>\n");
    Answer { status, ..ok(html_type(site.charset), site.charset.encode(text)) }
}

fn html_type(charset: Charset) -> Cow<'static, str> {
    text_type("text/html", charset)
}

/// Most sites are UTF-8, and need no new string for saying so.
fn text_type(media: &'static str, charset: Charset) -> Cow<'static, str> {
    match (charset.in_header(), charset.is_utf8(), media) {
        (true, true, "text/html") => "text/html; charset=utf-8".into(),
        (true, ..) => format!("{media}; charset={}", charset.label).into(),
        (false, ..) => media.into(),
    }
}
