//! gopher client (RFC 1436; URLs by RFC 4266): sends a selector and reads until the server closes.
//!
//! A menu becomes an HTML page, so that its links are found. A text loses the line with a dot that ends it.

use std::net::{IpAddr, SocketAddr};

use model::{CanonicalUrl, Reason};
use tokio::io::AsyncWriteExt;

use crate::connect::connector::Connector;
use crate::exchange_timer::ExchangeTimer;
use crate::fetch_request::FetchRequest;
use crate::http::response_reader::ReadLimits;
use crate::non_http::close_delimited::read_to_close;
use crate::non_http::close_delimited::truncate_body;
use crate::non_http::synthesized::ListingPage;
use crate::non_http::synthesized::content_type_for;
use crate::non_http::synthesized::percent_decode;
use crate::non_http::synthesized::percent_encode_path;
use crate::non_http::synthesized::synthesized_response;
use crate::response::Response;

/// Item that a URL names.
struct GopherItem {
    /// First character of the path: `0` for a text, `1` for a menu, and so on.
    item_type: u8,
    /// Selector with its line end.
    request: Vec<u8>,
}

/// Fetches one item.
pub(crate) async fn fetch(
    connector: &Connector,
    request: &FetchRequest<'_>,
    limits: ReadLimits<'_>,
    address: IpAddr,
    timer: &mut ExchangeTimer<'_>,
) -> Response {
    let Some(item) = GopherItem::from_url(request.url) else {
        return Response::from_failure(Reason::SchemeNotAllowed);
    };
    let content_type = item.content_type(request.url);
    if !limits.accepts(200, Some(content_type.as_bytes())) {
        return Response::from_failure(Reason::MimeType);
    }
    let server = SocketAddr::new(address, request.url.port());
    let mut stream = match connector.connect_tcp(server, timer).await {
        Ok(stream) => stream,
        Err(error) => return Response::from_failure(error),
    };
    if request.is_late() {
        return Response::from_failure(Reason::ConnectTimeout);
    }
    timer.request_started();
    let mut response = match timer.with_timeout(stream.write_all(&item.request)).await {
        Ok(Ok(())) => read_to_close(&mut stream, &limits, timer).await,
        Ok(Err(_)) => Response::from_failure(Reason::ConnectionClosed),
        Err(reason) => Response::from_failure(reason),
    };
    response.protocols = &["gopher"];
    if response.status != 0 {
        let body = match item.item_type {
            b'1' | b'7' => menu_page(request.url, &response.body),
            b'0' => strip_terminator(response.body),
            _ => response.body,
        };
        let synthesized = synthesized_response(200, Some(content_type), body);
        response = Response { head: synthesized.head, body: synthesized.body, ..response };
        truncate_body(&mut response, limits.max_body_bytes);
    }
    Response { request: item.request, ..response }
}

impl GopherItem {
    /// Parses the path of a URL; `None` if the selector has a line end, which would inject a second request.
    fn from_url(url: &CanonicalUrl) -> Option<GopherItem> {
        let path = url.path_and_query();
        let (item_type, selector) = match path.as_bytes() {
            [_, item_type, ..] => (*item_type, percent_decode(&path[2..])),
            _ => (b'1', Vec::new()),
        };
        let mut request = selector;
        if request.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return None;
        }
        request.extend_from_slice(b"\r\n");
        Some(GopherItem { item_type, request })
    }

    fn content_type(&self, url: &CanonicalUrl) -> &'static str {
        match self.item_type {
            b'1' | b'7' => "text/html; charset=utf-8",
            b'0' => "text/plain",
            b'h' => "text/html",
            b'g' => "image/gif",
            // A binary item without an extension is not a text.
            _ => match content_type_for(url.path()) {
                "text/plain" => "application/octet-stream",
                other => other,
            },
        }
    }
}

/// Removes the line with a single dot that ends a text.
fn strip_terminator(mut text: Vec<u8>) -> Vec<u8> {
    for end in [&b"\n.\r\n"[..], b"\n.\n"] {
        if text.ends_with(end) {
            text.truncate(text.len() - end.len() + 1);
            break;
        }
    }
    text
}

/// Converts a menu to an HTML page with links.
pub(crate) fn menu_page(url: &CanonicalUrl, menu: &[u8]) -> Vec<u8> {
    let mut page = ListingPage::new(url.as_str());
    for line in menu.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)) {
        match line {
            b"." => break,
            [] => {}
            _ => add_menu_item(&mut page, line),
        }
    }
    page.finish()
}

/// Adds one line of a menu: item type and label, selector, host and port, separated by tabs.
fn add_menu_item(page: &mut ListingPage, line: &[u8]) {
    let mut fields = line.splitn(5, |byte| *byte == b'\t');
    let (Some([item_type, label @ ..]), Some(selector)) = (fields.next(), fields.next()) else { return };
    let label = String::from_utf8_lossy(label);
    let host = fields.next().unwrap_or_default();
    let port = fields.next().map(<[u8]>::trim_ascii).unwrap_or(b"70");
    let selector_text = String::from_utf8_lossy(selector);
    match item_type {
        // Information and error messages have no target.
        b'i' | b'3' => page.add_text(&label),
        b'h' if selector_text.starts_with("URL:") => page.add_link(&selector_text[4..], &label),
        _ => {
            let authority =
                format!("{}:{}", String::from_utf8_lossy(host.trim_ascii()), String::from_utf8_lossy(port));
            let path = percent_encode_path(selector);
            page.add_link(&format!("gopher://{authority}/{}{path}", char::from(*item_type)), &label);
        }
    }
}
