//! Response of a site, as a pure function of the request, testable without a socket. [`crate::server::connection`]
//! sends it.

use std::borrow::Cow;
use std::fmt::Write;

use crate::content::files;
use crate::content::gzip::gzip;
use crate::content::html;
use crate::content::html::RenderOptions;
use crate::content::sitemap;
use crate::content::text;
use crate::content::traps;
use crate::world::charset::Charset;
use crate::world::date;
use crate::world::date::Moment;
use crate::world::kinds::{Health, PageRef, RobotsKind};
use crate::world::page::{Page, PageKind, Redirect};
use crate::world::path;
use crate::world::path::Resource;
use crate::world::random::KeyedRandom;
use crate::world::robots::REDIRECTED_PATH;
use crate::world::site::Site;
use crate::world::synthetic_web::{Naming, World};
use crate::world::text_buffer::TextBuffer;

/// A request to a site.
#[derive(Clone, Copy, Debug)]
pub struct SimRequest<'a> {
    /// Path and query.
    pub path: &'a str,
    /// Form of host names in links.
    pub naming: Naming,
    /// Seconds since the beginning of this Web.
    pub seconds: u64,
    /// Number of the request; only session ids, volatile content and flaky sites depend on it.
    pub nonce: u64,
    /// Whether gzip is accepted.
    pub gzip: bool,
    /// If-None-Match.
    pub if_none_match: Option<&'a str>,
    /// If-Modified-Since.
    pub if_modified_since: Option<&'a str>,
}

impl<'a> SimRequest<'a> {
    /// Creates an unconditional request.
    pub fn new(path: &'a str, seconds: u64) -> SimRequest<'a> {
        let naming = Naming::Names;
        SimRequest {
            path,
            naming,
            seconds,
            nonce: 0,
            gzip: false,
            if_none_match: None,
            if_modified_since: None,
        }
    }
}

/// Response of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimResponse {
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
    pub last_modified: Option<Moment>,
    /// Whether the body is compressed with gzip.
    pub gzipped: bool,
    /// The body.
    pub body: Vec<u8>,
    /// Form of delivery.
    pub delivery: Delivery,
    /// Delay before the first byte.
    pub delay_ms: u64,
}

/// Form of delivery of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// Complete, with its length.
    #[default]
    Full,
    /// Without Content-Length.
    NoContentLength,
    /// In small chunks with pauses.
    Slow,
    /// Closed before its Content-Length.
    Truncated,
    /// Aborted by a connection reset.
    Reset,
    /// No response at all.
    Hang,
}

impl World {
    /// Returns the response of a site to a request.
    pub fn respond(&self, site: &Site, request: &SimRequest<'_>) -> SimResponse {
        let found = path::resolve(self, site, request.path);
        if let Some(failure) = self.site_failure(site, request, &found) {
            return failure;
        }
        let mut response = match found {
            Resource::Page { .. } if self.has_moved(site, request.seconds) => {
                self.moved_response(site, request)
            }
            Resource::Page { page, hop } => self.page_response(site, &self.page(site, page), hop, request),
            Resource::Robots { redirected } => self.robots_response(site, redirected, request),
            Resource::Sitemap(path) => {
                match sitemap::file(self, site, &path, request.naming, request.seconds) {
                    Some(file) => ok(file.content_type.into(), file.bytes),
                    None => not_found(site, 404),
                }
            }
            Resource::Rdf => ok(
                "application/rdf+xml".into(),
                sitemap::rdf(self, site, request.naming, request.seconds).into_bytes(),
            ),
            Resource::Trap(path) => match traps::render(site, &path) {
                Some(text) => ok(html_type(site.charset), site.charset.encode(text)),
                None => not_found(site, 404),
            },
            Resource::NotFound => not_found(site, 404),
        };
        self.apply_site_behaviour(site, request, &mut response);
        response
    }

    /// Returns a failure of the whole site. A flaky site always serves its robots.txt: otherwise a crawler would skip
    /// the site for a day.
    fn site_failure(&self, site: &Site, request: &SimRequest<'_>, found: &Resource) -> Option<SimResponse> {
        let status = match site.health {
            _ if self.is_absent(site, request.seconds) => 503,
            Health::Down => 503,
            Health::Unresponsive => {
                return Some(SimResponse { delivery: Delivery::Hang, ..SimResponse::default() });
            }
            Health::Flaky if !matches!(found, Resource::Robots { .. }) => {
                let random = site.key.child(990).child(request.nonce);
                if !random.chance(self.settings.flaky_failures) {
                    return None;
                }
                if random.bits() & 1 == 0 { 500 } else { 503 }
            }
            _ => return None,
        };
        Some(SimResponse {
            status,
            content_type: "text/plain".into(),
            body: b"The service is unavailable.\n".to_vec(),
            ..SimResponse::default()
        })
    }

