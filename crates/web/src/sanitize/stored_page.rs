//! Stored versions of a page, decoded for display.

use model::{CanonicalUrl, PageId};
use parse::{ContentKind, DecodeEnd, Document, decode, decode_content};
use store::{PageVersion, Snapshot, VerifyLevel};

use crate::state::api_error::ApiError;

/// Maximum size of a decoded body.
const MAX_BODY_BYTES: usize = 16 << 20;

/// One stored version of a page.
pub(crate) struct StoredVersion {
    pub(crate) fetched_ms: i64,
    pub(crate) status: Option<u16>,
    pub(crate) content_type: String,
    /// Body without content encoding.
    pub(crate) body: Vec<u8>,
    /// Whether the body is complete.
    pub(crate) is_complete: bool,
    pub(crate) kind: ContentKind,
}

impl StoredVersion {
    /// Reads the version nearest to a time, by default the current one; `None` if no version is stored.
    pub(crate) fn read(
        snapshot: &Snapshot,
        page: PageId,
        url: &str,
        at_ms: Option<i64>,
    ) -> Result<Option<StoredVersion>, ApiError> {
        let location = match at_ms {
            Some(at_ms) => snapshot.page_store.nearest(url, at_ms)?.map(|version| version.location),
            None => snapshot.page_state.get(page)?.and_then(|record| record.record_location),
        };
        let Some(location) = location else { return Ok(None) };
        let stored = snapshot.page_store.read(&location, VerifyLevel::Checksum)?;
        let header = |name| stored.header(name).map(|value| String::from_utf8_lossy(value).into_owned());
        let content_type = header("Content-Type").unwrap_or_default();
        let encoded = stored.body();
        let decoded =
            decode_content(&encoded, &header("Content-Encoding").unwrap_or_default(), MAX_BODY_BYTES);
        let is_complete = decoded.end == DecodeEnd::Complete && stored.truncated().is_none();
        let body = decoded.bytes.into_owned();
        let kind = ContentKind::detect(
            Some(&content_type).filter(|name| !name.is_empty()).map(String::as_str),
            &body,
        );
        Ok(Some(StoredVersion {
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

    /// Decodes the body to text.
    pub(crate) fn text(&self, url: &CanonicalUrl) -> String {
        decode(&self.body, self.declared(), url.top_level_domain()).text.into_owned()
    }

    /// Parses the body.
    pub(crate) fn document(&self, url: &CanonicalUrl) -> Document {
        let mut document = Document::default();
        let options = parse::html::Options::default();
        document.read(&self.body, self.declared(), url.top_level_domain(), &options);
        document
    }
}

/// Lists the stored versions of a URL, newest first.
pub(crate) fn versions(snapshot: &Snapshot, url: &str, limit: usize) -> Result<Vec<PageVersion>, ApiError> {
    let mut versions = snapshot.page_store.versions(url)?;
    versions.reverse();
    versions.truncate(limit);
    Ok(versions)
}
