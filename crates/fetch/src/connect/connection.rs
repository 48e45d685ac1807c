//! Open connection that can be used for several requests to one site.

use std::net::IpAddr;

use crate::http::http2::Http2;
use crate::tls_stream::{MaybeTlsStream, TlsVersion};

/// Open connection to one site at one address, held by the caller between requests. Dropping it closes it.
#[derive(Debug)]
pub struct Connection {
    pub(crate) site: String,
    pub(crate) address: IpAddr,
    pub(crate) tls_version: TlsVersion,
    pub(crate) http: HttpVersion,
}

/// HTTP version of a connection, with its stream.
#[derive(Debug)]
pub(crate) enum HttpVersion {
    Http1(MaybeTlsStream),
    Http2(Box<Http2>),
}

impl Connection {
    /// Site of the connection: scheme, host and port.
    pub fn site(&self) -> &str {
        &self.site
    }

    /// Address of the server.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Whether a request to this site and address can be sent over it. The server may still close it at any time.
    pub(crate) fn can_reuse_for(&mut self, site: &str, address: IpAddr) -> bool {
        let is_idle = match &mut self.http {
            HttpVersion::Http1(stream) => stream.is_idle(),
            HttpVersion::Http2(http2) => http2.is_open(),
        };
        is_idle && self.site == site && self.address == address
    }

    /// Names of the protocols, one per layer.
    pub(crate) fn protocols(&self, is_http11: bool) -> &'static [&'static str] {
        match (&self.http, self.tls_version, is_http11) {
            (HttpVersion::Http2(_), TlsVersion::Tls12, _) => &["h2", "tls/1.2"],
            (HttpVersion::Http2(_), _, _) => &["h2", "tls/1.3"],
            (HttpVersion::Http1(_), TlsVersion::None, true) => &["http/1.1"],
            (HttpVersion::Http1(_), TlsVersion::None, false) => &["http/1.0"],
            (HttpVersion::Http1(_), TlsVersion::Tls12, true) => &["http/1.1", "tls/1.2"],
            (HttpVersion::Http1(_), TlsVersion::Tls12, false) => &["http/1.0", "tls/1.2"],
            (HttpVersion::Http1(_), TlsVersion::Tls13, true) => &["http/1.1", "tls/1.3"],
            (HttpVersion::Http1(_), TlsVersion::Tls13, false) => &["http/1.0", "tls/1.3"],
        }
    }
}
