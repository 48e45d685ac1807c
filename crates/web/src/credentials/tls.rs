//! TLS configuration of the server: certificate chain and private key.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{DEFAULT_VERSIONS, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::error::{Error, Result};

/// Certificate chain with its private key.
#[derive(Clone)]
pub struct Tls(Arc<ServerConfig>);

impl Tls {
    /// Reads PEM files: the certificate of the server first, followed by intermediate certificates, and the private key.
    pub fn read(certificate: &Path, key: &Path) -> Result<Tls> {
        let invalid = |path: &Path, reason: &dyn fmt::Display| Error::Certificate {
            path: path.to_owned(),
            reason: reason.to_string(),
        };
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>);
        let chain = chain.map_err(|error| invalid(certificate, &error))?;
        if chain.is_empty() {
            return Err(invalid(certificate, &"no certificate found (`-----BEGIN CERTIFICATE-----`)"));
        }
        let private_key = PrivateKeyDer::from_pem_file(key).map_err(|error| invalid(key, &error))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(DEFAULT_VERSIONS)
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private_key))
            .map_err(|error| invalid(key, &error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls(Arc::new(config)))
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.0))
    }
}

/// Omits the key, since the output may end in a log.
impl fmt::Debug for Tls {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Tls(..)")
    }
}
