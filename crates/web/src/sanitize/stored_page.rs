//! Stored versions of a page, decoded for display.

use model::{CanonicalUrl, PageId};
use parse::html::Options;
use parse::{ContentKind, DecodeEnd, Document, RobotsDirectives, decode, decode_content};
use store::{PageVersion, Snapshot, VerifyLevel};

use crate::state::api_error::ApiError;

/// Maximum size of a decoded body.
const MAX_BODY_BYTES: usize = 16 << 20;

/// One stored version of a page.
pub(crate) struct StoredVersion {
    pub(crate) fetched_ms: i64,
    pub(crate) status: Option<u16>,
    pub(crate) content_type: String,
    /// Body without content encoding; empty if it cannot be decoded.
    pub(crate) body: Vec<u8>,
    /// Whether the body is complete.
    pub(crate) is_complete: bool,
    /// Whether the content encoding could be decoded, at least in part.
    pub(crate) is_decoded: bool,
    pub(crate) kind: ContentKind,
    /// Robots directives of the response headers.
    robots: RobotsDirectives,
}

impl StoredVersion {
    /// Reads the version nearest to a time, by default the current one; `None` if no version is stored. `agent` is the crawler
    /// whose robots directives apply.
    pub(crate) fn read(
        snapshot: &Snapshot,
        page: PageId,
        url: &str,
        at_ms: Option<i64>,
        agent: &str,
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
        let is_decoded = decoded.end != DecodeEnd::Undecodable;
        let is_complete = decoded.end == DecodeEnd::Complete && stored.truncated().is_none();
        let body = decoded.bytes.into_owned();
        let declared = Some(content_type.as_str()).filter(|name| !name.is_empty());
        let kind = if is_decoded { ContentKind::detect(declared, &body) } else { ContentKind::Other };
        Ok(Some(StoredVersion {
            fetched_ms: stored.fetched_at_ms(),
            status: stored.status(),
            content_type,
            body,
            is_complete,
            is_decoded,
            kind,
            robots: RobotsDirectives::from_head(stored.head(), agent),
        }))
    }

    fn declared(&self) -> Option<&str> {
        Some(self.content_type.as_str()).filter(|name| !name.is_empty())
    }

    /// Decodes the body to text.
    pub(crate) fn text(&self, url: &CanonicalUrl) -> String {
        decode(&self.body, self.declared(), url.top_level_domain()).text.into_owned()
    }

    /// Parses the body; the robots directives include those of the headers.
    pub(crate) fn document(&self, url: &CanonicalUrl, agent: &str) -> Document {
        let mut document = Document::default();
        let options = Options { agent: agent.to_ascii_lowercase(), ..Options::default() };
        document.read(&self.body, self.declared(), url.top_level_domain(), &options);
        document.robots_directives = document.robots_directives.merge(self.robots);
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
