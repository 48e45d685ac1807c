//! How is a gopher item fetched? (RFC 1436; URLs by RFC 4266.) A selector out, and what comes until the server closes in.
//!
//! Menus become HTML lists, so that their links are found; texts are plain text, without the dot that ends them.

use std::net::{IpAddr, SocketAddr};

use model::{CanonicalUrl, Reason};
use tokio::io::AsyncWriteExt;

use crate::answer::Answer;
use crate::clock::Clock;
use crate::fetcher::Fetcher;
use crate::job::FetchJob;
use crate::made_up::{self, ListPage, escaped, unescaped};
use crate::until_close::{limit, receive};

/// What is fetched: the first letter of the path, and the rest.
struct Item {
    kind: u8,
    /// With its line end.
    request: Vec<u8>,
}

/// One exchange.
pub(crate) async fn fetch(
    fetcher: &Fetcher,
    job: &FetchJob<'_>,
    address: IpAddr,
    clock: &mut Clock<'_>,
) -> Answer {
    // A line end in a selector would be a second request, of somebody else's making.
    let Some(item) = Item::of(job.url) else { return Answer::failed(Reason::Scheme) };
    let content_type = item.content_type(job.url);
    if !fetcher.wanted(job).takes(200, Some(content_type.as_bytes())) {
        return Answer::failed(Reason::MediaType);
    }
    let mut stream = match fetcher.connector.tcp(SocketAddr::new(address, job.url.port()), clock).await {
        Ok(stream) => stream,
        Err(reason) => return Answer::failed(reason),
    };
    clock.asking();
    let mut answer = match clock.wait(stream.write_all(&item.request)).await {
        Ok(Ok(())) => receive(&mut stream, job.body_bytes, clock).await,
        Ok(Err(_)) => Answer::failed(Reason::ConnectionLost),
        Err(reason) => Answer::failed(reason),
    };
    answer.protocols = &["gopher"];
    if answer.status != 0 {
        let body = match item.kind {
            b'1' | b'7' => menu_page(job.url, &answer.body),
            b'0' => without_end(answer.body),
            _ => answer.body,
        };
        let made_up = made_up::answer(200, Some(content_type), body);
        answer = Answer { head: made_up.head, body: made_up.body, ..answer };
        limit(&mut answer, job.body_bytes);
    }
    Answer { request: item.request, ..answer }
}

impl Item {
    /// Nothing, if the URL asks for what cannot be asked.
    fn of(url: &CanonicalUrl) -> Option<Item> {
        let path = url.path_and_query();
        let (kind, selector) = match path.as_bytes() {
            [_, kind, ..] => (*kind, unescaped(&path[2..])),
            _ => (b'1', Vec::new()),
        };
        let mut request = selector;
        if request.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return None;
        }
        request.extend_from_slice(b"\r\n");
        Some(Item { kind, request })
    }

    fn content_type(&self, url: &CanonicalUrl) -> &'static str {
        match self.kind {
            b'1' | b'7' => "text/html; charset=utf-8",
            b'0' => "text/plain",
            b'h' => "text/html",
            b'g' => "image/gif",
            _ => match made_up::content_type(url.path()) {
                "text/plain" => "application/octet-stream",
                other => other,
            },
        }
    }
}

/// A text ends with a line that is a dot.
fn without_end(mut text: Vec<u8>) -> Vec<u8> {
    for end in [&b"\n.\r\n"[..], b"\n.\n"] {
        if text.ends_with(end) {
            text.truncate(text.len() - end.len() + 1);
            break;
        }
    }
    text
}

/// A menu as a page.
fn menu_page(url: &CanonicalUrl, menu: &[u8]) -> Vec<u8> {
    let mut page = ListPage::new(url.as_str());
    for line in menu.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)) {
        match line {
            b"." => break,
            [] => {}
            _ => add_item(&mut page, line),
        }
    }
    page.finish()
}

/// One line of a menu: kind and label, selector, host, port.
fn add_item(page: &mut ListPage, line: &[u8]) {
    let mut fields = line.splitn(5, |byte| *byte == b'\t');
    let (Some([kind, label @ ..]), Some(selector)) = (fields.next(), fields.next()) else { return };
    let label = String::from_utf8_lossy(label);
    let host = fields.next().unwrap_or_default();
    let port = fields.next().map(<[u8]>::trim_ascii).unwrap_or(b"70");
    let selector_text = String::from_utf8_lossy(selector);
    match kind {
        // Information, and what went wrong.
        b'i' | b'3' => page.line(&label),
        b'h' if selector_text.starts_with("URL:") => page.link(&selector_text[4..], &label),
        _ => {
            let authority =
                format!("{}:{}", String::from_utf8_lossy(host.trim_ascii()), String::from_utf8_lossy(port));
            page.link(&format!("gopher://{authority}/{}{}", char::from(*kind), escaped(selector)), &label);
        }
    }
}
