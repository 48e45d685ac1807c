//! Connector: opens TCP and TLS connections, directly or through a proxy.
//!
//! Every address is checked against the network filter here, at the moment of the connection. A check at the time of
//! the DNS lookup would not be enough: a later lookup may return another address (DNS rebinding).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use model::{CanonicalUrl, Reason, Scheme};
use rustls::pki_types::ServerName;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::connect::tls;
use crate::connect_error::ConnectError;
use crate::error::Error;
use crate::exchange_timer::ExchangeTimer;
use crate::http::head::HeadReader;
use crate::http::head::parse_head;
use crate::http::http1::read_chunk;
use crate::local_fault::{ConnectErrors, LocalFault};
use crate::settings::FetchSettings;
use crate::site_headers::basic_authorization;
use crate::tls_stream::MaybeTlsStream;

/// Maximum size of the response of a proxy to CONNECT.
const MAX_PROXY_HEAD_BYTES: usize = 16 << 10;
/// Status of a proxy that requires other credentials, or any (RFC 9110, section 15.5.8).
pub(crate) const PROXY_AUTHENTICATION_REQUIRED: u16 = 407;

/// Opens connections.
pub(crate) struct Connector {
    settings: Arc<FetchSettings>,
    tls: TlsConnector,
    /// Value of `Proxy-Authorization`.
    pub(crate) proxy_authorization: Option<String>,
    errors: ConnectErrors,
}

impl Connector {
    pub(crate) fn new(settings: Arc<FetchSettings>) -> Result<Connector, Error> {
        let credentials = settings.proxy.as_ref().and_then(|proxy| proxy.credentials.as_ref());
        let proxy_authorization = credentials.map(basic_authorization).transpose()?;
        let tls = TlsConnector::from(Arc::new(tls::client_config(&settings)?));
        Ok(Connector { settings, tls, proxy_authorization, errors: ConnectErrors::default() })
    }

    /// Address for this URL, if it may be contacted: the host itself if that is an IP address, otherwise the resolved
    /// one. Applies with a proxy too, which could otherwise be used to reach internal servers. The port is checked as well.
    pub(crate) fn allowed_address(&self, url: &CanonicalUrl, resolved: IpAddr) -> Result<IpAddr, Reason> {
        if !self.settings.port_filter.permits(url) {
            return Err(Reason::PortBlocked);
        }
        let host = url.host().trim_start_matches('[').trim_end_matches(']');
        let address = host.parse().unwrap_or(resolved);
        if self.settings.network_filter.permits(address) { Ok(address) } else { Err(Reason::IpBlocked) }
    }

    /// Opens a connection for requests to this URL.
    pub(crate) async fn connect(
        &self,
        url: &CanonicalUrl,
        address: IpAddr,
        timer: &ExchangeTimer<'_>,
    ) -> Result<MaybeTlsStream, ConnectError> {
        let mut stream = match &self.settings.proxy {
            None => self.connect_tcp(SocketAddr::new(address, url.port()), timer).await?,
            Some(proxy) => self.connect_proxy(proxy.address, timer).await?,
        };
        if url.scheme() != Scheme::Https {
            return Ok(MaybeTlsStream::Plain(stream));
        }
        if self.settings.proxy.is_some() {
            stream = self.open_tunnel(stream, SocketAddr::new(address, url.port()), timer).await?;
        }
        let host = url.host().trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned()).map_err(|_| Reason::TlsHandshakeFailed)?;
        let stream = timer.with_timeout(self.tls.connect(name, stream)).await?;
        stream
            .map(|stream| MaybeTlsStream::Tls(Box::new(stream)))
            .map_err(|error| tls::handshake_failure(&error).into())
    }

    /// Opens a TCP connection to a server, without a proxy.
    pub(crate) async fn connect_tcp(
        &self,
        address: SocketAddr,
        timer: &ExchangeTimer<'_>,
    ) -> Result<TcpStream, ConnectError> {
        if !self.settings.network_filter.permits(address.ip()) {
            return Err(Reason::IpBlocked.into());
        }
        self.connect_socket(address, timer).await
    }

    /// Opens a data connection of ftp, to a port that the server named.
    pub(crate) async fn connect_ftp_data(
        &self,
        address: SocketAddr,
        timer: &ExchangeTimer<'_>,
    ) -> Result<TcpStream, ConnectError> {
        if !self.settings.port_filter.permits_port(address.port()) {
            return Err(Reason::InvalidResponse.into());
        }
        self.connect_tcp(address, timer).await
    }

    /// Opens a tunnel through the proxy with CONNECT (RFC 9110, section 9.3.6). The tunnel leads to an address, not to a name: the
    /// proxy could resolve the name to another address than the one that was checked. The server gets the name in the TLS
    /// handshake and in the request.
    async fn open_tunnel(
        &self,
        stream: TcpStream,
        authority: SocketAddr,
        timer: &ExchangeTimer<'_>,
    ) -> Result<TcpStream, ConnectError> {
        let mut stream = MaybeTlsStream::Plain(stream);
        let mut request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
        if let Some(authorization) = &self.proxy_authorization {
            request.extend(["Proxy-Authorization: ", authorization, "\r\n"]);
        }
        request.push_str("\r\n");
        let sent = timer.with_timeout(stream.write_all(request.as_bytes())).await?;
        sent.map_err(|_| Reason::ProxyFailed)?;
        let mut head = HeadReader::default();
        loop {
            let mut head_end = Ok(None);
            let on_chunk = |chunk: &[u8]| {
                // No byte may follow the head: in TLS the client speaks first.
                head_end = match head.push(chunk, MAX_PROXY_HEAD_BYTES) {
                    Ok(Some(length)) if length < chunk.len() => Err(Reason::ProxyFailed),
                    other => other,
                };
            };
            match timer.with_timeout(read_chunk(&mut stream, on_chunk)).await? {
                Ok(0) | Err(_) => return Err(Reason::ProxyFailed.into()),
                Ok(_) => {}
            }
            if head_end.map_err(|_| Reason::ProxyFailed)?.is_some() {
                break;
            }
        }
        let status = parse_head(&head.bytes).map_or(0, |head| head.status);
        match stream {
            _ if status == PROXY_AUTHENTICATION_REQUIRED => {
                Err(ConnectError::from_proxy(LocalFault::ProxyAuthentication))
            }
            MaybeTlsStream::Plain(stream) if (200..300).contains(&status) => Ok(stream),
            _ => Err(Reason::ProxyFailed.into()),
        }
    }

    /// Opens a connection to the proxy. Its failure says nothing about the requested site.
    async fn connect_proxy(
        &self,
        address: SocketAddr,
        timer: &ExchangeTimer<'_>,
    ) -> Result<TcpStream, ConnectError> {
        self.connect_socket(address, timer).await.map_err(|error| {
            ConnectError::from_proxy(error.local_fault.unwrap_or(LocalFault::ProxyUnavailable))
        })
    }

    async fn connect_socket(
        &self,
        address: SocketAddr,
        timer: &ExchangeTimer<'_>,
    ) -> Result<TcpStream, ConnectError> {
        let connected = timer.with_timeout(TcpStream::connect(address)).await?;
        let stream = connected
            .map_err(|error| ConnectError::from_io(&error, self.errors.local_fault(&error, address)))?;
        self.errors.connected(address.ip());
        // Requests are small and must not wait for more data. A failure only costs time, so it is ignored.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }
}
