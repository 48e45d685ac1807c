//! What is the crawl after, by the words of a query and by pages that are examples?

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crawl::Focus;
use frontier::Strategy;
use model::UrlRules;
use parse::{Document, decode_content};
use store::{Snapshot, Verify};

use super::{FILE, Settings};
use crate::failure::WrongUse;

/// No more of an example is read.
const EXAMPLE_LIMIT_BYTES: u64 = 10 << 20;

impl Settings {
    /// The driving query. Examples that are files lie relative to the collection's folder; those that are URLs are pages of
    /// the collection.
    pub(crate) fn driving_query(&self, folder: &Path) -> Result<Focus, WrongUse> {
        let examples = self.focus.examples.iter().map(|example| {
            let text = match example.contains("://") {
                true => stored_text(folder, &self.url_rules(), example),
                false => file_text(&folder.join(example)),
            };
            text.map_err(|what| WrongUse(format!("{FILE}: focus.examples: {example}: {what}")))
        });
        let examples = examples.collect::<Result<Vec<String>, WrongUse>>()?;
        let focus = Focus::new(&self.focus.query, &examples);
        if focus.is_empty() && self.crawl.strategy == Strategy::Focused {
            let what = "crawl.strategy is focused, but focus.query and focus.examples have no word; write what pages should be about";
            return Err(WrongUse(format!("{FILE}: {what}")));
        }
        Ok(focus)
    }
}

fn file_text(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(EXAMPLE_LIMIT_BYTES).read_to_end(&mut bytes));
    read.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(text(&bytes, None))
}

fn stored_text(folder: &Path, rules: &UrlRules, example: &str) -> Result<String, String> {
    let url = rules.canonical(example).map_err(|rejected| rejected.to_string())?;
    let snapshot = Snapshot::open(folder, None).map_err(|error| error.to_string())?;
    let stored = || {
        let Some(page) = snapshot.urls.find(&url)? else { return Ok(None) };
        let location = snapshot.pages.get(page)?.and_then(|record| record.stored);
        location.map(|location| snapshot.bodies.read(&location, Verify::Checksum)).transpose()
    };
    let stored = stored().map_err(|error: store::Error| error.to_string())?;
    let stored = stored
        .ok_or("it was not fetched yet; crawl it first, or save it as a file and name that".to_owned())?;
    let header = |name| stored.header(name).map(|value| String::from_utf8_lossy(value).into_owned());
    let encoding = header("Content-Encoding").unwrap_or_default();
    let body = stored.body();
    let decoded = decode_content(&body, &encoding, EXAMPLE_LIMIT_BYTES as usize);
    Ok(text(&decoded.bytes, header("Content-Type").as_deref()))
}

/// Title and main text of a page; all text of one that has no main text.
fn text(bytes: &[u8], content_type: Option<&str>) -> String {
    let mut document = Document::default();
    document.read(bytes, content_type, None, &parse::html::Options::default());
    let main_text = document.main_text();
    let text = if main_text.is_empty() { &document.text } else { &main_text };
    format!("{} {text}", document.title)
}
