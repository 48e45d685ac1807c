//! What came back when a page was asked for?

use std::net::IpAddr;

use fetch::{Answer, Cut};
use model::{CanonicalUrl, Reason};
use store::{Capture, Truncated};

use crate::outcome::Outcome;

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
    /// The request as it was sent; empty where it is not known.
    pub request: Vec<u8>,
    /// Why there is no answer, or no whole one.
    pub failure: Option<Reason>,
    /// From the request to the first byte.
    pub latency_ms: Option<u32>,
    /// From the request to the last byte.
    pub duration_ms: Option<u32>,
}

impl Fetched {
    /// What a harvester has fetched.
    pub(crate) fn new(url: CanonicalUrl, answer: Answer, now_ms: u64) -> Fetched {
        Fetched {
            url,
            fetched_ms: now_ms as i64,
            address: answer.address,
            protocols: answer.protocols.iter().map(|&name| name.to_owned()).collect(),
            status: answer.status,
            head: answer.head,
            body: answer.body,
            truncated: answer.cut.map(|cut| match cut {
                Cut::Length => Truncated::Length,
                Cut::Time => Truncated::Time,
                Cut::Disconnect => Truncated::Disconnect,
            }),
            request: answer.request,
            failure: answer.failure,
            latency_ms: answer.latency_ms,
            duration_ms: answer.duration_ms,
        }
    }

    /// What the visit brought.
    pub(crate) fn outcome(&self) -> Outcome {
        match Outcome::of(self.status) {
            Outcome::NotModified if self.failure.is_some() => Outcome::Unexpected,
            outcome => outcome,
        }
    }

    /// What a WARC record is made of; `protocols` are its own, as `&str`.
    pub(crate) fn capture<'f>(&'f self, protocols: &'f [&'f str], request: Option<&'f [u8]>) -> Capture<'f> {
        Capture {
            url: self.url.as_str(),
            fetched_at_ms: self.fetched_ms,
            address: self.address,
            protocols,
            head: &self.head,
            body: &self.body,
            truncated: self.truncated,
            request,
            metadata: &[],
        }
    }

    /// When, in Unix seconds, as states keep it.
    pub(crate) fn seconds(fetched_ms: i64) -> u32 {
        u32::try_from(fetched_ms / 1000).unwrap_or(if fetched_ms < 0 { 0 } else { u32::MAX })
    }
}
