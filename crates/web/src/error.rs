//! Errors of starting the server. Errors of single requests are [`ApiError`](crate::state::api_error::ApiError).

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Error that prevents the server from starting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The listener cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The server would be reachable from other machines without authentication.
    #[error("cannot listen on {address} without a token: set --token-file, or listen on 127.0.0.1")]
    NoToken {
        /// The address.
        address: SocketAddr,
    },
    /// The token is too short or has characters that cannot be sent in a header.
    #[error("invalid token: at least {min_characters} characters of visible ASCII are required")]
    WeakToken {
        /// Minimum length.
        min_characters: usize,
    },
    /// A certificate or private key cannot be used.
    #[error("cannot use {} for TLS: {reason}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// The error of the TLS library.
        reason: String,
    },
    /// No thread or no random numbers are available.
    #[error("cannot start the server: {source}")]
    Start {
        /// The error of the operating system.
        source: io::Error,
    },
    /// The collection cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Result of starting a server.
pub type Result<T> = std::result::Result<T, Error>;
