//! HTTP responses for data that came over ftp or gopher.
//!
//! The head is `HTTP/1.0 200 OK` (or 403, 404, 503) with a `Content-Type`; a directory or menu becomes an HTML page with
//! links. The archive and the parser then see one kind of response; [`Response::protocols`] has the protocol used.

use crate::response::Response;

/// Creates a response with this status, type and body.
pub(crate) fn synthesized_response(status: u16, content_type: Option<&str>, body: Vec<u8>) -> Response {
    let reason = match status {
        200 => "OK",
        403 => "Forbidden",
        404 => "Not Found",
        _ => "Service Unavailable",
    };
    let mut head = format!("HTTP/1.0 {status} {reason}\r\n");
    if let Some(content_type) = content_type {
        head.extend(["Content-Type: ", content_type, "\r\n"]);
    }
    head.push_str("\r\n");
    Response { status, head: head.into_bytes(), body, ..Response::default() }
}

/// MIME type by file extension. A file without an extension is treated as plain text (README, LICENSE).
pub(crate) fn content_type_for(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension.to_ascii_lowercase().as_str() {
        "html" | "htm" | "shtml" => "text/html",
        "xhtml" => "application/xhtml+xml",
        "xml" => "application/xml",
        "pdf" => "application/pdf",
        "" | "txt" | "text" | "md" => "text/plain",
        _ => "application/octet-stream",
    }
}

/// HTML page with a list of links.
#[derive(Debug)]
pub(crate) struct ListingPage {
    html: String,
}

impl ListingPage {
    pub(crate) fn new(title: &str) -> ListingPage {
        let mut page = ListingPage { html: "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>".to_owned() };
        page.push_escaped(title);
        page.html.push_str("</title>\n<ul>\n");
        page
    }

    /// Adds a list item with a link.
    pub(crate) fn add_link(&mut self, href: &str, label: &str) {
        self.html.push_str("<li><a href=\"");
        self.push_escaped(href);
        self.html.push_str("\">");
        self.push_escaped(label);
        self.html.push_str("</a>\n");
    }

    /// Adds a list item without a link.
    pub(crate) fn add_text(&mut self, label: &str) {
        self.html.push_str("<li>");
        self.push_escaped(label);
        self.html.push('\n');
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.html.push_str("</ul>\n");
        self.html.into_bytes()
    }

    fn push_escaped(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.html.push_str("&amp;"),
                '<' => self.html.push_str("&lt;"),
                '>' => self.html.push_str("&gt;"),
                '"' => self.html.push_str("&quot;"),
                control if control.is_control() => self.html.push(' '),
                other => self.html.push(other),
            }
        }
    }
}

/// Bytes of a percent-encoded path; invalid escapes are copied.
pub(crate) fn percent_decode(path: &str) -> Vec<u8> {
    let bytes = path.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| bytes[at] == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

/// Percent-encodes bytes for the path of a URL; slashes are kept.
pub(crate) fn percent_encode_path(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len()), |mut out, &byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markup_in_a_listing_is_escaped() {
        let mut page = ListingPage::new("a<b");
        page.add_link("/x\"onclick=", "<script>\n&");
        page.add_text("\"");
        let html = String::from_utf8(page.finish()).unwrap();
        assert!(html.contains("<title>a&lt;b</title>"));
        assert!(html.contains("<li><a href=\"/x&quot;onclick=\">&lt;script&gt; &amp;</a>\n<li>&quot;\n"));
    }

    proptest! {
        #[test]
        fn decoding_reverses_encoding(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            prop_assert_eq!(percent_decode(&percent_encode_path(&bytes)), bytes);
        }

        #[test]
        fn every_path_can_be_decoded(path in "[%0-9a-fA-Fé]{0,12}") {
            prop_assert!(percent_decode(&path).len() <= path.len());
        }
    }
}
