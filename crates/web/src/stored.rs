//! What does a stored version of a page look like to somebody who wants to read it?

use model::{CanonicalUrl, PageId};
use parse::{Document, Ended, PageKind, decode, decode_content};
use store::{PageVersion, Snapshot, Verify};

use crate::failure::Failure;

/// No body is decoded further.
const BODY_LIMIT_BYTES: usize = 16 << 20;

/// One version of a page.
pub(crate) struct Stored {
    pub(crate) fetched_ms: i64,
    pub(crate) status: Option<u16>,
    pub(crate) content_type: String,
    /// Without its content encoding.
    pub(crate) body: Vec<u8>,
    /// Whether the body is all of it.
    pub(crate) is_complete: bool,
    pub(crate) kind: PageKind,
}

impl Stored {
    /// The version of a page that is nearest to a time, or the one that counts; none if there is none.
    pub(crate) fn read(
        snapshot: &Snapshot,
        page: PageId,
        url: &str,
        at_ms: Option<i64>,
    ) -> Result<Option<Stored>, Failure> {
        let location = match at_ms {
            Some(at_ms) => snapshot.bodies.nearest(url, at_ms)?.map(|version| version.location),
            None => snapshot.pages.get(page)?.and_then(|record| record.stored),
        };
        let Some(location) = location else { return Ok(None) };
        let stored = snapshot.bodies.read(&location, Verify::Checksum)?;
        let header = |name| stored.header(name).map(|value| String::from_utf8_lossy(value).into_owned());
        let content_type = header("Content-Type").unwrap_or_default();
        let raw = stored.body();
        let decoded = decode_content(&raw, &header("Content-Encoding").unwrap_or_default(), BODY_LIMIT_BYTES);
        let is_complete = decoded.ended == Ended::Complete && stored.truncated().is_none();
        let body = decoded.bytes.into_owned();
        let kind =
            PageKind::of(Some(&content_type).filter(|name| !name.is_empty()).map(String::as_str), &body);
        Ok(Some(Stored {
            fetched_ms: stored.fetched_at_ms(),
            status: stored.status(),
            content_type,
            body,
            is_complete,
            kind,
        }))
    }

    fn declared(&self) -> Option<&str> {
        Some(self.content_type.as_str()).filter(|name| !name.is_empty())
    }

    /// Its characters.
    pub(crate) fn text(&self, url: &CanonicalUrl) -> String {
        decode(&self.body, self.declared(), url.top_level_domain()).text.into_owned()
    }

    /// What it says.
    pub(crate) fn document(&self, url: &CanonicalUrl) -> Document {
        let mut document = Document::default();
        let options = parse::html::Options::default();
        document.read(&self.body, self.declared(), url.top_level_domain(), &options);
        document
    }
}

/// The stored versions of a URL, newest first, and no more than so many.
pub(crate) fn versions(snapshot: &Snapshot, url: &str, most: usize) -> Result<Vec<PageVersion>, Failure> {
    let mut versions = snapshot.bodies.versions(url)?;
    versions.reverse();
    versions.truncate(most);
    Ok(versions)
}
