//! Result of a page request before parsing.

use std::net::IpAddr;

use fetch::Response;
use model::{CanonicalUrl, Reason, Truncation};
use warc::Capture;

use crate::item::fetch_outcome::FetchOutcome;

/// Response to one page request, or the fact that there was none. Not parsed yet.
#[derive(Debug, Clone)]
pub struct FetchedPage {
    /// URL of the page.
    pub url: CanonicalUrl,
    /// Time at which the response was complete, in Unix milliseconds.
    pub fetched_ms: i64,
    /// Address of the server.
    pub address: Option<IpAddr>,
    /// Protocols, one name per layer: `http/1.1`, `tls/1.3`.
    pub protocols: Vec<String>,
    /// HTTP status code; 0 for no response.
    pub status: u16,
    /// Status line and header fields as received.
    pub head: Vec<u8>,
    /// Body: transfer coding removed, content coding kept.
    pub body: Vec<u8>,
    /// Cause of the truncation of the body, if it is truncated.
    pub truncated: Option<Truncation>,
    /// Request as sent; empty if unknown.
    pub request: Vec<u8>,
    /// Reason for no or an incomplete response.
    pub failure: Option<Reason>,
    /// Time from the request to the first byte.
    pub latency_ms: Option<u32>,
    /// Time from the request to the last byte.
    pub duration_ms: Option<u32>,
}

impl FetchedPage {
    /// Builds a page from the response to a harvester's request.
    pub fn new(url: CanonicalUrl, response: Response, now_ms: u64) -> FetchedPage {
        FetchedPage {
            url,
            fetched_ms: now_ms as i64,
            address: response.address,
            protocols: response.protocols.iter().map(|&name| name.to_owned()).collect(),
            status: response.status,
            head: response.head,
            body: response.body,
            truncated: response.truncation,
            request: response.request,
            failure: response.failure,
            latency_ms: response.latency_ms,
            duration_ms: response.duration_ms,
        }
    }

    /// Outcome of the fetch.
    pub fn outcome(&self) -> FetchOutcome {
        FetchOutcome::of_fetch(self.status, self.failure)
    }

    /// Borrows the data of a WARC record; `protocols` are those of the page as `&str`.
    pub fn capture<'f>(&'f self, protocols: &'f [&'f str], request: Option<&'f [u8]>) -> Capture<'f> {
        Capture {
            url: self.url.as_str(),
            fetched_at_ms: self.fetched_ms,
            ip_address: self.address,
            protocols,
            head: &self.head,
            body: &self.body,
            truncated: self.truncated,
            request,
            metadata: &[],
        }
    }

    /// Converts a fetch time to the 32-bit Unix seconds of page states.
    pub fn seconds(fetched_ms: i64) -> u32 {
        u32::try_from(fetched_ms / 1000).unwrap_or(if fetched_ms < 0 { 0 } else { u32::MAX })
    }
}
