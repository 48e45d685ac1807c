//! What does a stored page say that can be found? Read from the page store, unless the page asks not to be found.

use model::{CanonicalUrl, UrlRules};
use parse::html::Options;
use parse::{DocumentReader, PageKind, RobotsDirectives, StoredAnswer, parse_date};
use store::{PageRecord, StoredPage, WarcRecord};

use crate::entry::Entry;
use crate::language::{Language, certain_language};
use crate::plan::Task;
use crate::query::is_name;
use crate::schema::Fields;

/// Media types longer than this are none.
const MIME_LIMIT_BYTES: usize = 100;

/// Reads pages; one per thread.
pub(crate) struct EntryReader {
    fields: Fields,
    rules: UrlRules,
    /// The moment by which pages are judged that ask to be found until some day.
    now_s: i64,
    reader: DocumentReader,
}

/// What came of reading a page.
pub(crate) struct ReadPage {
    pub(crate) content: Content,
    /// Bytes of its body.
    pub(crate) bytes: u64,
    /// When it asks not to be found any more, in Unix seconds; 0 for never.
    pub(crate) until_s: u32,
}

/// What of a page can be found.
pub(crate) enum Content {
    /// It goes to the index.
    Entry(Entry),
    /// It asks not to be found.
    Noindex,
    /// It is no text.
    NotText,
}

impl EntryReader {
    /// Reads pages at a moment.
    pub(crate) fn new(fields: Fields, options: Options, now_s: i64) -> EntryReader {
        EntryReader { fields, rules: UrlRules::default(), now_s, reader: DocumentReader::new(options) }
    }

    /// What a stored page says.
    pub(crate) fn read(&mut self, task: &Task, stored: &StoredPage) -> ReadPage {
        let content_type = stored.header("Content-Type");
        let body = stored.body();
        let answer = StoredAnswer {
            url: &task.url,
            status: stored.status(),
            content_type,
            content_encoding: stored.header("Content-Encoding"),
            body: &body,
        };
        let is_page = self.reader.read(&answer).is_some();
        let bytes = if is_page { self.reader.body_bytes() } else { 0 };
        let document = self.reader.document();
        if bytes == 0 || !matches!(document.kind, PageKind::Html | PageKind::Text) {
            return ReadPage { content: Content::NotText, bytes, until_s: 0 };
        }
        let robots = document.robots.merge(robots_of_head(stored.head(), &self.reader.options.agent));
        let until_s = until(robots);
        if self.is_unwanted(robots) {
            return ReadPage { content: Content::Noindex, bytes, until_s };
        }
        let mut entry = self.words(task);
        self.facts(&mut entry, task, stored);
        if let Some(mime) = content_type.and_then(mime) {
            entry.add_term(self.fields.mime, mime);
        }
        entry.add_number(self.fields.size, bytes);
        ReadPage { content: Content::Entry(entry), bytes, until_s }
    }

    /// Whether the head of a page, whose content is as before, asks not to be found, and from when on.
    pub(crate) fn read_head(&self, record: &WarcRecord) -> (bool, u32) {
        let robots = robots_of_head(record.head(), &self.reader.options.agent);
        (self.is_unwanted(robots), until(robots))
    }

    fn is_unwanted(&self, robots: RobotsDirectives) -> bool {
        robots.noindex() || robots.unavailable_after.is_some_and(|until_s| until_s <= self.now_s)
    }

    fn words(&self, task: &Task) -> Entry {
        let (fields, document) = (&self.fields, self.reader.document());
        let code = certain_language(&document.text);
        let language = code.map_or(Language::NONE, Language::of_code);
        let mut entry = Entry::default();
        if let Some(code) = code {
            entry.add_term(fields.language, code.to_owned());
        }
        entry.add_words(fields.url, Language::NONE, &task.url);
        if let Some(readable) = self.readable(task) {
            entry.add_words(fields.url, Language::NONE, &readable);
        }
        entry.add_words(fields.title, language, &document.title);
        for heading in document.headings() {
            entry.add_words(fields.headings, language, heading.text);
        }
        // Texts of their own: no phrase goes from one link to the next.
        for anchor in task.anchors.lines() {
            entry.add_words(fields.anchor, language, anchor);
        }
        entry.add_words(fields.body, language, &document.text);
        entry
    }

    /// The URL as people would write it, if that has other words.
    fn readable(&self, task: &Task) -> Option<String> {
        if !task.url.contains('%') && !task.url.contains("xn--") {
            return None;
        }
        let url = self.rules.canonical(&task.url).ok()?;
        Some(url.readable().into_owned()).filter(|readable| *readable != task.url)
    }

    fn facts(&self, entry: &mut Entry, task: &Task, stored: &StoredPage) {
        let (fields, document) = (&self.fields, self.reader.document());
        let PageRecord { site, .. } = task.record;
        entry.add_number(fields.page_id, task.page.0.into());
        entry.add_number(fields.site_id, site.0.into());
        entry.add_number(fields.status, stored.status().unwrap_or(0).into());
        if let Ok(url) = self.rules.canonical(&task.url) {
            entry.add_term(fields.domain, domain(&url).to_owned());
        }
        let of_header = || parse_date(&String::from_utf8_lossy(stored.header("Last-Modified")?));
        if let Some(date_s) = document.modified.or(document.published).or_else(of_header) {
            entry.add_signed(fields.date, date_s);
        }
    }
}

fn domain(url: &CanonicalUrl) -> &str {
    url.registered_domain().unwrap_or(url.host())
}

/// A moment as it is noted; one that cannot be is none.
fn until(robots: RobotsDirectives) -> u32 {
    robots.unavailable_after.and_then(|until_s| u32::try_from(until_s).ok()).unwrap_or(0)
}

/// The type of a page in lower case, without parameters. One that no query can ask for is none.
fn mime(content_type: &[u8]) -> Option<String> {
    let content_type = String::from_utf8_lossy(content_type);
    let mime = content_type.split(';').next()?.trim().to_ascii_lowercase();
    (mime.len() <= MIME_LIMIT_BYTES && is_name(&mime)).then_some(mime)
}

/// What all lines `X-Robots-Tag` of a head ask for.
fn robots_of_head(head: &[u8], agent: &str) -> RobotsDirectives {
    const NAME: &[u8] = b"x-robots-tag:";
    let lines = head.split(|byte| *byte == b'\n').filter_map(|line| {
        let (name, value) = line.split_at_checked(NAME.len())?;
        name.eq_ignore_ascii_case(NAME).then(|| String::from_utf8_lossy(value.trim_ascii()))
    });
    lines.fold(RobotsDirectives::default(), |robots, line| {
        robots.merge(RobotsDirectives::from_header(&line, agent))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_head_counts() {
        let head = b"HTTP/1.1 200 OK\r\nX-Robots-Tag: nofollow\r\nContent-Type: text/html\r\nx-robots-tag:NoIndex\r\n\r\n";
        assert!(robots_of_head(head, "weir").noindex());
        assert!(
            !robots_of_head(b"HTTP/1.1 200 OK\r\nX-Robots-Tag: other: noindex\r\n\r\n", "weir").noindex()
        );
    }
}
