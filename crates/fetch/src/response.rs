//! Result of one request: the response, or the reason why there is none.

use std::net::IpAddr;

use model::{Reason, Truncation};

use crate::body_budget::BodyReservation;
use crate::connect_error::ConnectError;
use crate::local_fault::LocalFault;

/// Response to one request, or the reason why there is none.
///
/// | `status` | `failure` | `truncation` | meaning |
/// |---|---|---|---|
/// | 200 | none | none | complete response, of any status |
/// | 200 | none | `Length` | body exceeds the maximum; `body` has the beginning |
/// | 200 | `MimeType` | none | MIME type not accepted; only the head was read |
/// | 200 | `TooSlow`, `TotalTimeout` | `Time` | timeout in the body; `body` has what was received |
/// | 200 | `ConnectionClosed`, `InvalidBody` | `Disconnect` | body incomplete; `body` has what was received |
/// | 0 | any other | none | no response; or, over ftp and gopher, a file name of a type that is not accepted |
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Response {
    /// HTTP status code; 0 if no head was received.
    pub status: u16,
    /// Status line and headers exactly as received, with the blank line. For HTTP/2 the equivalent head of HTTP/1.1;
    /// for ftp and gopher a synthesized one: `HTTP/1.0 200 OK` and a `Content-Type`.
    pub head: Vec<u8>,
    /// Body without its chunked coding, still in its content encoding.
    pub body: Vec<u8>,
    /// Memory of the body in the budget of the fetcher.
    pub reservation: BodyReservation,
    /// Reason why the body is incomplete.
    pub truncation: Option<Truncation>,
    /// Reason why there is no response, or no complete one.
    pub failure: Option<Reason>,
    /// Fault of this machine that caused the failure, which then says nothing about the site. A response with status 407 has one
    /// if a proxy may have sent it; over plain http it can be that of the site as well.
    pub local_fault: Option<LocalFault>,
    /// Whether no connection was opened and no packet of the server was received, not even a refusal.
    pub is_unreachable: bool,
    /// Address of the server. With a proxy this is the resolved address of the host, not that of the proxy.
    pub address: Option<IpAddr>,
    /// Protocols of the connection, one per layer, such as `http/1.1`, `tls/1.3`. Empty if no connection was opened.
    pub protocols: &'static [&'static str],
    /// Time from sending the request to the first byte.
    pub latency_ms: Option<u32>,
    /// Time from sending the request to the last byte.
    pub duration_ms: Option<u32>,
    /// Request as sent, except for secrets: without `Proxy-Authorization`, and with redacted values of headers from the settings
    /// that may be credentials. For HTTP/2 the equivalent head of HTTP/1.1. Empty if nothing was sent.
    pub request: Vec<u8>,
}

impl Response {
    pub(crate) fn from_failure(failure: impl Into<ConnectError>) -> Response {
        let ConnectError { reason, local_fault, is_unreachable } = failure.into();
        Response { failure: Some(reason), local_fault, is_unreachable, ..Response::default() }
    }
}
