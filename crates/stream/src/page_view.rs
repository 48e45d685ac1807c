//! What is there to tell of a page? Its columns: what the record says, and what the page says when it is parsed.

use std::borrow::Cow;

use model::UrlRules;
use parse::html::KeptTags;
use parse::{Document, DocumentReader, StoredAnswer, decode_content, detect_language};
use serde::Serialize;
use store::{PagePlace, Position, StoredPage};

use crate::form::Column;

/// No body is decoded further.
const BODY_LIMIT_BYTES: usize = 256 << 20;

/// Reads pages for the columns that are wanted; memory is used again.
pub struct Viewer {
    reader: DocumentReader,
    rules: UrlRules,
    parses: bool,
}

/// A page, as far as somebody wants to see it.
pub struct PageView<'v> {
    /// The page.
    pub place: PagePlace,
    /// Where a stream goes on behind it.
    pub position: Position,
    /// As it is stored.
    pub stored: &'v StoredPage,
    /// What it says; nothing if it is no page but a redirect or an error, or if nobody wants to know.
    pub document: Option<&'v Document>,
    rules: &'v UrlRules,
}

/// A link of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeenLink {
    /// Where it leads.
    pub url: String,
    /// What it says.
    pub text: String,
    /// Which element it is: `a`, `img`, `frame`.
    pub kind: &'static str,
    /// What the element says about the relation: `nofollow`.
    pub rel: String,
}

impl Viewer {
    /// For these columns.
    pub fn new(columns: &[Column]) -> Viewer {
        let mut reader = DocumentReader::default();
        reader.options.keep = columns.contains(&Column::Kept).then(KeptTags::default);
        let parses = columns.iter().any(|column| column.is_of_document());
        Viewer { reader, rules: UrlRules::default(), parses }
    }

    /// Looks at a page.
    pub fn view<'v>(
        &'v mut self,
        place: PagePlace,
        position: Position,
        stored: &'v StoredPage,
    ) -> PageView<'v> {
        let document = if self.parses { read(&mut self.reader, stored) } else { None };
        PageView { place, position, stored, document, rules: &self.rules }
    }
}

fn read<'v>(reader: &'v mut DocumentReader, stored: &StoredPage) -> Option<&'v Document> {
    reader.read(&StoredAnswer {
        url: stored.url(),
        status: stored.status(),
        content_type: stored.header("Content-Type"),
        content_encoding: stored.header("Content-Encoding"),
        body: &stored.body(),
    })
}

impl PageView<'_> {
    /// When it was fetched, as the archive has it: `2026-11-15T08:30:00Z`.
    pub fn time(&self) -> &str {
        self.stored.record().header.get("WARC-Date").unwrap_or_default()
    }

    /// The type that the server declared, if it did.
    pub fn mime(&self) -> Option<&str> {
        Some(self.stored.mime_type()).filter(|mime| !mime.is_empty())
    }

    /// The code of the language detected.
    pub fn language(&self) -> Option<&'static str> {
        let document = self.document?;
        let main_text = document.main_text();
        let text = if main_text.is_empty() { &document.text } else { &main_text };
        detect_language(text).map(|language| language.code)
    }

    /// The main part of its text; all of it where nothing is the main part.
    pub fn main_text(&self) -> Option<String> {
        let document = self.document?;
        let main_text = document.main_text();
        Some(if main_text.is_empty() { document.text.clone() } else { main_text })
    }

    /// Its links, resolved; those that lead nowhere are left out.
    pub fn links(&self) -> Vec<SeenLink> {
        let (Some(document), Ok(page)) = (self.document, self.rules.canonical(self.stored.url())) else {
            return Vec::new();
        };
        let mut links = Vec::new();
        document.resolve(&page, self.rules, |resolved| {
            if let Ok(target) = resolved.target {
                links.push(SeenLink {
                    url: target.as_str().to_owned(),
                    text: resolved.link.text.to_owned(),
                    kind: resolved.link.kind.as_str(),
                    rel: resolved.link.rel.to_owned(),
                });
            }
        });
        links
    }

    /// Its body, without chunks and content encoding.
    pub fn body(&self) -> Cow<'_, [u8]> {
        let encoding = self.stored.header("Content-Encoding").map(String::from_utf8_lossy);
        let encoding = encoding.as_deref().unwrap_or_default();
        match self.stored.body() {
            Cow::Borrowed(body) => decode_content(body, encoding, BODY_LIMIT_BYTES).bytes,
            Cow::Owned(body) => {
                Cow::Owned(decode_content(&body, encoding, BODY_LIMIT_BYTES).bytes.into_owned())
            }
        }
    }
}
