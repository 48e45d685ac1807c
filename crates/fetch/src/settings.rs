//! Settings of the fetcher: identification, timeouts, size limits, TLS, proxy.

use std::net::SocketAddr;
use std::time::Duration;

use model::PortFilter;

use crate::address::network_filter::NetworkFilter;
use crate::error::Error;

/// Settings of a [`Fetcher`](crate::Fetcher), checked by [`Fetcher::new`](crate::Fetcher::new). Defaults are those of
/// WIRE where WIRE has the setting.
#[derive(Debug, Clone)]
pub struct FetchSettings {
    /// `User-Agent` header: product, version and contact.
    pub user_agent: String,
    /// `From` header, an e-mail address; empty = not sent.
    pub from: String,
    /// `Accept-Language` header; empty = not sent.
    pub accept_language: String,
    /// MIME types whose body is read, such as `text/html` or `text/*`. A response without `Content-Type` is read.
    pub mime_types: Vec<String>,
    /// Timeout for opening a connection, including the TLS handshake and the proxy tunnel.
    pub connect_timeout: Duration,
    /// Timeout from sending the request to the first byte of the response.
    pub first_byte_timeout: Duration,
    /// Timeout for the whole exchange, from opening the connection to the last byte.
    pub total_timeout: Duration,
    /// Minimum mean transfer rate after `min_speed_grace`; 0 = no minimum.
    pub min_bytes_per_s: u32,
    /// Time after the first byte during which the transfer rate is not checked.
    pub min_speed_grace: Duration,
    /// Maximum size of a response head.
    pub max_head_bytes: usize,
    /// Maximum size of a page's body. A default for callers: the fetcher applies the limit of each request.
    pub max_body_bytes: usize,
    /// Maximum memory of all bodies in flight: received or being received, and not yet dropped by the caller. Further
    /// responses wait after their head; those that hold memory and wait for more are truncated after a while. Fetchers share
    /// it with [`Fetcher::with_body_budget`](crate::Fetcher::with_body_budget).
    pub max_body_memory_bytes: usize,
    /// Whether HTTP/2 is used if the server offers it in the TLS handshake (ALPN).
    pub http2: bool,
    /// Whether invalid TLS certificates are accepted.
    pub accept_invalid_certificates: bool,
    /// Additional CA certificates, in PEM.
    pub extra_ca_pem: Vec<u8>,
    /// Addresses that may be contacted.
    pub network_filter: NetworkFilter,
    /// Ports that may be contacted.
    pub port_filter: PortFilter,
    /// HTTP proxy for all requests.
    pub proxy: Option<Proxy>,
}

impl Default for FetchSettings {
    fn default() -> FetchSettings {
        FetchSettings {
            user_agent: concat!("weir/", env!("CARGO_PKG_VERSION")).to_owned(),
            from: String::new(),
            accept_language: String::new(),
            mime_types: [
                "text/html",
                "application/xhtml+xml",
                "text/plain",
                "application/rss+xml",
                "application/atom+xml",
                "application/rdf+xml",
                "application/xml",
                "text/xml",
            ]
            .map(str::to_owned)
            .to_vec(),
            connect_timeout: Duration::from_secs(30),
            first_byte_timeout: Duration::from_secs(30),
            total_timeout: Duration::from_secs(120),
            min_bytes_per_s: 200,
            min_speed_grace: Duration::from_secs(20),
            max_head_bytes: 64 << 10,
            max_body_bytes: 10_000_000,
            max_body_memory_bytes: 512 << 20,
            http2: true,
            accept_invalid_certificates: false,
            extra_ca_pem: Vec::new(),
            network_filter: NetworkFilter::public(),
            port_filter: PortFilter::default(),
            proxy: None,
        }
    }
}

impl FetchSettings {
    /// Checks that `user_agent` has a product with its version, and a URL or e-mail address as contact. Callers must
    /// check this before they contact servers on the Internet.
    pub fn check_user_agent(&self) -> Result<(), Error> {
        let is_product = |word: &str| {
            word.split_once('/').is_some_and(|(name, version)| {
                name.starts_with(|c: char| c.is_ascii_alphabetic())
                    && version.starts_with(|c: char| c.is_ascii_digit())
            })
        };
        let has_product = self.user_agent.split(' ').next().is_some_and(is_product);
        let has_contact = ["http://", "https://", "@"].iter().any(|mark| self.user_agent.contains(mark));
        if has_product && has_contact { Ok(()) } else { Err(Error::MissingContact(self.user_agent.clone())) }
    }
}

/// HTTP proxy. Its own address may be in a blocked network; the addresses of the requested hosts may not.
#[derive(Debug, Clone)]
pub struct Proxy {
    /// IP address and port.
    pub address: SocketAddr,
    /// Credentials for the proxy.
    pub credentials: Option<BasicCredentials>,
}

/// User name and password for HTTP Basic authentication; sent unencrypted except over TLS.
#[derive(Clone)]
pub struct BasicCredentials {
    /// User name, without colons.
    pub user: String,
    /// Password.
    pub password: String,
}

// The password must not appear in logs.
impl std::fmt::Debug for BasicCredentials {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}
