//! Who vouches for a site? An authority made at each start, which signs a certificate for a name when a client first
//! asks for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::error::StartError;
use crate::site::Certificate;
use crate::world::{LOCALHOST, World};

/// Certificates kept; beyond that all are forgotten and made anew when asked for.
const CACHE_LIMIT: usize = 4096;

/// The certificate authority of a synthetic Web.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// All sites share one key: making one takes longer than signing.
    site_key: KeyPair,
    world: Arc<World>,
    made: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Authority {
    /// A new authority, and its certificate as PEM.
    pub(crate) fn new(world: Arc<World>) -> Result<(Authority, String), StartError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "simweb authority");
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2049, 1, 1);
        let pem = params.self_signed(&key)?.pem();
        let site_key = KeyPair::generate()?;
        let authority =
            Authority { issuer: Issuer::new(params, key), site_key, world, made: Mutex::default() };
        Ok((authority, pem))
    }

    /// TLS as a site's server does it: HTTP/2 if the client can.
    pub(crate) fn server_config(self) -> Result<ServerConfig, StartError> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(self));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    fn certificate(&self, name: &str) -> Option<Arc<CertifiedKey>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = made.get(name) {
            return Some(Arc::clone(known));
        }
        let new = Arc::new(self.make(name)?);
        if made.len() >= CACHE_LIMIT {
            made.clear();
        }
        made.insert(name.to_owned(), Arc::clone(&new));
        Some(new)
    }

    /// `None` for names of no site: the handshake fails.
    fn make(&self, name: &str) -> Option<CertifiedKey> {
        let quality = match name.strip_suffix(LOCALHOST).unwrap_or(name) {
            "localhost" => Certificate::Good,
            site => self.world.site(self.world.site_by_name(site)?).certificate,
        };
        let written = if quality == Certificate::WrongName { "elsewhere.test" } else { name };
        let mut params = CertificateParams::new(vec![written.to_owned()]).ok()?;
        params.distinguished_name.push(DnType::CommonName, written);
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

impl ResolvesServerCert for Authority {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        // A client that names nobody (it was given a bare address) gets one for localhost.
        self.certificate(hello.server_name().unwrap_or("localhost"))
    }
}
