//! Who may come into a server, and how? By a token, over TLS: what the command line says of it.

use std::fs;
use std::path::{Path, PathBuf};

use web::{Tls, Token};

use crate::failure::WrongUse;

/// Who may come in, and how.
#[derive(clap::Args)]
pub(crate) struct DoorArgs {
    /// A file with the token that everybody must know who asks; needed to listen for other machines.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// A file with a certificate, and those that lead to its authority (PEM): to be asked over TLS.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// A file with the key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// What a server is to know before it lets anybody in.
#[derive(Default)]
pub(crate) struct Door {
    pub(crate) token: Option<Token>,
    pub(crate) tls: Option<Tls>,
    /// What TLS was made of: the certificate and its key.
    #[cfg(feature = "flight")]
    pub(crate) tls_pem: Option<(Vec<u8>, Vec<u8>)>,
}

impl DoorArgs {
    pub(crate) fn read(&self) -> anyhow::Result<Door> {
        let token = self.token_file.as_deref().map(read_token).transpose()?;
        let files = self.tls_cert.as_deref().zip(self.tls_key.as_deref());
        let tls = files.map(|(certificate, key)| Tls::read(certificate, key)).transpose()?;
        Ok(Door {
            token,
            tls,
            #[cfg(feature = "flight")]
            tls_pem: files
                .map(|(certificate, key)| Ok((fs::read(certificate)?, fs::read(key)?)))
                .transpose()
                .map_err(|error: std::io::Error| {
                    WrongUse(format!("the certificate cannot be read: {error}"))
                })?,
        })
    }

    /// What was given of it, for who serves nothing.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let files = [("--token-file", &self.token_file), ("--tls-cert", &self.tls_cert)];
        files.into_iter().find_map(|(name, file)| file.as_ref().map(|_| name))
    }
}

/// The token in a file.
fn read_token(file: &Path) -> anyhow::Result<Token> {
    let text = fs::read_to_string(file)
        .map_err(|error| WrongUse(format!("--token-file: cannot read {}: {error}", file.display())))?;
    Ok(Token::new(&text)?)
}
