//! What does an answer say that was stored? From its head and its body, as they came, to a [`Document`].
//!
//! The one way from a stored page to its text: what is shown, searched, counted and streamed is the same.

use crate::content_encoding::decode_content;
use crate::document::Document;
use crate::html::Options;

/// What was stored of an answer, as far as its reading goes.
#[derive(Debug, Clone, Copy)]
pub struct StoredAnswer<'a> {
    /// What was asked for.
    pub url: &'a str,
    /// The status of HTTP, if there was one.
    pub status: Option<u16>,
    /// The value of `Content-Type`.
    pub content_type: Option<&'a [u8]>,
    /// The value of `Content-Encoding`.
    pub content_encoding: Option<&'a [u8]>,
    /// The body without chunks, with its content encoding.
    pub body: &'a [u8],
}

/// Reads stored answers one after the other; memory is used again.
#[derive(Default)]
pub struct DocumentReader {
    /// What is taken from a page.
    pub options: Options,
    document: Document,
    body_bytes: u64,
}

impl DocumentReader {
    /// Reads by these options.
    pub fn new(options: Options) -> DocumentReader {
        DocumentReader { options, ..DocumentReader::default() }
    }

    /// What an answer says; nothing if it is no page: a redirect, an error.
    pub fn read(&mut self, answer: &StoredAnswer<'_>) -> Option<&Document> {
        if answer.status.is_some_and(|status| !(200..300).contains(&status)) {
            return None;
        }
        let text = |value: Option<&[u8]>| value.map(|value| String::from_utf8_lossy(value).into_owned());
        let encoding = text(answer.content_encoding).unwrap_or_default();
        let body = decode_content(answer.body, &encoding, self.options.limits.input_bytes);
        let content_type = text(answer.content_type);
        self.body_bytes = body.bytes.len() as u64;
        self.document.read(&body.bytes, content_type.as_deref(), top_level_domain(answer.url), &self.options);
        Some(&self.document)
    }

    /// What the last page that was read says.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// How long its body is without its content encoding, as far as it was read.
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }
}

/// The last label of the host, if it is a name.
fn top_level_domain(url: &str) -> Option<&str> {
    let (_, behind_scheme) = url.split_once("://")?;
    let authority = behind_scheme.split(['/', '?', '#']).next()?;
    let host = authority.split(':').next()?;
    host.rsplit('.').next().filter(|label| label.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_read_and_other_answers_are_not() {
        let mut reader = DocumentReader::default();
        let page = StoredAnswer {
            url: "http://a.test/",
            status: Some(200),
            content_type: Some(b"text/html; charset=iso-8859-1"),
            content_encoding: None,
            body: b"<title>caf\xe9</title>",
        };
        assert_eq!(reader.read(&page).unwrap().title, "caf\u{e9}");
        assert_eq!((reader.body_bytes(), reader.document().title.as_str()), (19, "caf\u{e9}"));
        assert!(reader.read(&StoredAnswer { status: Some(404), ..page }).is_none());
        assert!(reader.read(&StoredAnswer { status: None, ..page }).is_some(), "ftp has no status");
    }

    #[test]
    fn the_last_label_of_a_name_is_found() {
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
