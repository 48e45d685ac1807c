//! Errors of this crate: invalid settings. A fault of a server is an outcome of a request, not an error.

/// Invalid settings.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value that cannot be sent in a header, such as one with a line break.
    #[error("cannot send {name} in a request: {problem}")]
    InvalidValue {
        /// Setting or header that has the value.
        name: String,
        /// Problem with the value.
        problem: &'static str,
    },
    /// A header that the HTTP client sets itself.
    #[error("cannot set the header {0}: the crawler sets it itself")]
    ReservedHeader(String),
    /// Text that is not a network in CIDR notation.
    #[error("cannot parse the network `{0}`: expected an address or a prefix such as 10.0.0.0/8")]
    InvalidNetwork(String),
    /// A `User-Agent` without product, version or contact.
    #[error(
        "User-Agent {0:?} needs a product, a version and a contact, such as: example/1.0 (+https://example.org/bot)"
    )]
    MissingContact(String),
    /// CA certificates that cannot be parsed.
    #[error("cannot read the CA certificates: {0}")]
    CaCertificates(String),
    /// TLS cannot be configured.
    #[error("cannot configure TLS")]
    Tls(#[source] rustls::Error),
    /// The DNS client cannot be configured.
    #[error("cannot configure the DNS resolver: {0}")]
    Resolver(String),
}