    fn apply_site_behaviour(&self, site: &Site, request: &SimRequest<'_>, response: &mut SimResponse) {
        match site.health {
            Health::Slow => response.delay_ms += self.settings.slow_ms,
            Health::SlowBody if response.delivery == Delivery::Full => response.delivery = Delivery::Slow,
            _ => {}
        }
        let textual = response.content_type.starts_with("text/")
            || response.content_type.starts_with("application/xml");
        if site.compressed
            && request.gzip
            && textual
            && response.body.len() > 1000
            && response.delivery == Delivery::Full
        {
            response.body = gzip(&response.body);
            response.gzipped = true;
        }
        if site.chunked && response.delivery == Delivery::Full {
            response.delivery = Delivery::NoContentLength;
        }
    }

    /// Returns the redirect of a page of a mirror to the same page of its origin.
    fn moved_response(&self, site: &Site, request: &SimRequest<'_>) -> SimResponse {
        let mut location = String::new();
        self.write_origin(&self.site(site.content), request.naming, &mut location);
        location.push_str(request.path);
        SimResponse { status: 301, location: Some(location), ..SimResponse::default() }
    }

    fn robots_response(&self, site: &Site, redirected: bool, request: &SimRequest<'_>) -> SimResponse {
        if site.robots == RobotsKind::Redirected && !redirected {
            return SimResponse {
                status: 301,
                location: Some(REDIRECTED_PATH.to_owned()),
                ..SimResponse::default()
            };
        }
        // All replicas of a site have the same file.
        let sitemap = site.sitemap.map(|kind| {
            let mut url = String::new();
            self.write_origin(&self.site(site.content), request.naming, &mut url);
            url + kind.path()
        });
        let robots = self.robots_at(site, request.seconds);
        let text = robots.text(self.settings.crawl_delay_s, sitemap.as_deref());
        let delay_ms = if robots == RobotsKind::Slow { self.settings.slow_ms } else { 0 };
        SimResponse { status: robots.status(), delay_ms, ..ok("text/plain".into(), text.into_bytes()) }
    }

    fn page_response(&self, site: &Site, page: &Page, hop: u32, request: &SimRequest<'_>) -> SimResponse {
        match page.kind {
            PageKind::Html | PageKind::Duplicate { .. } | PageKind::NearDuplicate { .. } => {
                self.html_response(site, page, request)
            }
            PageKind::Truncated => {
                SimResponse { delivery: Delivery::Truncated, ..self.html_response(site, page, request) }
            }
            PageKind::Reset => {
                SimResponse { delivery: Delivery::Reset, ..self.html_response(site, page, request) }
            }
            PageKind::Redirect(redirect) => self.redirect_response(site, page, redirect, hop, request.naming),
            PageKind::Refresh { to } => self.refresh_response(site, page, to),
            PageKind::NotFound => not_found(site, 404),
            PageKind::Gone => not_found(site, 410),
            PageKind::Soft404 => not_found(site, 200),
            PageKind::ServerError => {
                SimResponse { status: 500, ..ok("text/plain".into(), b"Internal error.\n".to_vec()) }
            }
            PageKind::Text => self.plain_text_response(site, page, request),
            PageKind::Pdf => ok("application/pdf".into(), files::pdf(page)),
            PageKind::Image => ok("image/png".into(), files::image(page)),
        }
    }

    fn html_response(&self, site: &Site, page: &Page, request: &SimRequest<'_>) -> SimResponse {
        let (version, modified) = self.version(site, page, request.seconds);
        let mut response = ok(html_type(site.charset), Vec::new());
        let content = self.page(site, page.content());
        let directives = html::robots_directives(self, site, &content);
        response.robots_tag = directives.filter(|_| content.robots_in_header());
        if self.validate(site, page, version, modified, request, &mut response) {
            return response;
        }
        let fresh = site.session.map(|_| format!("{:016x}", KeyedRandom::seed(request.nonce).bits()));
        let session = site.session.and(path::session_id(request.path)).or(fresh.as_deref());
        let options =
            RenderOptions { version, modified, naming: request.naming, session, nonce: request.nonce };
        response.body = site.charset.encode(html::render(self, site, page, options));
        response
    }

