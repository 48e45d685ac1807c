//! How is a page shown as it was? In a frame that may do nothing, below a line that says what it is.
//!
//! The frame holds a [harmless](crate::harmless) copy. It is sent with a policy of its own, under which a browser runs no
//! script, sends no form and asks nobody for anything, and as of an origin that is none: it can reach neither us nor the
//! site it came from.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::{HeaderName, header};
use axum::response::{Html, IntoResponse, Response};
use parse::PageKind;
use report::words;

use crate::asked::{Asked, address};
use crate::desk::Desk;
use crate::failure::Failure;
use crate::frame::{Frame, Part, page};
use crate::harmless::{Harmless, harmless, preformatted};
use crate::place::Place;
use crate::shown;
use crate::stored::Stored;

/// A click may leave the frame: its links lead to pages of ours.
const FRAME_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
                            frame-ancestors 'self'; sandbox allow-top-navigation-by-user-activation";
/// A file is only ever saved.
const FILE_POLICY: &str = "default-src 'none'; sandbox";

const STYLE: &str = include_str!("../assets/copy.css");

#[derive(Template)]
#[template(path = "cached.html")]
struct View {
    frame: Frame,
    url: String,
    /// Only the schemes of the Web.
    original: Option<String>,
    when: String,
    about: String,
    /// What is in the frame; nothing for a file that is no text.
    copy: Option<String>,
    file: String,
    remark: String,
}

pub(crate) async fn html(State(desk): State<Arc<Desk>>, asked: Asked) -> Result<Html<String>, Failure> {
    desk.work(move |desk| page(&view(desk, &asked)?)).await
}

fn read(desk: &Desk, asked: &Asked) -> Result<(model::CanonicalUrl, Stored), Failure> {
    let snapshot = desk.snapshot()?;
    let (url, page) = Place::known(desk, &snapshot, asked)?;
    let at_ms = asked.number("at", 0..=i64::MAX)?;
    let stored = Stored::read(&snapshot, page, url.as_str(), at_ms)?;
    let stored = stored.ok_or_else(|| {
        let url = shown::url(url.as_str());
        Failure::NotThere(format!("no copy of {url} is stored: it was not fetched, or not kept"))
    })?;
    Ok((url, stored))
}

fn view(desk: &Desk, asked: &Asked) -> Result<View, Failure> {
    let (url, stored) = read(desk, asked)?;
    let fields = [("url", url.as_str()), ("at", asked.text("at")?)];
    let is_text = stored.kind != PageKind::Other;
    let mut remark = String::new();
    if !stored.is_complete {
        remark.push_str("It was cut when it was stored, or is too large to be shown whole. ");
    }
    if let Some(status) = stored.status.filter(|status| *status != 200) {
        remark.push_str(&format!("The server answered with the status {status}. "));
    }
    let media_type = shown::shown(stored.content_type.split(';').next().unwrap_or_default(), 60);
    if !is_text {
        remark.push_str(&format!(
            "It is a file of the type {media_type}, {}, which is not shown here.",
            words::size(stored.body.len() as u64)
        ));
    }
    Ok(View {
        frame: Frame::new(desk, Part::Other, &format!("Copy of {}", shown::url(url.as_str()))),
        url: shown::url(url.as_str()),
        original: Some(url.as_str().to_owned()).filter(|url| shown::is_link(url)),
        when: words::time(stored.fetched_ms),
        about: address("/page", &[("url", url.as_str())]),
        copy: is_text.then(|| address("/cached/copy", &fields)),
        file: address("/cached/file", &fields),
        remark,
    })
}

/// What is in the frame.
pub(crate) async fn copy(State(desk): State<Arc<Desk>>, asked: Asked) -> Result<Response, Failure> {
    desk.work(move |desk| {
        let (url, stored) = read(desk, &asked)?;
        let copy = match stored.kind {
            PageKind::Html => copy_of(desk, &url, &stored.text(&url)),
            _ => preformatted(&stored.text(&url)),
        };
        let cut = if copy.is_cut { "<p class=\"not-loaded\">The copy is cut here.</p>" } else { "" };
        let html = format!(
            "<!doctype html><html><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
             <meta name=\"color-scheme\" content=\"light dark\"><title>Copy</title><style>{STYLE}</style></head>\
             <body>{}{cut}</body></html>",
            copy.html
        );
        let policy = [(header::CONTENT_SECURITY_POLICY, FRAME_POLICY)];
        Ok((policy, Html(html)).into_response())
    })
    .await
}

fn copy_of(desk: &Desk, url: &model::CanonicalUrl, html: &str) -> Harmless {
    let rules = &desk.settings.rules.gather.rules;
    let join = |base: Option<&str>, reference: &str| {
        let base = base.and_then(|base| rules.join(url, base).ok());
        let target = rules.join(base.as_ref().unwrap_or(url), reference).ok()?;
        Some(target.as_str().to_owned())
    };
    harmless(html, &|url| address("/cached", &[("url", url)]), &join)
}

/// The body as it is, to be saved.
pub(crate) async fn file(State(desk): State<Arc<Desk>>, asked: Asked) -> Result<Response, Failure> {
    desk.work(move |desk| {
        let (url, stored) = read(desk, &asked)?;
        let disposition = format!("attachment; filename=\"{}\"", file_name(url.path()));
        let headers: [(HeaderName, &str); 3] = [
            (header::CONTENT_TYPE, "application/octet-stream"),
            (header::CONTENT_SECURITY_POLICY, FILE_POLICY),
            (header::CONTENT_DISPOSITION, &disposition),
        ];
        Ok((headers, stored.body).into_response())
    })
    .await
}

/// The last part of a path, as far as it can be the name of a file anywhere.
fn file_name(path: &str) -> String {
    let last = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or("page");
    let is_plain = |character: &char| character.is_ascii_alphanumeric() || "-_.".contains(*character);
    let name: String = last.chars().filter(is_plain).take(80).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "page".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain() {
        let names = ["/a/b.pdf", "/", "/x/%22;evil\"", "/../..", "/.bashrc"].map(file_name);
        assert_eq!(names, ["b.pdf", "page", "22evil", "page", "bashrc"]);
    }
}
