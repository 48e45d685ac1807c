//! How is a server reached, and may it be? The address is judged here, where it is connected to, and nowhere earlier:
//! what a name meant when somebody looked it up does not count.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use model::{CanonicalUrl, Reason, Scheme};
use rustls::pki_types::ServerName;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::clock::Clock;
use crate::error::Error;
use crate::head::{HeadReader, read_head};
use crate::http1::read_piece;
use crate::settings::FetchSettings;
use crate::site_request::basic;
use crate::stream::Stream;
use crate::tls;

/// What a proxy may say before it passes bytes on.
const PROXY_HEAD_LIMIT_BYTES: usize = 16 << 10;

/// Makes connections.
pub(crate) struct Connector {
    settings: Arc<FetchSettings>,
    tls: TlsConnector,
    /// The line that proves who we are to the proxy.
    pub(crate) proxy_authorization: Option<String>,
}

impl Connector {
    pub(crate) fn new(settings: Arc<FetchSettings>) -> Result<Connector, Error> {
        let credentials = settings.proxy.as_ref().and_then(|proxy| proxy.credentials.as_ref());
        let proxy_authorization = credentials.map(basic).transpose()?;
        let tls = TlsConnector::from(Arc::new(tls::client_config(&settings)?));
        Ok(Connector { settings, tls, proxy_authorization })
    }

    /// The address to ask for this URL: the one in its host where that is an address, or else the one given. Refused
    /// where the settings block it, behind a proxy too.
    pub(crate) fn address(&self, url: &CanonicalUrl, given: IpAddr) -> Result<IpAddr, Reason> {
        let host = url.host().trim_start_matches('[').trim_end_matches(']');
        let address = host.parse().unwrap_or(given);
        if self.settings.networks.permits(address) { Ok(address) } else { Err(Reason::BlockedAddress) }
    }

    /// A connection over which this URL can be asked for.
    pub(crate) async fn connect(
        &self,
        url: &CanonicalUrl,
        address: IpAddr,
        clock: &Clock<'_>,
    ) -> Result<Stream, Reason> {
        let mut stream = match &self.settings.proxy {
            None => self.tcp(SocketAddr::new(address, url.port()), clock).await?,
            Some(proxy) => open(proxy.address, clock).await?,
        };
        if url.scheme() != Scheme::Https {
            return Ok(Stream::Plain(stream));
        }
        if self.settings.proxy.is_some() {
            stream = self.tunnel(stream, url, clock).await?;
        }
        let host = url.host().trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned()).map_err(|_| Reason::TlsFailed)?;
        let stream = clock.wait(self.tls.connect(name, stream)).await?;
        stream.map(|stream| Stream::Tls(Box::new(stream))).map_err(|error| tls::reason(&error))
    }

    /// A bare connection to a server itself.
    pub(crate) async fn tcp(&self, address: SocketAddr, clock: &Clock<'_>) -> Result<TcpStream, Reason> {
        if !self.settings.networks.permits(address.ip()) {
            return Err(Reason::BlockedAddress);
        }
        open(address, clock).await
    }

    /// Asks the proxy to pass bytes on to the server.
    async fn tunnel(
        &self,
        stream: TcpStream,
        url: &CanonicalUrl,
        clock: &Clock<'_>,
    ) -> Result<TcpStream, Reason> {
        let mut stream = Stream::Plain(stream);
        let authority = format!("{}:{}", url.host(), url.port());
        let mut request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
        if let Some(authorization) = &self.proxy_authorization {
            request.extend(["Proxy-Authorization: ", authorization, "\r\n"]);
        }
        request.push_str("\r\n");
        let sent = clock.wait(stream.write_all(request.as_bytes())).await?;
        sent.map_err(|_| Reason::ProxyFailed)?;
        let mut head = HeadReader::default();
        loop {
            let mut step = Ok(None);
            let take = |piece: &[u8]| {
                // Nothing may follow the head: the server waits for us to speak first.
                step = match head.take(piece, PROXY_HEAD_LIMIT_BYTES) {
                    Ok(Some(length)) if length < piece.len() => Err(Reason::ProxyFailed),
                    other => other,
                };
            };
            match clock.wait(read_piece(&mut stream, take)).await? {
                Ok(0) | Err(_) => return Err(Reason::ProxyFailed),
                Ok(_) => {}
            }
            if step.map_err(|_| Reason::ProxyFailed)?.is_some() {
                break;
            }
        }
        let agreed = read_head(&head.bytes).is_ok_and(|head| (200..300).contains(&head.status));
        match stream {
            Stream::Plain(stream) if agreed => Ok(stream),
            _ => Err(Reason::ProxyFailed),
        }
    }
}

async fn open(address: SocketAddr, clock: &Clock<'_>) -> Result<TcpStream, Reason> {
    let stream = clock.wait(TcpStream::connect(address)).await?.map_err(|_| Reason::ConnectFailed)?;
    // A request is sent at once or the server waits for it; where the system cannot, it is slower and no less right.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}
