//! How is the server asked without others listening? Over TLS, with a certificate and its key.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{DEFAULT_VERSIONS, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::error::{Error, Result};

/// A certificate with its key.
#[derive(Clone)]
pub struct Tls(Arc<ServerConfig>);

impl Tls {
    /// Reads them from files in PEM: the server's certificate first, then those that lead to its authority.
    pub fn read(certificate: &Path, key: &Path) -> Result<Tls> {
        let wrong = |path: &Path, what: &dyn fmt::Display| Error::Certificate {
            path: path.to_owned(),
            what: what.to_string(),
        };
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>);
        let chain = chain.map_err(|error| wrong(certificate, &error))?;
        if chain.is_empty() {
            return Err(wrong(certificate, &"it has no certificate (`-----BEGIN CERTIFICATE-----`)"));
        }
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(DEFAULT_VERSIONS)
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
            .map_err(|error| wrong(key, &error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls(Arc::new(config)))
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.0))
    }
}

/// Never the key.
impl fmt::Debug for Tls {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Tls(..)")
    }
}
