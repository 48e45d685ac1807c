//! Builder of index documents from stored pages; obeys noindex and `unavailable_after`.

use model::{CanonicalUrl, UrlRules};
use parse::html::Options;
use parse::{ContentKind, DocumentReader, RobotsDirectives, StoredResponse, parse_date, top_level_domain};
use store::{PageRecord, StoredPage};
use warc::WarcRecord;

use crate::index::schema::Fields;
use crate::indexing::index_document::IndexDocument;
use crate::indexing::plan::ReadTask;
use crate::query::is_name;
use crate::text::language::Language;

/// Maximum length of a MIME type; longer values are ignored.
const MAX_MIME_TYPE_BYTES: usize = 100;

/// Builds index documents; one per thread.
pub(crate) struct DocumentBuilder {
    fields: Fields,
    rules: UrlRules,
    /// Time for comparisons with `unavailable_after`, in Unix seconds.
    now_s: i64,
    reader: DocumentReader,
}

/// Result of building a document.
pub(crate) struct BuildResult {
    pub(crate) content: Content,
    /// Size of the body.
    pub(crate) body_bytes: u64,
    /// `unavailable_after` of the page, in Unix seconds; 0 for none.
    pub(crate) expires_s: u32,
}

/// Document of a page, or the reason why there is none.
pub(crate) enum Content {
    /// The document.
    Document(IndexDocument),
    /// Excluded by noindex or `unavailable_after`.
    Noindex,
    /// Neither HTML nor plain text.
    NotText,
}

impl DocumentBuilder {
    pub(crate) fn new(fields: Fields, options: Options, now_s: i64) -> DocumentBuilder {
        DocumentBuilder { fields, rules: UrlRules::default(), now_s, reader: DocumentReader::new(options) }
    }

    /// Builds the document of a stored page.
    pub(crate) fn build(&mut self, task: &ReadTask, stored: &StoredPage) -> BuildResult {
        let content_type = stored.header("Content-Type");
        let body = stored.body();
        let response = StoredResponse {
            url: &task.url,
            status: stored.status(),
            content_type,
            content_encoding: stored.header("Content-Encoding"),
            body: &body,
        };
        let is_page = self.reader.read(&response).is_some();
        let body_bytes = if is_page { self.reader.body_bytes() } else { 0 };
        let document = self.reader.document();
        if body_bytes == 0 || !matches!(document.kind, ContentKind::Html | ContentKind::Text) {
            return BuildResult { content: Content::NotText, body_bytes, expires_s: 0 };
        }
        let robots = document
            .robots_directives
            .merge(RobotsDirectives::from_head(stored.head(), &self.reader.options.agent));
        let expires_s = expiry_s(robots);
        if self.is_noindex(robots) {
            return BuildResult { content: Content::Noindex, body_bytes, expires_s };
        }
        let mut document = self.text_fields(task);
        self.add_metadata(&mut document, task, stored);
        if let Some(mime_type) = content_type.and_then(mime_type) {
            document.add_term(self.fields.mime_type, mime_type);
        }
        document.add_number(self.fields.size, body_bytes);
        BuildResult { content: Content::Document(document), body_bytes, expires_s }
    }

    /// Checks the response headers of a page with unchanged content: whether they exclude it, and their `unavailable_after`.
    pub(crate) fn check_headers(&self, record: &WarcRecord) -> (bool, u32) {
        let robots = RobotsDirectives::from_head(record.head(), &self.reader.options.agent);
        (self.is_noindex(robots), expiry_s(robots))
    }

    fn is_noindex(&self, robots: RobotsDirectives) -> bool {
        robots.noindex() || robots.unavailable_after.is_some_and(|expires_s| expires_s <= self.now_s)
    }

    fn text_fields(&self, task: &ReadTask) -> IndexDocument {
        let (fields, page) = (&self.fields, self.reader.document());
        // The same function with the same input as in the crawl, so that `lang:` and the table of documents agree.
        let found = page.language(&page.main_text(), top_level_domain(&task.url));
        let code = found.map(|found| found.code);
        let language = code.map_or(Language::NONE, Language::from_code);
        let mut document = IndexDocument::default();
        if let Some(code) = code {
            document.add_term(fields.language, code.to_owned());
        }
        document.add_text(fields.url, Language::NONE, &task.url);
        if let Some(display_url) = self.display_url(task) {
            document.add_text(fields.url, Language::NONE, &display_url);
        }
        document.add_text(fields.title, language, &page.title);
        for heading in page.headings() {
            document.add_text(fields.headings, language, heading.text);
        }
        // Separate values: no phrase matches across two anchor texts.
        for anchor in task.anchors.lines() {
            document.add_text(fields.anchor, language, anchor);
        }
        document.add_text(fields.body, language, &page.text);
        document
    }

    /// The URL with percent-encoding and Punycode decoded, if that changes it.
    fn display_url(&self, task: &ReadTask) -> Option<String> {
        if !task.url.contains('%') && !task.url.contains("xn--") {
            return None;
        }
        let url = self.rules.canonical(&task.url).ok()?;
        Some(url.readable().into_owned()).filter(|readable| *readable != task.url)
    }

    fn add_metadata(&self, document: &mut IndexDocument, task: &ReadTask, stored: &StoredPage) {
        let (fields, page) = (&self.fields, self.reader.document());
        let PageRecord { site, .. } = task.record;
        document.add_number(fields.page_id, task.page.0.into());
        document.add_number(fields.site_id, site.0.into());
        document.add_number(fields.status, stored.status().unwrap_or(0).into());
        if let Ok(url) = self.rules.canonical(&task.url) {
            document.add_term(fields.domain, registered_domain_or_host(&url).to_owned());
        }
        let last_modified = || parse_date(&String::from_utf8_lossy(stored.header("Last-Modified")?));
        if let Some(date_s) = page.modified.or(page.published).or_else(last_modified) {
            document.add_signed(fields.date, date_s);
        }
    }
}

fn registered_domain_or_host(url: &CanonicalUrl) -> &str {
    url.registered_domain().unwrap_or(url.host())
}

/// `unavailable_after` as stored; 0 for none, or outside of the 32-bit range.
fn expiry_s(robots: RobotsDirectives) -> u32 {
    robots.unavailable_after.and_then(|expires_s| u32::try_from(expires_s).ok()).unwrap_or(0)
}

/// MIME type of a Content-Type header, in lower case and without parameters; `None` if no query could match it.
fn mime_type(content_type: &[u8]) -> Option<String> {
    let content_type = String::from_utf8_lossy(content_type);
    let mime_type = content_type.split(';').next()?.trim().to_ascii_lowercase();
    (mime_type.len() <= MAX_MIME_TYPE_BYTES && is_name(&mime_type)).then_some(mime_type)
}
