//! Description of one request.

use std::net::IpAddr;
use std::time::Instant;

use model::CanonicalUrl;
use tokio::sync::Notify;

use crate::site_headers::SiteHeaders;

/// One request for a page.
#[derive(Debug, Clone, Copy)]
pub struct FetchRequest<'j> {
    /// URL of the page.
    pub url: &'j CanonicalUrl,
    /// Resolved address of the host. Ignored if the host of the URL is itself an IP address.
    pub address: IpAddr,
    /// Additional headers for this site.
    pub site_headers: &'j SiteHeaders,
    /// `If-None-Match`: entity tag of the stored copy.
    pub if_none_match: Option<&'j str>,
    /// `If-Modified-Since`: `Last-Modified` of the stored copy, as the server sent it.
    pub if_modified_since: Option<&'j str>,
    /// Maximum size of the body; longer bodies are truncated.
    pub max_body_bytes: usize,
    /// Accepts every MIME type, for robots.txt and sitemaps.
    pub any_mime_type: bool,
    /// The request is not sent after this time, even if the connection is open by then: the claim of the caller on the
    /// address may have expired, and another worker may contact it.
    pub send_deadline: Option<Instant>,
    /// Notified at the first byte of the response, long before the end of a slow one.
    pub first_byte: Option<&'j Notify>,
}

impl FetchRequest<'_> {
    /// Whether the request must not be sent any more.
    pub(crate) fn is_late(&self) -> bool {
        self.send_deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}
