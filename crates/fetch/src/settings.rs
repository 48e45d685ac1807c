//! How does the crawler ask, what does it wait for, and how much does it take?

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::error::Error;
use crate::networks::Networks;

/// How a [`Fetcher`](crate::Fetcher) works; checked when one is made. The defaults are WIRE's where it has them.
#[derive(Debug, Clone)]
pub struct FetchSettings {
    /// `User-Agent`: product, version and a contact.
    pub agent: String,
    /// `From`: where to write to; empty sends none.
    pub from: String,
    /// `Accept-Language`; empty sends none.
    pub accept_language: String,
    /// The media types that are read, such as `text/html` or `text/*`. An answer that names none is read.
    pub media_types: Vec<String>,
    /// For a connection, with TLS and the way through a proxy.
    pub connect_timeout: Duration,
    /// From the request to the first byte of the answer.
    pub first_byte_timeout: Duration,
    /// For everything, from the first step of the connection to the last byte.
    pub total_timeout: Duration,
    /// An answer may not be slower than this on average, once `speed_grace` is over; 0 allows any.
    pub least_bytes_per_s: u32,
    /// From the first byte on, before the speed counts.
    pub speed_grace: Duration,
    /// The longest head that is read.
    pub head_bytes: usize,
    /// The longest body that is read of a page; what a job says counts.
    pub body_bytes: usize,
    /// Whether HTTP/2 is spoken where a server offers it over TLS.
    pub http2: bool,
    /// Whether a certificate that proves nothing is taken nevertheless.
    pub accept_bad_certificates: bool,
    /// Certificates of authorities that are trusted beside the usual ones, as PEM.
    pub extra_roots_pem: Vec<u8>,
    /// Which addresses may be asked.
    pub networks: Networks,
    /// Who is asked in place of the servers.
    pub proxy: Option<Proxy>,
}

impl Default for FetchSettings {
    fn default() -> FetchSettings {
        FetchSettings {
            agent: concat!("weir/", env!("CARGO_PKG_VERSION")).to_owned(),
            from: String::new(),
            accept_language: String::new(),
            media_types: ["text/html", "application/xhtml+xml", "text/plain"].map(str::to_owned).to_vec(),
            connect_timeout: Duration::from_secs(30),
            first_byte_timeout: Duration::from_secs(30),
            total_timeout: Duration::from_secs(120),
            least_bytes_per_s: 200,
            speed_grace: Duration::from_secs(20),
            head_bytes: 64 << 10,
            body_bytes: 400_000,
            http2: true,
            accept_bad_certificates: false,
            extra_roots_pem: Vec::new(),
            networks: Networks::public(),
            proxy: None,
        }
    }
}

impl FetchSettings {
    /// Whether `agent` tells who asks: a product with its version, and a URL or a mail address. To be demanded before
    /// servers of others are asked.
    pub fn check_identity(&self) -> Result<(), Error> {
        let is_product = |word: &str| {
            word.split_once('/').is_some_and(|(name, version)| {
                name.starts_with(|c: char| c.is_ascii_alphabetic())
                    && version.starts_with(|c: char| c.is_ascii_digit())
            })
        };
        let has_product = self.agent.split(' ').next().is_some_and(is_product);
        let has_contact = ["http://", "https://", "@"].iter().any(|sign| self.agent.contains(sign));
        if has_product && has_contact { Ok(()) } else { Err(Error::Unidentified(self.agent.clone())) }
    }
}

/// An HTTP proxy. Its own address may lie in a blocked network; the addresses of hosts may not.
#[derive(Debug, Clone)]
pub struct Proxy {
    /// Where it is.
    pub address: SocketAddr,
    /// Who we are to it.
    pub credentials: Option<Credentials>,
}

/// A name and a password, sent as they are.
#[derive(Clone)]
pub struct Credentials {
    /// The name; it has no colon.
    pub user: String,
    /// The password.
    pub password: String,
}

/// The password stays out of logs.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

/// How names are resolved.
#[derive(Debug, Clone)]
pub struct DnsSettings {
    /// The name servers to ask, by UDP and where that does not do by TCP. Empty: what the system asks, after its hosts
    /// file.
    pub name_servers: Vec<SocketAddr>,
    /// Names whose address is known; nobody is asked for them.
    pub hosts: HashMap<String, IpAddr>,
    /// For one question to one server.
    pub timeout: Duration,
    /// How often a question is asked.
    pub attempts: usize,
    /// An address is remembered for at least this time, whatever its server says.
    pub least_ttl: Duration,
    /// An address is remembered for at most this time.
    pub most_ttl: Duration,
    /// That a name does not exist, or that nobody could tell, is remembered for at most this time.
    pub failure_ttl: Duration,
    /// How many names are remembered.
    pub cache_entries: usize,
}

impl Default for DnsSettings {
    fn default() -> DnsSettings {
        DnsSettings {
            name_servers: Vec::new(),
            hosts: HashMap::new(),
            timeout: Duration::from_secs(5),
            attempts: 2,
            least_ttl: Duration::from_secs(600),
            most_ttl: Duration::from_secs(86_400),
            failure_ttl: Duration::from_secs(600),
            cache_entries: 200_000,
        }
    }
}
