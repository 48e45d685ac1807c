//! Fetcher: sends one request by the protocol of its URL, over an open connection or a new one.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use model::{Reason, Scheme};

use crate::connect::connection::{Connection, HttpVersion};
use crate::connect::connector::Connector;
use crate::error::Error;
use crate::exchange_timer::ExchangeTimer;
use crate::fetch_request::FetchRequest;
use crate::http::http1;
use crate::http::http2::Http2;
use crate::http::request::{RequestTarget, RequestWriter};
use crate::http::response_reader::{ReadLimits, ResponseReader};
use crate::mime_types::MimeTypes;
use crate::non_http::ftp;
use crate::non_http::gopher;
use crate::response::Response;
use crate::settings::FetchSettings;

const PROXY_AUTHENTICATION_REQUIRED: u16 = 407;

/// Client for http, https, ftp and gopher. One fetcher serves any number of concurrent requests.
pub struct Fetcher {
    settings: Arc<FetchSettings>,
    connector: Connector,
    request_writer: RequestWriter,
    mime_types: MimeTypes,
}

impl Fetcher {
    /// Creates a fetcher after checking the settings.
    pub fn new(settings: Arc<FetchSettings>) -> Result<Fetcher, Error> {
        let mime_types = MimeTypes::new(&settings.mime_types);
        Ok(Fetcher {
            connector: Connector::new(Arc::clone(&settings))?,
            request_writer: RequestWriter::new(&settings, &mime_types)?,
            mime_types,
            settings,
        })
    }

    /// Sends one request, within the limits of the settings. Redirects are returned, not followed.
    ///
    /// `reusable` is used if it belongs to the same site and address; a returned connection can be used again. Nothing is
    /// retried, except that a reused connection which the server closed before the first byte of the response is
    /// replaced by a new one, once.
    pub async fn fetch(
        &self,
        request: &FetchRequest<'_>,
        reusable: Option<Connection>,
    ) -> (Response, Option<Connection>) {
        let address = match self.connector.allowed_address(request.url, request.address) {
            Ok(address) => address,
            Err(reason) => return (Response::from_failure(reason), None),
        };
        let mut timer = ExchangeTimer::start(&self.settings);
        let limits = self.read_limits(request);
        let (mut response, connection) = match request.url.scheme() {
            Scheme::Ftp if self.settings.proxy.is_none() => {
                let from = &self.settings.from;
                (ftp::fetch(&self.connector, request, limits, address, from, &mut timer).await, None)
            }
            Scheme::Gopher if self.settings.proxy.is_none() => {
                (gopher::fetch(&self.connector, request, limits, address, &mut timer).await, None)
            }
            // A proxy takes requests for any scheme over HTTP.
            _ => self.fetch_http(request, address, reusable, &mut timer).await,
        };
        response.address = Some(address);
        (response.latency_ms, response.duration_ms) = timer.elapsed_ms();
        (response, connection)
    }

    fn read_limits(&self, request: &FetchRequest<'_>) -> ReadLimits<'_> {
        ReadLimits {
            max_head_bytes: self.settings.max_head_bytes,
            max_body_bytes: request.max_body_bytes,
            mime_types: (!request.any_mime_type).then_some(&self.mime_types),
        }
    }

    async fn fetch_http(
        &self,
        request: &FetchRequest<'_>,
        address: IpAddr,
        reusable: Option<Connection>,
        timer: &mut ExchangeTimer<'_>,
    ) -> (Response, Option<Connection>) {
        let head = self.request_writer.write(request, self.request_target(request));
        let is_late = || request.send_deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if let Some(mut connection) = reusable.filter(|_| !is_late())
            && connection.can_reuse_for(request.url.site(), address)
        {
            let (response, is_reusable) = self.exchange(request, &head, &mut connection, timer).await;
            // A server may close an idle connection at the moment the request is sent. A GET is idempotent, so it is safe
            // to send it again.
            if response.failure != Some(Reason::ConnectionClosed) || timer.has_received() {
                return (Response { request: head, ..response }, is_reusable.then_some(connection));
            }
            timer.connect_started();
        }
        let mut connection = match self.connect(request, address, timer).await {
            Ok(connection) => connection,
            Err(reason) => return (Response::from_failure(reason), None),
        };
        if is_late() {
            return (Response::from_failure(Reason::ConnectTimeout), None);
        }
        let (response, is_reusable) = self.exchange(request, &head, &mut connection, timer).await;
        (Response { request: head, ..response }, is_reusable.then_some(connection))
    }

    fn request_target(&self, request: &FetchRequest<'_>) -> RequestTarget<'_> {
        match self.settings.proxy {
            // https goes through a tunnel, in which the server sees an ordinary request.
            Some(_) if request.url.scheme() != Scheme::Https => {
                RequestTarget::Absolute { authorization: self.connector.proxy_authorization.as_deref() }
            }
            _ => RequestTarget::Origin,
        }
    }

    async fn connect(
        &self,
        request: &FetchRequest<'_>,
        address: IpAddr,
        timer: &ExchangeTimer<'_>,
    ) -> Result<Connection, Reason> {
        let stream = self.connector.connect(request.url, address, timer).await?;
        let tls_version = stream.tls_version();
        let http = if stream.negotiated_http2() {
            let handshake =
                timer.with_timeout(Http2::handshake(stream, self.settings.max_head_bytes)).await?;
            HttpVersion::Http2(Box::new(handshake.map_err(|_| Reason::ConnectFailed)?))
        } else {
            HttpVersion::Http1(stream)
        };
        Ok(Connection { site: request.url.site().to_owned(), address, tls_version, http })
    }

    /// Sends a request over a connection; the second value says whether the connection can be used again.
    async fn exchange(
        &self,
        request: &FetchRequest<'_>,
        head: &[u8],
        connection: &mut Connection,
        timer: &mut ExchangeTimer<'_>,
    ) -> (Response, bool) {
        let limits = self.read_limits(request);
        let (mut response, is_reusable, is_http11) = match &mut connection.http {
            HttpVersion::Http1(stream) => {
                let mut reader = ResponseReader::new(limits);
                http1::exchange(stream, head, &mut reader, timer).await;
                (reader.response, reader.keep_alive, reader.is_http11)
            }
            HttpVersion::Http2(http2) => {
                let (response, is_open) = http2.exchange(request.url.as_str(), head, &limits, timer).await;
                (response, is_open, true)
            }
        };
        // The response of a proxy that rejects the credentials says nothing about the page.
        if response.status == PROXY_AUTHENTICATION_REQUIRED && self.settings.proxy.is_some() {
            response = Response::from_failure(Reason::ProxyFailed);
        }
        response.protocols = connection.protocols(is_http11);
        (response, is_reusable)
    }
}
