//! What does a stored page say? Its title and main text, read from the page store.

use parse::{Document, decode_content};
use store::{PageRecord, Snapshot, Verify};

use crate::error::Result;

/// No body is decoded further.
const BODY_LIMIT_BYTES: usize = 10 << 20;

/// What a page says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageText {
    /// Its title.
    pub title: String,
    /// Its main text; all of its text where nothing of it is the main part.
    pub text: String,
}

impl PageText {
    /// That of the version that is stored; none if there is none.
    pub fn read(snapshot: &Snapshot, page: &PageRecord) -> Result<Option<PageText>> {
        let Some(location) = page.stored else { return Ok(None) };
        let stored = snapshot.bodies.read(&location, Verify::Checksum)?;
        let header = |name| stored.header(name).map(|value| String::from_utf8_lossy(value).into_owned());
        let body = stored.body();
        let decoded =
            decode_content(&body, &header("Content-Encoding").unwrap_or_default(), BODY_LIMIT_BYTES);
        let mut document = Document::default();
        document.read(
            &decoded.bytes,
            header("Content-Type").as_deref(),
            None,
            &parse::html::Options::default(),
        );
        let main_text = document.main_text();
        let text = if main_text.is_empty() { document.text } else { main_text };
        Ok(Some(PageText { title: document.title, text }))
    }
}
