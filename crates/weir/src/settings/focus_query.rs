//! Query of a focused crawl, from its words and its example pages.

use std::path::Path;

use frontier::Strategy;
use harvest::Focus;
use model::UrlRules;
use parse::{DecodeEnd, Document, decode_content};
use store::{Snapshot, VerifyLevel};

use super::{FILE, Settings};
use crate::exit::UsageError;

/// Maximum number of bytes read of an example page.
const MAX_EXAMPLE_BYTES: u64 = 10 << 20;

impl Settings {
    /// Builds the query. Example pages are files relative to the collection directory, or URLs of stored pages.
    pub(crate) fn focus_query(&self, dir: &Path) -> Result<Focus, UsageError> {
        let examples = self.focus.example_pages.iter().map(|example| {
            let text = match example.contains("://") {
                true => stored_text(dir, &self.url_rules(), example),
                false => file_text(&dir.join(example)),
            };
            text.map_err(|message| UsageError(format!("{FILE}: focus.example_pages: {example}: {message}")))
        });
        let examples = examples.collect::<Result<Vec<String>, UsageError>>()?;
        let focus = Focus::new(&self.focus.query, &examples);
        if focus.is_empty() && self.crawl.strategy == Strategy::Focused {
            let message = "crawl.strategy = \"focused\" needs words in focus.query or focus.example_pages";
            return Err(UsageError(format!("{FILE}: {message}")));
        }
        Ok(focus)
    }
}

fn file_text(path: &Path) -> Result<String, String> {
    let read = store::read_limited(path, MAX_EXAMPLE_BYTES);
    let bytes = read.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(text(&bytes, None))
}

fn stored_text(dir: &Path, rules: &UrlRules, example: &str) -> Result<String, String> {
    let url = rules.canonical(example).map_err(|rejected| rejected.to_string())?;
    let snapshot = Snapshot::open(dir, None).map_err(|error| error.to_string())?;
    let stored = || {
        let Some(page) = snapshot.urls.find(&url)? else { return Ok(None) };
        let location = snapshot.page_state.get(page)?.and_then(|record| record.record_location);
        location.map(|location| snapshot.page_store.read(&location, VerifyLevel::Checksum)).transpose()
    };
    let stored = stored().map_err(|error: store::Error| error.to_string())?;
    let stored = stored.ok_or("not fetched yet; crawl it first, or save it as a file".to_owned())?;
    let header = |name| stored.header(name).map(|value| String::from_utf8_lossy(value).into_owned());
    let encoding = header("Content-Encoding").unwrap_or_default();
    let body = stored.body();
    let decoded = decode_content(&body, &encoding, MAX_EXAMPLE_BYTES as usize);
    if decoded.end == DecodeEnd::Undecodable {
        return Err(format!("content encoding {encoding} is invalid; save the page as a file"));
    }
    Ok(text(&decoded.bytes, header("Content-Type").as_deref()))
}

/// Title and main text of a page; all its text if it has no main text.
fn text(bytes: &[u8], content_type: Option<&str>) -> String {
    let mut document = Document::default();
    document.read(bytes, content_type, None, &parse::html::Options::default());
    let main_text = document.main_text();
    let text = if main_text.is_empty() { &document.text } else { &main_text };
    format!("{} {text}", document.title)
}
