//! Text of a stored page: its title and main text.

use parse::{Document, DocumentReader, StoredResponse};
use store::{PageRecord, Snapshot, StoredPage, VerifyLevel};

use crate::error::Result;

/// Text of a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageText {
    /// Title.
    pub title: String,
    /// Main text; the whole text if no part of it is recognised as the main text.
    pub text: String,
}

impl PageText {
    /// Reads the stored version; none if there is none, or if it is not a document (redirect, error).
    pub fn read(snapshot: &Snapshot, page: &PageRecord) -> Result<Option<PageText>> {
        let Some(location) = page.record_location else { return Ok(None) };
        let stored = snapshot.page_store.read(&location, VerifyLevel::Checksum)?;
        let mut reader = DocumentReader::default();
        Ok(read_document(&mut reader, &stored).map(|document| {
            let main_text = document.main_text();
            let text = if main_text.is_empty() { document.text.clone() } else { main_text };
            PageText { title: document.title.clone(), text }
        }))
    }
}

/// Parses a stored page; none if it is not a document (redirect, error).
pub(crate) fn read_document<'r>(reader: &'r mut DocumentReader, stored: &StoredPage) -> Option<&'r Document> {
    reader.read(&StoredResponse {
        url: stored.url(),
        status: stored.status(),
        content_type: stored.header("Content-Type"),
        content_encoding: stored.header("Content-Encoding"),
        body: &stored.body(),
    })
}
