//! What can be wrong before anything was asked? Settings; what servers do wrong is an outcome, not an error.

/// Settings that cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A text that would break the request apart, or that is empty.
    #[error("{what} cannot be sent: {why}")]
    BadText {
        /// Which setting.
        what: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A header line that belongs to the protocol.
    #[error("the header {0} is made by the crawler itself and cannot be set")]
    OwnHeader(String),
    /// Not a network.
    #[error("not a network such as 10.0.0.0/8: {0}")]
    BadNetwork(String),
    /// The name that the crawler gives does not tell whom to write to.
    #[error(
        "the agent {0:?} must name a product, its version and a contact, such as: example/1.0 (+https://example.org/bot)"
    )]
    Unidentified(String),
    /// Certificates of authorities that cannot be read.
    #[error("cannot read the certificates of the authorities: {0}")]
    Authorities(String),
    /// TLS cannot be set up.
    #[error("cannot set up TLS")]
    Tls(#[source] rustls::Error),
    /// Names cannot be resolved.
    #[error("cannot set up the resolver: {0}")]
    Resolver(String),
}
