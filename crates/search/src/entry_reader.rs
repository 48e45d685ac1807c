//! What does a stored page say that can be found? Read from the page store, unless the page asks not to be found.

use model::{CanonicalUrl, UrlRules};
use parse::html::Options;
use parse::{Document, PageKind, RobotsDirectives, decode_content, parse_date};
use store::{PageRecord, Snapshot, StoredPage, Verify};

use crate::entry::Entry;
use crate::error::Result;
use crate::language::{Language, certain_language};
use crate::plan::Task;
use crate::schema::Fields;

/// Media types longer than this are none.
const MIME_LIMIT_BYTES: usize = 100;

/// Reads pages; one per thread.
pub(crate) struct EntryReader<'s> {
    snapshot: &'s Snapshot,
    fields: Fields,
    options: Options,
    rules: UrlRules,
    /// Used again for each page.
    document: Document,
}

/// What came of reading a page.
pub(crate) enum ReadPage {
    /// It goes to the index.
    Entry(Entry),
    /// It asks not to be found.
    Noindex,
    /// It is no text.
    NotText,
}

impl<'s> EntryReader<'s> {
    /// Reads pages of a snapshot.
    pub(crate) fn new(snapshot: &'s Snapshot, fields: Fields, options: Options) -> EntryReader<'s> {
        EntryReader { snapshot, fields, options, rules: UrlRules::default(), document: Document::default() }
    }

    /// The entry of a page, and how many bytes its body has.
    pub(crate) fn read(&mut self, task: &Task) -> Result<(ReadPage, u64)> {
        let stored = self.snapshot.bodies.read(&task.location, Verify::Checksum)?;
        let content_type = value(&stored, "Content-Type");
        let encoding = value(&stored, "Content-Encoding").unwrap_or_default();
        let body = stored.body();
        let body = decode_content(&body, &encoding, self.options.limits.input_bytes);
        let bytes = body.bytes.len() as u64;
        let url = self.rules.canonical(&task.url).ok();
        let top_level_domain = url.as_ref().and_then(|url| url.host().rsplit('.').next());
        self.document.read(&body.bytes, content_type.as_deref(), top_level_domain, &self.options);
        if bytes == 0 || !matches!(self.document.kind, PageKind::Html | PageKind::Text) {
            return Ok((ReadPage::NotText, bytes));
        }
        let robots = self.document.robots.merge(header_robots(&stored, &self.options.agent));
        if self.is_unwanted(robots) {
            return Ok((ReadPage::Noindex, bytes));
        }
        let mut entry = self.words(task);
        self.facts(&mut entry, task, &stored, url.as_ref());
        let mime = content_type.as_deref().and_then(|value| value.split(';').next()).map(str::trim);
        if let Some(mime) = mime.filter(|mime| (1..=MIME_LIMIT_BYTES).contains(&mime.len())) {
            entry.add_term(self.fields.mime, mime.to_ascii_lowercase());
        }
        entry.add_number(self.fields.size, bytes);
        Ok((ReadPage::Entry(entry), bytes))
    }

    /// Whether the head of a page, whose content is as before, asks not to be found.
    pub(crate) fn is_unwanted_by_head(&self, task: &Task) -> Result<bool> {
        let record = self.snapshot.bodies.read_record(&task.location, Verify::Checksum)?;
        Ok(self.is_unwanted(robots_of_head(record.head(), &self.options.agent)))
    }

    fn is_unwanted(&self, robots: RobotsDirectives) -> bool {
        let now_s = self.snapshot.manifest.committed_ms / 1_000;
        robots.noindex() || robots.unavailable_after.is_some_and(|until_s| until_s <= now_s)
    }

    fn words(&self, task: &Task) -> Entry {
        let (fields, document) = (&self.fields, &self.document);
        let code = certain_language(&document.text);
        let language = code.map_or(Language::NONE, Language::of_code);
        let mut entry = Entry::default();
        if let Some(code) = code {
            entry.add_term(fields.language, code.to_owned());
        }
        entry.add_words(fields.url, Language::NONE, &task.url);
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

    fn facts(&self, entry: &mut Entry, task: &Task, stored: &StoredPage, url: Option<&CanonicalUrl>) {
        let (fields, document) = (&self.fields, &self.document);
        let PageRecord { site, depth, .. } = task.record;
        entry.add_number(fields.page_id, task.page.0.into());
        entry.add_number(fields.site_id, site.0.into());
        entry.add_number(fields.depth, depth.into());
        entry.add_number(fields.status, stored.status().unwrap_or(0).into());
        if let Some(url) = url {
            entry.add_term(fields.domain, url.registered_domain().unwrap_or(url.host()).to_owned());
        }
        let of_header = || parse_date(&value(stored, "Last-Modified")?);
        if let Some(date_s) = document.modified.or(document.published).or_else(of_header) {
            entry.add_signed(fields.date, date_s);
        }
    }
}

fn value(stored: &StoredPage, name: &str) -> Option<String> {
    stored.header(name).map(|value| String::from_utf8_lossy(value).into_owned())
}

fn header_robots(stored: &StoredPage, agent: &str) -> RobotsDirectives {
    robots_of_head(stored.head(), agent)
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
