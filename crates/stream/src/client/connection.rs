//! Connections of the client: TCP, with TLS for `https://`.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// Address of a server, and its TLS configuration.
pub(super) struct Endpoint {
    address: String,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

/// Open connection.
pub(super) enum Connection {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Endpoint {
    /// Endpoint without TLS.
    pub(super) fn tcp(host: &str, port: u16) -> Endpoint {
        Endpoint { address: format!("{host}:{port}"), tls: None }
    }

    /// Endpoint with TLS, verified against the public CA certificates and the additional ones in `ca_pem`.
    pub(super) fn with_tls(host: &str, port: u16, ca_pem: &[u8]) -> Result<Endpoint, String> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        for certificate in CertificateDer::pem_slice_iter(ca_pem) {
            let certificate = certificate.map_err(|error| error.to_string())?;
            roots.add(certificate).map_err(|error| error.to_string())?;
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(name).map_err(|error| error.to_string())?;
        Ok(Endpoint { address: format!("{host}:{port}"), tls: Some((Arc::new(config), name)) })
    }

    /// Connects to the first address that accepts; `timeout` limits connecting and each read and write.
    pub(super) fn connect(&self, timeout: Duration) -> io::Result<Connection> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "host has no address");
        for address in self.address.to_socket_addrs()? {
            let connected = TcpStream::connect_timeout(&address, timeout).and_then(|connection| {
                connection.set_read_timeout(Some(timeout))?;
                connection.set_write_timeout(Some(timeout))?;
                Ok(connection)
            });
            match connected {
                Ok(connection) => return self.wrap_tls(connection),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn wrap_tls(&self, connection: TcpStream) -> io::Result<Connection> {
        let Some((config, name)) = &self.tls else { return Ok(Connection::Plain(connection)) };
        let session = ClientConnection::new(Arc::clone(config), name.clone()).map_err(io::Error::other)?;
        Ok(Connection::Tls(Box::new(StreamOwned::new(session, connection))))
    }
}

/// Message of a certificate error, if that is the cause of the I/O error.
pub(super) fn certificate_error(error: &io::Error) -> Option<String> {
    match error.get_ref()?.downcast_ref::<rustls::Error>()? {
        error @ (rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => {
            Some(error.to_string())
        }
        _ => None,
    }
}

impl Read for Connection {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Connection::Plain(connection) => connection.read(out),
            Connection::Tls(connection) => connection.read(out),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Connection::Plain(connection) => connection.write(bytes),
            Connection::Tls(connection) => connection.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Connection::Plain(connection) => connection.flush(),
            Connection::Tls(connection) => connection.flush(),
        }
    }
}
