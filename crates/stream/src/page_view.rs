//! Columns of a page: the fields of its record, and those of the parsed document.

use std::borrow::Cow;

use model::UrlRules;
use parse::html::TagAllowlist;
use parse::{Document, DocumentReader, StoredResponse, decode_content, max_decoded_bytes, top_level_domain};
use serde::Serialize;
use store::{PageRef, StoredPage, StreamCursor};

use crate::query::output::OutputColumn;

/// Parser of pages for the requested columns; reuses its buffers.
pub struct PageViewer {
    reader: DocumentReader,
    rules: UrlRules,
    parses: bool,
}

/// Page with its record and, if requested, its parsed document.
pub struct PageView<'v> {
    /// Reference to the page.
    pub page: PageRef,
    /// Cursor after the page.
    pub cursor: StreamCursor,
    /// Stored record.
    pub stored: &'v StoredPage,
    /// Parsed document; `None` for redirects, errors and unsupported types, or if no column needs it.
    pub document: Option<&'v Document>,
    rules: &'v UrlRules,
}

/// Link of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageLink {
    /// Target URL.
    pub url: String,
    /// Anchor text.
    pub anchor: String,
    /// Name of the element: `a`, `img`, `frame`.
    pub kind: &'static str,
    /// Value of the `rel` attribute, such as `nofollow`.
    pub rel: String,
}

impl PageViewer {
    /// Creates a viewer for these columns.
    pub fn new(columns: &[OutputColumn]) -> PageViewer {
        let mut reader = DocumentReader::default();
        reader.options.simplify = columns.contains(&OutputColumn::Simplified).then(TagAllowlist::default);
        let parses = columns.iter().any(|column| column.needs_parsing());
        PageViewer { reader, rules: UrlRules::default(), parses }
    }

    /// Views a page, and parses it if a column needs it.
    pub fn view<'v>(
        &'v mut self,
        page: PageRef,
        cursor: StreamCursor,
        stored: &'v StoredPage,
    ) -> PageView<'v> {
        let document = if self.parses { read(&mut self.reader, stored) } else { None };
        PageView { page, cursor, stored, document, rules: &self.rules }
    }
}

fn read<'v>(reader: &'v mut DocumentReader, stored: &StoredPage) -> Option<&'v Document> {
    reader.read(&StoredResponse {
        url: stored.url(),
        status: stored.status(),
        content_type: stored.header("Content-Type"),
        content_encoding: stored.header("Content-Encoding"),
        body: &stored.body(),
    })
}

impl PageView<'_> {
    /// Time of the fetch, as in the WARC record: `2026-11-15T08:30:00Z`.
    pub fn fetch_time(&self) -> &str {
        self.stored.record().header.get("WARC-Date").unwrap_or_default()
    }

    /// MIME type declared by the server.
    pub fn mime_type(&self) -> Option<&str> {
        Some(self.stored.mime_type()).filter(|mime| !mime.is_empty())
    }

    /// Code of the detected language.
    pub fn language(&self) -> Option<&'static str> {
        let document = self.document?;
        let language = document.language(&document.main_text(), top_level_domain(self.stored.url()));
        language.map(|language| language.code)
    }

    /// Main text without boilerplate; the full text if no main text was found.
    pub fn main_text(&self) -> Option<String> {
        let document = self.document?;
        let main_text = document.main_text();
        Some(if main_text.is_empty() { document.text.clone() } else { main_text })
    }

    /// Links with resolved URLs; links with an invalid URL are skipped.
    pub fn links(&self) -> Vec<PageLink> {
        let (Some(document), Ok(page)) = (self.document, self.rules.canonical(self.stored.url())) else {
            return Vec::new();
        };
        let mut links = Vec::new();
        document.resolve(&page, self.rules, |resolved| {
            if let Ok(target) = resolved.target {
                links.push(PageLink {
                    url: target.as_str().to_owned(),
                    anchor: resolved.link.anchor.to_owned(),
                    kind: resolved.link.kind.as_str(),
                    rel: resolved.link.rel.to_owned(),
                });
            }
        });
        links
    }

    /// Body without transfer and content encoding; empty if the content encoding cannot be decoded.
    pub fn body(&self) -> Cow<'_, [u8]> {
        let encoding = self.stored.header("Content-Encoding").map(String::from_utf8_lossy);
        let encoding = encoding.as_deref().unwrap_or_default();
        let body = self.stored.body();
        let max_bytes = max_decoded_bytes(body.len());
        match body {
            Cow::Borrowed(body) => decode_content(body, encoding, max_bytes).bytes,
            Cow::Owned(body) => Cow::Owned(decode_content(&body, encoding, max_bytes).bytes.into_owned()),
        }
    }
}
