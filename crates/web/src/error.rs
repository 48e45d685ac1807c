//! Why can a server not begin?

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What went wrong before anybody was answered; what goes wrong later is an answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// Others than this machine could ask, and nobody would have to say who they are.
    #[error(
        "{address} can be reached from other machines: give a token with --token-file, or listen on 127.0.0.1"
    )]
    NoToken {
        /// The address.
        address: SocketAddr,
    },
    /// A token that could be guessed.
    #[error("a token needs at least {least} characters, all of them visible ASCII; this one is no such")]
    WeakToken {
        /// So many.
        least: usize,
    },
    /// A certificate or its key cannot be used.
    #[error("cannot use {} for TLS: {what}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// Why not.
        what: String,
    },
    /// The system has no thread or no random numbers for it.
    #[error("cannot start the server: {source}")]
    Start {
        /// Why not.
        source: io::Error,
    },
    /// The collection cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// What a server says before it begins.
pub type Result<T> = std::result::Result<T, Error>;
