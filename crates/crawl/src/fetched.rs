//! What came back when a page was asked for?

use std::net::IpAddr;

use model::CanonicalUrl;
use store::Truncated;

/// The answer of a server to one request, or that there was none. Not looked at yet.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The page.
    pub url: CanonicalUrl,
    /// When the answer had come, in Unix milliseconds.
    pub fetched_ms: i64,
    /// Who answered.
    pub address: Option<IpAddr>,
    /// What was spoken, one name per layer: `http/1.1`, `tls/1.3`.
    pub protocols: Vec<String>,
    /// The status of HTTP; 0 when there was no answer.
    pub status: u16,
    /// Status line and header lines as received.
    pub head: Vec<u8>,
    /// The body without its chunks, and with its content encoding.
    pub body: Vec<u8>,
    /// Why the body is not complete, where it is not.
    pub truncated: Option<Truncated>,
    /// From the request to the first byte.
    pub latency_ms: Option<u32>,
    /// From the request to the last byte.
    pub duration_ms: Option<u32>,
}

impl Fetched {
    /// When, in Unix seconds, as states keep it.
    pub(crate) fn seconds(fetched_ms: i64) -> u32 {
        u32::try_from(fetched_ms / 1000).unwrap_or(if fetched_ms < 0 { 0 } else { u32::MAX })
    }
}
