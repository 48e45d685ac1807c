//! TLS configuration: trusted CA certificates, ALPN, and the reasons of failed handshakes.
//!
//! The CA certificates of Mozilla are compiled in, so that a crawl trusts the same servers on every machine; the
//! settings can add others.

use std::io;
use std::sync::Arc;

use model::Reason;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::error::Error;
use crate::settings::FetchSettings;

/// TLS configuration for these settings.
pub(crate) fn client_config(settings: &FetchSettings) -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(Error::Tls)?;
    let mut config = if settings.accept_invalid_certificates {
        let verifier = Arc::new(AcceptAnyCert(provider));
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
    } else {
        builder.with_root_certificates(root_store(&settings.extra_ca_pem)?).with_no_client_auth()
    };
    let protocols: &[&[u8]] = if settings.http2 { &[b"h2", b"http/1.1"] } else { &[b"http/1.1"] };
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(config)
}

/// Reason of a failed handshake.
pub(crate) fn handshake_failure(error: &io::Error) -> Reason {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => {
            Reason::InvalidCertificate
        }
        _ => Reason::TlsHandshakeFailed,
    }
}

fn root_store(extra_pem: &[u8]) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for certificate in CertificateDer::pem_slice_iter(extra_pem) {
        let certificate = certificate.map_err(|error| Error::CaCertificates(error.to_string()))?;
        roots.add(certificate).map_err(|error| Error::CaCertificates(error.to_string()))?;
    }
    Ok(roots)
}

/// Accepts every certificate, but still verifies that the server has its private key.
#[derive(Debug)]
struct AcceptAnyCert(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyCert {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
