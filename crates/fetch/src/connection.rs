//! Who is at the other end, and can they be asked again?

use std::net::IpAddr;

use crate::http2::Http2;
use crate::stream::{Security, Stream};

/// A connection to one site at one address, kept by the caller between requests. Dropping it closes it.
#[derive(Debug)]
pub struct Connection {
    pub(crate) site: String,
    pub(crate) address: IpAddr,
    pub(crate) security: Security,
    pub(crate) transport: Transport,
}

/// What is spoken over it.
#[derive(Debug)]
pub(crate) enum Transport {
    Http1(Stream),
    Http2(Box<Http2>),
}

impl Connection {
    /// The site it belongs to: scheme, host and port.
    pub fn site(&self) -> &str {
        &self.site
    }

    /// The address it leads to.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Whether this site at this address can be asked over it, as far as anybody can know.
    pub(crate) fn serves(&mut self, site: &str, address: IpAddr) -> bool {
        let is_quiet = match &mut self.transport {
            Transport::Http1(stream) => stream.is_quiet(),
            Transport::Http2(http2) => http2.is_open(),
        };
        is_quiet && self.site == site && self.address == address
    }

    /// What is spoken, by the name of each layer.
    pub(crate) fn protocols(&self, is_1_1: bool) -> &'static [&'static str] {
        match (&self.transport, self.security, is_1_1) {
            (Transport::Http2(_), Security::Tls12, _) => &["h2", "tls/1.2"],
            (Transport::Http2(_), _, _) => &["h2", "tls/1.3"],
            (Transport::Http1(_), Security::None, true) => &["http/1.1"],
            (Transport::Http1(_), Security::None, false) => &["http/1.0"],
            (Transport::Http1(_), Security::Tls12, true) => &["http/1.1", "tls/1.2"],
            (Transport::Http1(_), Security::Tls12, false) => &["http/1.0", "tls/1.2"],
            (Transport::Http1(_), Security::Tls13, true) => &["http/1.1", "tls/1.3"],
            (Transport::Http1(_), Security::Tls13, false) => &["http/1.0", "tls/1.3"],
        }
    }
}
