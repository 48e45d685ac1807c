//! What of a page goes into the index? Read from the page store, unless the page asks not to be found.

use model::PageId;
use parse::html::Options;
use parse::{Document, PageKind, RobotsDirectives, decode_content, parse_date};
use store::{PageRecord, Snapshot, StoredPage, Verify};
use tantivy::TantivyDocument;

use crate::error::Result;
use crate::language::{Language, certain_language};
use crate::schema::Fields;
use crate::tokenizer::marked;

/// Why a page is not in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// It asks not to be found.
    Noindex,
    /// It is no text.
    NotText,
    /// Its content is that of another page.
    Duplicate,
    /// Its last visit brought no content.
    NoContent,
}

/// Reads pages; one per thread.
pub(crate) struct EntryReader<'s> {
    pub(crate) snapshot: &'s Snapshot,
    pub(crate) fields: Fields,
    pub(crate) options: Options,
    pub(crate) document: Document,
}

impl EntryReader<'_> {
    /// What goes into the index of a page, with the bytes of its body.
    pub(crate) fn read(
        &mut self,
        page: PageId,
        record: &PageRecord,
        anchors: &str,
    ) -> Result<std::result::Result<(TantivyDocument, u64), LeftOut>> {
        let Some(location) = record.stored else { return Ok(Err(LeftOut::NoContent)) };
        let stored = self.snapshot.bodies.read(&location, Verify::Checksum)?;
        let url = self.snapshot.urls.url(page)?.unwrap_or_default();
        let content_type = text_of(stored.header("Content-Type"));
        let body = stored.body();
        let encoding = text_of(stored.header("Content-Encoding")).unwrap_or_default();
        let body = decode_content(&body, &encoding, self.options.limits.input_bytes);
        self.document.read(&body.bytes, content_type.as_deref(), None, &self.options);
        let document = &self.document;
        if !matches!(document.kind, PageKind::Html | PageKind::Text) {
            return Ok(Err(LeftOut::NotText));
        }
        let robots = document.robots.merge(robots_of(&stored, &self.options.agent));
        if robots.noindex() {
            return Ok(Err(LeftOut::Noindex));
        }
        let code = certain_language(&document.text);
        let language = code.map_or(Language::NONE, Language::of_code);
        let fields = &self.fields;
        let mut entry = TantivyDocument::new();
        entry.add_u64(fields.page_id, page.0.into());
        entry.add_u64(fields.site_id, record.site.0.into());
        if let Some(code) = code {
            entry.add_text(fields.language, code);
        }
        let mime =
            content_type.as_deref().and_then(|value| value.split(';').next()).unwrap_or_default().trim();
        entry.add_text(fields.mime, mime.to_ascii_lowercase());
        let modified = document.modified.or(document.published);
        let modified = modified.or_else(|| parse_date(&text_of(stored.header("Last-Modified"))?));
        if let Some(modified) = modified {
            entry.add_i64(fields.date, modified);
        }
        entry.add_u64(fields.depth, record.depth.into());
        entry.add_u64(fields.status, record.status.into());
        entry.add_u64(fields.size, record.content_bytes.into());
        entry.add_text(fields.url, marked(Language::NONE, &url));
        entry.add_text(fields.title, marked(language, &document.title));
        for heading in document.headings() {
            entry.add_text(fields.headings, marked(language, heading.text));
        }
        if !anchors.is_empty() {
            entry.add_text(fields.anchor, marked(language, anchors));
        }
        entry.add_text(fields.body, marked(language, &document.text));
        Ok(Ok((entry, body.bytes.len() as u64)))
    }
}

fn text_of(value: Option<&[u8]>) -> Option<String> {
    value.map(|value| String::from_utf8_lossy(value).into_owned())
}

fn robots_of(stored: &StoredPage, agent: &str) -> RobotsDirectives {
    let value = text_of(stored.header("X-Robots-Tag")).unwrap_or_default();
    RobotsDirectives::from_header(&value, agent)
}
