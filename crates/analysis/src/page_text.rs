//! What does a stored page say? Its title and main text, read from the page store.

use parse::{Document, DocumentReader, StoredAnswer};
use store::{PageRecord, Snapshot, StoredPage, Verify};

use crate::error::Result;

/// What a page says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageText {
    /// Its title.
    pub title: String,
    /// Its main text; all of its text where nothing of it is the main part.
    pub text: String,
}

impl PageText {
    /// That of the version that is stored; none if there is none, or if that is no page but an error.
    pub fn read(snapshot: &Snapshot, page: &PageRecord) -> Result<Option<PageText>> {
        let Some(location) = page.stored else { return Ok(None) };
        let stored = snapshot.bodies.read(&location, Verify::Checksum)?;
        let mut reader = DocumentReader::default();
        Ok(read_document(&mut reader, &stored).map(|document| {
            let main_text = document.main_text();
            let text = if main_text.is_empty() { document.text.clone() } else { main_text };
            PageText { title: document.title.clone(), text }
        }))
    }
}

/// What a stored page says; nothing if it is none: a redirect, an error.
pub(crate) fn read_document<'r>(reader: &'r mut DocumentReader, stored: &StoredPage) -> Option<&'r Document> {
    reader.read(&StoredAnswer {
        url: stored.url(),
        status: stored.status(),
        content_type: stored.header("Content-Type"),
        content_encoding: stored.header("Content-Encoding"),
        body: &stored.body(),
    })
}
