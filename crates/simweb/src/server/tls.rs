//! Certificate authority, created at each start; it issues the certificate of a name at its first use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::error::StartError;
use crate::world::kinds::Certificate;
use crate::world::synthetic_web::{LOCALHOST, World};

/// Maximum number of cached certificates; beyond it the cache is cleared.
const MAX_CACHED_CERTIFICATES: usize = 4096;

/// Certificate authority of a synthetic Web.
pub(crate) struct CertificateAuthority {
    issuer: Issuer<'static, KeyPair>,
    /// Key of all sites, shared because generating a key takes longer than signing.
    site_key: KeyPair,
    world: Arc<World>,
    cache: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

impl std::fmt::Debug for CertificateAuthority {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("CertificateAuthority").finish_non_exhaustive()
    }
}

impl CertificateAuthority {
    /// Creates an authority; also returns its certificate as PEM.
    pub(crate) fn new(world: Arc<World>) -> Result<(CertificateAuthority, String), StartError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "simweb authority");
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2049, 1, 1);
        let pem = params.self_signed(&key)?.pem();
        let site_key = KeyPair::generate()?;
        let authority = CertificateAuthority {
            issuer: Issuer::new(params, key),
            site_key,
            world,
            cache: Mutex::default(),
        };
        Ok((authority, pem))
    }

    /// Returns the TLS configuration of the server, with HTTP/2 by ALPN.
    pub(crate) fn server_config(self) -> Result<ServerConfig, StartError> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(self));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    fn certificate(&self, name: &str) -> Option<Arc<CertifiedKey>> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = cache.get(name) {
            return Some(Arc::clone(known));
        }
        let new = Arc::new(self.issue(name)?);
        if cache.len() >= MAX_CACHED_CERTIFICATES {
            cache.clear();
        }
        cache.insert(name.to_owned(), Arc::clone(&new));
        Some(new)
    }

    /// Issues a certificate; `None` if the name is not a site, so that the handshake fails.
    fn issue(&self, name: &str) -> Option<CertifiedKey> {
        let quality = match name.strip_suffix(LOCALHOST).unwrap_or(name) {
            "localhost" => Certificate::Good,
            site => self.world.site(self.world.site_by_name(site)?).certificate,
        };
        let host = if quality == Certificate::WrongName { "elsewhere.test" } else { name };
        let mut params = CertificateParams::new(vec![host.to_owned()]).ok()?;
        params.distinguished_name.push(DnType::CommonName, host);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(if quality == Certificate::Expired { 2021 } else { 2049 }, 1, 1);
        let signed = match quality {
            Certificate::SelfSigned => params.self_signed(&self.site_key),
            _ => params.signed_by(&self.site_key, &self.issuer),
        };
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.site_key.serialize_der()));
        let key = ring::sign::any_supported_type(&key).ok()?;
        Some(CertifiedKey::new(vec![signed.ok()?.der().clone()], key))
    }
}

impl ResolvesServerCert for CertificateAuthority {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        // Clients without SNI (they connect to an IP address) get a certificate for localhost.
        self.certificate(hello.server_name().unwrap_or("localhost"))
    }
}
