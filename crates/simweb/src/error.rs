//! Errors of settings and of the start of the server.

use std::io;
use std::net::SocketAddr;

/// Invalid setting; the message contains a hint.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// Unknown name.
    #[error("unknown setting `{name}`; did you mean `{nearest}`?")]
    Unknown {
        /// The given name.
        name: String,
        /// The most similar known name.
        nearest: &'static str,
    },
    /// Invalid value.
    #[error("invalid value {value} of `{name}`: expected {expected}")]
    InvalidValue {
        /// Name of the setting.
        name: String,
        /// The given value.
        value: String,
        /// Description of valid values.
        expected: String,
    },
    /// `--set name` without `=value`.
    #[error("missing value in `{0}`; write name=value")]
    MissingValue(String),
    /// Invalid TOML.
    #[error("invalid TOML in line {line}: {error}")]
    InvalidToml {
        /// Line number, from 1.
        line: usize,
        /// Error of the TOML parser.
        error: String,
    },
    /// Contradicting settings.
    #[error("{0}")]
    Contradiction(String),
}

impl SettingsError {
    pub(crate) fn unknown(name: &str, known: &[&'static str]) -> SettingsError {
        let nearest = known
            .iter()
            .copied()
            .min_by_key(|candidate| strsim::levenshtein(name, candidate))
            .unwrap_or("seed");
        SettingsError::Unknown { name: name.chars().take(100).collect(), nearest }
    }
}

/// Error of the start of a synthetic Web.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A socket cannot be bound.
    #[error("cannot listen on {address} for {service}: {source}")]
    Listen {
        /// `http`, `https` or `dns`.
        service: &'static str,
        /// The requested address.
        address: SocketAddr,
        /// Error of the system.
        source: io::Error,
    },
    /// The address is not an IPv4 loopback address.
    #[error("cannot serve on {0}: not an IPv4 loopback address (use 127.0.0.1)")]
    NotLoopback(SocketAddr),
    /// Invalid settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The certificate authority cannot be created.
    #[error("cannot create the certificate authority: {0}")]
    Authority(#[from] rcgen::Error),
    /// Error of the TLS library.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// A file or thread cannot be created.
    #[error("cannot {operation}: {source}")]
    System {
        /// The operation.
        operation: String,
        /// Error of the system.
        source: io::Error,
    },
}
