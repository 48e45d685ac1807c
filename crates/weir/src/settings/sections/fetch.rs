//! HTTP requests: timeouts, size limits, MIME types, TLS, proxy.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::{HOUR, MINUTE, SECOND, strings};
use crate::settings::network_values::{BasicAuth, Header};
use crate::settings::section::section;
use crate::settings::value::{Size, Value, quoted};

section! {
    /// HTTP requests: timeouts, size limits, MIME types, TLS, proxy.
    "fetch", FetchSection {
        /// Timeout for the connection, including the TLS handshake.
        connect_timeout: Duration = 30 * SECOND, within SECOND..=HOUR, wire "harvester/timeout/connection";
        /// Timeout for the first byte of the response.
        first_byte_timeout: Duration = 30 * SECOND, within SECOND..=HOUR;
        /// Timeout for the whole response.
        total_timeout: Duration = 2 * MINUTE, within SECOND..=HOUR;
        /// Minimum transfer rate per second; a slower response is aborted.
        min_speed: Size = Size(200);
        /// Time at the start of a response in which min_speed is not checked.
        min_speed_grace: Duration = 20 * SECOND, within SECOND..=HOUR;
        /// Maximum body size; longer bodies are truncated and marked.
        max_body_size: Size = Size(10_000_000), within Size(1_000)..=Size(1 << 30), wire "harvester/maxfilesize";
        /// Maximum memory of all bodies that are being received or wait for the parser. Above it, further responses wait, and large bodies are truncated after 10 s.
        max_body_memory: Size = Size(512 << 20), within Size(1 << 20)..=Size(1 << 40);
        /// Maximum size of the response headers.
        max_header_size: Size = Size(64 << 10), within Size(1 << 10)..=Size(1 << 20);
        /// MIME types to store, such as "text/html" or "image/*"; other responses are aborted after the headers.
        mime_types: Vec<String> = strings(&[
            "text/html", "application/xhtml+xml", "text/plain", "application/rss+xml", "application/atom+xml",
            "application/rdf+xml", "application/xml", "text/xml",
        ]);
        /// Use HTTP/2 if the server offers it.
        http2: bool = true;
        /// Accept invalid TLS certificates.
        accept_invalid_certificates: bool = false;
        /// PEM file with additional CA certificates, relative to weir.toml.
        ca_file: FilePath = FilePath::default();
        /// HTTP proxy for all requests, `[user:password@]host:port`, such as "192.0.2.1:3128".
        proxy: Option<ProxyAddress> = None;
        /// Accept-Language header; empty = not sent.
        accept_language: String = String::new();
        /// Idle time after which a connection is closed.
        keep_alive: Duration = 5 * SECOND, within Duration::ZERO..=HOUR;
        /// Additional headers of every request, such as "X-Purpose: research".
        headers: Vec<Header> = Vec::new();
    }
}

/// Path of a file; empty = none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FilePath(pub(crate) PathBuf);

impl Value for FilePath {
    const KIND: &'static str = "file";

    fn read(written: &toml::Value) -> Result<FilePath, String> {
        let text = written.as_str();
        let invalid = || format!("invalid file name {}; write it in quotes", quoted(written));
        text.map(|text| FilePath(PathBuf::from(text))).ok_or_else(invalid)
    }

    fn write(&self) -> String {
        self.0.display().to_string().write()
    }
}

/// Address of a proxy, with optional credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProxyAddress {
    pub(crate) address: SocketAddr,
    pub(crate) basic_auth: Option<BasicAuth>,
}

impl Value for ProxyAddress {
    const KIND: &'static str = "proxy";

    fn read(written: &toml::Value) -> Result<ProxyAddress, String> {
        // The message does not quote the value, which may contain a password.
        let invalid =
            || "invalid proxy; examples: \"192.0.2.1:3128\", \"user:password@192.0.2.1:3128\"".to_owned();
        let text =
            written.as_str().ok_or_else(invalid)?.trim().trim_start_matches("http://").trim_end_matches('/');
        let (basic_auth, address) = match text.rsplit_once('@') {
            Some((credentials, address)) => {
                (Some(BasicAuth::parse(credentials).ok_or_else(invalid)?), address)
            }
            None => (None, text),
        };
        Ok(ProxyAddress { address: address.parse().map_err(|_| invalid())?, basic_auth })
    }

    fn write(&self) -> String {
        let credentials = self
            .basic_auth
            .as_ref()
            .map_or_else(String::new, |basic_auth| format!("{}:{}@", basic_auth.user, basic_auth.password));
        format!("{credentials}{}", self.address).write()
    }
}