    fn plain_text_response(&self, site: &Site, page: &Page, request: &SimRequest<'_>) -> SimResponse {
        let (version, modified) = self.version(site, page, request.seconds);
        let charset = site.charset.without_meta();
        let mut response = ok(text_type("text/plain", charset), Vec::new());
        if !self.validate(site, page, version, modified, request, &mut response) {
            response.body = charset.encode(files::plain_text(page, version));
        }
        response
    }

    /// Adds ETag and Last-Modified. Returns whether the client has the current version, so that the response is 304.
    fn validate(
        &self,
        site: &Site,
        page: &Page,
        version: u64,
        modified: Moment,
        request: &SimRequest<'_>,
        response: &mut SimResponse,
    ) -> bool {
        if !site.validators {
            return false;
        }
        // A weak ETag, because compressed and uncompressed bodies share it.
        let mut etag = String::with_capacity(24);
        let _ = write!(etag, "W/\"{version:x}-{:08x}\"", page.key.bits() as u32);
        let unchanged = match (request.if_none_match, request.if_modified_since) {
            (Some(tags), _) => tags.split(',').any(|tag| tag.trim() == etag || tag.trim() == "*"),
            (None, Some(since)) => date::parse_http_date(since).is_some_and(|since| modified <= since),
            (None, None) => false,
        };
        response.etag = Some(etag);
        response.last_modified = Some(modified);
        if unchanged {
            response.status = 304;
            response.content_type = "".into();
        }
        unchanged
    }

    fn redirect_response(
        &self,
        site: &Site,
        page: &Page,
        redirect: Redirect,
        hop: u32,
        naming: Naming,
    ) -> SimResponse {
        let mut location = String::new();
        let next = hop + 1;
        match redirect.target {
            Some(target) if next == redirect.hops => self.write_target(site, target, naming, &mut location),
            Some(_) => path::write_hop(site, page, next, &mut location),
            None => path::write_hop(site, page, next % redirect.hops, &mut location),
        }
        let body =
            format!("<html><body><a href=\"{}\">Moved</a></body></html>\n", location.replace('&', "&amp;"));
        SimResponse {
            status: redirect.status,
            location: Some(location),
            ..ok("text/html".into(), body.into_bytes())
        }
    }

    /// Appends the target of a redirect: a path on the same site, or a URL.
    fn write_target(&self, site: &Site, target: PageRef, naming: Naming, out: &mut String) {
        let other = self.site(target.site);
        if target.site != site.index {
            self.write_origin(&other, naming, out);
        }
        path::write_path(self, &other, &self.page(&other, target.page), out);
    }

    fn refresh_response(&self, site: &Site, page: &Page, to: u32) -> SimResponse {
        let mut text = TextBuffer::default();
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

fn ok(content_type: Cow<'static, str>, body: Vec<u8>) -> SimResponse {
    SimResponse { status: 200, content_type, body, ..SimResponse::default() }
}

/// Returns the "not found" page with this status: 404, 410, or 200 for a soft 404.
pub(crate) fn not_found(site: &Site, status: u16) -> SimResponse {
    let mut text = TextBuffer::default();
    let _ = write!(text, "<!DOCTYPE html>\n<html lang=\"{}\">\n<head>\n", site.language.code());
    site.charset.push_meta(&mut text);
    text.push_str("<title>404 - ");
    text::push_site_title(&mut text, site);
    text.push_str("</title>\n</head>\n<body>\n<h1>404</h1>\n<p>");
    text::push_sentence(&mut text, site.language.vocabulary(), site.key.child(980));
    text.push_str("</p>\n<p><a href=\"/\">");
    text::push_site_title(&mut text, site);
    text.push_str("</a></p>\n</body>\n</html>\n");
    SimResponse { status, ..ok(html_type(site.charset), site.charset.encode(text)) }
}

fn html_type(charset: Charset) -> Cow<'static, str> {
    text_type("text/html", charset)
}

/// Returns the Content-Type. Most sites are UTF-8 and need no allocation.
fn text_type(media: &'static str, charset: Charset) -> Cow<'static, str> {
    match (charset.in_header(), charset.is_utf8(), media) {
        (true, true, "text/html") => "text/html; charset=utf-8".into(),
        (true, ..) => format!("{media}; charset={}", charset.label).into(),
        (false, ..) => media.into(),
    }
}
