//! Access control of a server: options for its token and TLS certificate.

use std::fs;
use std::path::{Path, PathBuf};

use web::{Tls, Token};

use crate::exit::UsageError;

/// Options for access token and TLS.
#[derive(clap::Args)]
pub(crate) struct ServerAuthArgs {
    /// File with the access token that clients must send; required when listening off loopback.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Certificate chain (PEM) to serve HTTPS.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// Private key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// Token and TLS configuration of a server.
#[derive(Default)]
pub(crate) struct ServerAuth {
    pub(crate) token: Option<Token>,
    pub(crate) tls: Option<Tls>,
    /// PEM text of the certificate chain and of its key.
    #[cfg(feature = "flight")]
    pub(crate) tls_pem: Option<(Vec<u8>, Vec<u8>)>,
}

impl ServerAuthArgs {
    pub(crate) fn read(&self) -> anyhow::Result<ServerAuth> {
        let token = self.token_file.as_deref().map(read_token).transpose()?;
        let files = self.tls_cert.as_deref().zip(self.tls_key.as_deref());
        let tls = files.map(|(certificate, key)| Tls::read(certificate, key)).transpose()?;
        Ok(ServerAuth {
            token,
            tls,
            #[cfg(feature = "flight")]
            tls_pem: files
                .map(|(certificate, key)| Ok((fs::read(certificate)?, fs::read(key)?)))
                .transpose()
                .map_err(|error: std::io::Error| {
                    UsageError(format!("cannot read the certificate: {error}"))
                })?,
        })
    }

    /// The first option that was given; an error without `--serve`.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        let files = [("--token-file", &self.token_file), ("--tls-cert", &self.tls_cert)];
        files.into_iter().find_map(|(name, file)| file.as_ref().map(|_| name))
    }
}

/// Reads the token of a file.
fn read_token(file: &Path) -> anyhow::Result<Token> {
    let text = fs::read_to_string(file)
        .map_err(|error| UsageError(format!("--token-file: cannot read {}: {error}", file.display())))?;
    Ok(Token::new(&text)?)
}
