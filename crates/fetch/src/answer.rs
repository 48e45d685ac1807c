//! What came back for one request?

use std::net::IpAddr;

use model::Reason;

/// The answer to one request, or why there is none.
///
/// | `status` | `failure` | `cut` | meaning |
/// |---|---|---|---|
/// | 200 | none | none | a whole answer, whatever its status |
/// | 200 | none | `Length` | longer than allowed; the beginning is in `body` |
/// | 200 | `MediaType` | none | a type nobody wants; only the head was read |
/// | 200 | `TooSlow`, `TotalTimedOut` | `Time` | out of time in the body; what came is in `body` |
/// | 200 | `ConnectionLost`, `BadBody` | `Disconnect` | the body broke off; what came is in `body` |
/// | 0 | any other | none | no answer; or, by ftp and gopher, a name that promises a type nobody wants |
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The status of HTTP; 0 when no head came.
    pub status: u16,
    /// Status line and header lines exactly as received, with the empty line that ends them. Made up for HTTP/2,
    /// as HTTP/1.1 would have it, and for ftp and gopher: `HTTP/1.0 200 OK` and a `Content-Type`.
    pub head: Vec<u8>,
    /// The body without its chunks, and with its content encoding.
    pub body: Vec<u8>,
    /// Why the body is not complete, where it is not.
    pub cut: Option<Cut>,
    /// Why there is no answer, or no whole one.
    pub failure: Option<Reason>,
    /// Who was asked: the address connected to. With a proxy, the address that the host is known by.
    pub address: Option<IpAddr>,
    /// What was spoken, one name per layer: `http/1.1`, `tls/1.3`. Empty when no connection was made.
    pub protocols: &'static [&'static str],
    /// From the request to the first byte.
    pub latency_ms: Option<u32>,
    /// From the request to the last byte.
    pub duration_ms: Option<u32>,
    /// The request as it was sent; for HTTP/2 as HTTP/1.1 would have it. Empty when nothing was sent.
    pub request: Vec<u8>,
}

impl Answer {
    /// No answer, for this reason.
    pub(crate) fn failed(reason: Reason) -> Answer {
        Answer { failure: Some(reason), ..Answer::default() }
    }
}

/// Why a body is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cut {
    /// It is longer than allowed.
    Length,
    /// It took longer than allowed.
    Time,
    /// The connection broke, or what came is not the transfer that the head promised.
    Disconnect,
}
