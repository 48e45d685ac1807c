//! Parsing of stored responses.
//!
//! All readers of a collection use it, so that the cached page, the text index, statistics and streams contain the same
//! text.

use crate::content_encoding::{DecodeEnd, decode_content};
use crate::document::Document;
use crate::html::Options;

/// Parts of a stored response that are needed for parsing.
#[derive(Debug, Clone, Copy)]
pub struct StoredResponse<'a> {
    /// Requested URL.
    pub url: &'a str,
    /// HTTP status; `None` for protocols without one.
    pub status: Option<u16>,
    /// Value of `Content-Type`.
    pub content_type: Option<&'a [u8]>,
    /// Value of `Content-Encoding`.
    pub content_encoding: Option<&'a [u8]>,
    /// Body after transfer decoding, still with its content encoding.
    pub body: &'a [u8],
}

/// Parser of stored responses; memory is reused.
#[derive(Default)]
pub struct DocumentReader {
    /// Parser options.
    pub options: Options,
    document: Document,
    body_bytes: u64,
}

impl DocumentReader {
    /// Creates a reader with these options.
    pub fn new(options: Options) -> DocumentReader {
        DocumentReader { options, ..DocumentReader::default() }
    }

    /// Parses a response; `None` for redirects, errors, and bodies whose content encoding cannot be decoded.
    pub fn read(&mut self, response: &StoredResponse<'_>) -> Option<&Document> {
        if response.status.is_some_and(|status| !(200..300).contains(&status)) {
            return None;
        }
        let text = |value: Option<&[u8]>| value.map(|value| String::from_utf8_lossy(value).into_owned());
        let encoding = text(response.content_encoding).unwrap_or_default();
        let body = decode_content(response.body, &encoding, self.options.limits.input_bytes);
        if body.end == DecodeEnd::Undecodable {
            return None;
        }
        let content_type = text(response.content_type);
        self.body_bytes = body.bytes.len() as u64;
        let top_level_domain = top_level_domain(response.url);
        self.document.read(&body.bytes, content_type.as_deref(), top_level_domain, &self.options);
        Some(&self.document)
    }

    /// The document of the last response that was parsed.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Length of the decoded body, up to the limit.
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }
}

/// Returns the last label of the host of a URL; `None` for an IP address.
pub fn top_level_domain(url: &str) -> Option<&str> {
    let (_, after_scheme) = url.split_once("://")?;
    let authority = after_scheme.split(['/', '?', '#']).next()?;
    let host = authority.split(':').next()?;
    host.rsplit('.').next().filter(|label| label.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_parsed_and_errors_are_not() {
        let mut reader = DocumentReader::default();
        let page = StoredResponse {
            url: "http://a.test/",
            status: Some(200),
            content_type: Some(b"text/html; charset=iso-8859-1"),
            content_encoding: None,
            body: b"<title>caf\xe9</title>",
        };
        assert_eq!(reader.read(&page).unwrap().title, "caf\u{e9}");
        assert_eq!((reader.body_bytes(), reader.document().title.as_str()), (19, "caf\u{e9}"));
        assert!(reader.read(&StoredResponse { status: Some(404), ..page }).is_none());
        assert!(reader.read(&StoredResponse { status: None, ..page }).is_some(), "ftp has no status");
        let garbage = StoredResponse { content_encoding: Some(b"br"), body: b"\xff\x01\xfe\x02", ..page };
        assert!(reader.read(&garbage).is_none());
    }

    #[test]
    fn the_top_level_domain_is_the_last_label_of_a_host_name() {
        for (url, expected) in [
            ("http://www.example.de:80/a.b", Some("de")),
            ("http://10.0.0.1/", None),
            ("http://[::1]/", None),
            ("nonsense", None),
        ] {
            assert_eq!(top_level_domain(url), expected, "{url}");
        }
    }
}
