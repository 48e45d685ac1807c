//! What can go wrong before the synthetic Web runs: settings that cannot be, and addresses that cannot be had.

use std::io;
use std::net::SocketAddr;

/// A setting that cannot be used; the sentence says what to do instead.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// No such name.
    #[error("no setting is called `{name}`; did you mean `{nearest}`?")]
    Unknown {
        /// The name that was given.
        name: String,
        /// The known name most like it.
        nearest: &'static str,
    },
    /// The value is of the wrong kind or out of bounds.
    #[error("`{name}` cannot be {value}: it takes {wanted}")]
    BadValue {
        /// Which setting.
        name: String,
        /// The value that was given.
        value: String,
        /// What would be taken.
        wanted: String,
    },
    /// `--set name` without `=value`.
    #[error("`{0}` sets nothing: write name=value")]
    NoValue(String),
    /// The settings cannot be read as TOML.
    #[error("line {line} is not TOML: {what}")]
    NotToml {
        /// Where, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// Two settings that exclude each other.
    #[error("{0}")]
    Contradiction(String),
}

impl SettingsError {
    pub(crate) fn unknown(name: &str, known: &[&'static str]) -> SettingsError {
        let nearest =
            known.iter().copied().min_by_key(|candidate| edit_distance(name, candidate)).unwrap_or("seed");
        SettingsError::Unknown { name: name.chars().take(100).collect(), nearest }
    }
}

/// Why the synthetic Web does not run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A socket could not be bound.
    #[error("cannot listen on {address} for {service}: {source}")]
    Listen {
        /// `http`, `https` or `dns`.
        service: &'static str,
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The address is open to others than this machine, or not of IPv4.
    #[error(
        "cannot serve on {0}: the synthetic Web lives on loopback addresses of IPv4 only (use 127.0.0.1)"
    )]
    NotLoopback(SocketAddr),
    /// The settings cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The certificate authority could not be made.
    #[error("cannot make the certificate authority: {0}")]
    Authority(#[from] rcgen::Error),
    /// Rejected by the TLS library.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// A file or thread could not be made.
    #[error("cannot {what}: {source}")]
    System {
        /// The operation.
        what: String,
        /// What the system said.
        source: io::Error,
    },
}

/// Levenshtein's distance, for the nearest known name.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().take(100).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}
