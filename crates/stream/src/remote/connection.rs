//! How is another machine reached? Over TCP, and for `https://` with TLS on top.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// Where a server is, and how it is spoken to.
pub(super) struct Line {
    address: String,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

/// A connection with it.
pub(super) enum Connection {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Line {
    /// In clear text.
    pub(super) fn plain(host: &str, port: u16) -> Line {
        Line { address: format!("{host}:{port}"), tls: None }
    }

    /// With a server that one of the authorities knows: those of the Web, and these.
    pub(super) fn secure(host: &str, port: u16, authorities_pem: &[u8]) -> Result<Line, String> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        for certificate in CertificateDer::pem_slice_iter(authorities_pem) {
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
        Ok(Line { address: format!("{host}:{port}"), tls: Some((Arc::new(config), name)) })
    }

    /// Connects; nothing may take longer than `silence`.
    pub(super) fn connect(&self, silence: Duration) -> io::Result<Connection> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in self.address.to_socket_addrs()? {
            let connected = TcpStream::connect_timeout(&address, silence).and_then(|connection| {
                connection.set_read_timeout(Some(silence))?;
                connection.set_write_timeout(Some(silence))?;
                Ok(connection)
            });
            match connected {
                Ok(connection) => return self.secured(connection),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn secured(&self, connection: TcpStream) -> io::Result<Connection> {
        let Some((config, name)) = &self.tls else { return Ok(Connection::Plain(connection)) };
        let session = ClientConnection::new(Arc::clone(config), name.clone()).map_err(io::Error::other)?;
        Ok(Connection::Tls(Box::new(StreamOwned::new(session, connection))))
    }
}

/// Why the server is not believed to be who it says, if that is what went wrong.
pub(super) fn distrust(error: &io::Error) -> Option<String> {
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
