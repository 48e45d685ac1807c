//! Fetcher: sends one request by the protocol of its URL, over an open connection or a new one.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use model::{Reason, Scheme};

use crate::body_budget::BodyBudget;
use crate::connect::connection::{Connection, HttpVersion};
use crate::connect::connector::{Connector, PROXY_AUTHENTICATION_REQUIRED};
use crate::connect_error::ConnectError;
use crate::error::Error;
use crate::exchange_timer::ExchangeTimer;
use crate::fetch_request::FetchRequest;
use crate::http::http1;
use crate::http::http2::Http2;
use crate::http::request::{HeaderValues, RequestTarget, RequestWriter};
use crate::http::response_reader::{ReadLimits, ResponseReader};
use crate::local_fault::LocalFault;
use crate::mime_types::MimeTypes;
use crate::non_http::ftp;
use crate::non_http::gopher;
use crate::response::Response;
use crate::settings::FetchSettings;

/// Client for http, https, ftp and gopher. One fetcher serves any number of concurrent requests.
pub struct Fetcher {
    settings: Arc<FetchSettings>,
    body_budget: BodyBudget,
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
            body_budget: BodyBudget::new(settings.max_body_memory_bytes),
            settings,
        })
    }

    /// Shares the memory budget of bodies with other fetchers.
    pub fn with_body_budget(self, body_budget: BodyBudget) -> Fetcher {
        Fetcher { body_budget, ..self }
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
        let mut timer = ExchangeTimer::start(&self.settings).notifying(request.first_byte);
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
        response.reservation.shrink_to(response.body.len());
        response.address = Some(address);
        (response.latency_ms, response.duration_ms) = timer.elapsed_ms();
        (response, connection)
    }

    /// Whether a server accepts or refuses a connection, rather than being unreachable. Nothing is sent over it.
    pub async fn is_reachable(&self, address: SocketAddr) -> bool {
        let timer = ExchangeTimer::start(&self.settings);
        match self.connector.connect_tcp(address, &timer).await {
            Ok(_) => true,
            Err(error) => error.local_fault.is_none() && !error.is_unreachable,
        }
    }

    fn read_limits(&self, request: &FetchRequest<'_>) -> ReadLimits<'_> {
        ReadLimits {
            max_head_bytes: self.settings.max_head_bytes,
            max_body_bytes: request.max_body_bytes,
            mime_types: (!request.any_mime_type).then_some(&self.mime_types),
            body_budget: Some(&self.body_budget),
        }
    }

    async fn fetch_http(
        &self,
        request: &FetchRequest<'_>,
        address: IpAddr,
        reusable: Option<Connection>,
        timer: &mut ExchangeTimer<'_>,
    ) -> (Response, Option<Connection>) {
        let head = self.request_writer.write(request, self.request_target(request), HeaderValues::Sent);
        if let Some(mut connection) = reusable.filter(|_| !request.is_late())
            && connection.can_reuse_for(request.url.site(), address)
        {
            let (response, is_reusable) = self.exchange(request, &head, &mut connection, timer).await;
            // A server may close an idle connection at the moment the request is sent. A GET is idempotent, so it is safe
            // to send it again.
            if response.failure != Some(Reason::ConnectionClosed) || timer.has_received() {
                let request = self.redacted_request(request, head);
                return (Response { request, ..response }, is_reusable.then_some(connection));
            }
            timer.connect_started();
        }
        let mut connection = match self.connect(request, address, timer).await {
            Ok(connection) => connection,
            Err(reason) => return (Response::from_failure(reason), None),
        };
        if request.is_late() {
            return (Response::from_failure(Reason::ConnectTimeout), None);
        }
        let (response, is_reusable) = self.exchange(request, &head, &mut connection, timer).await;
        let request = self.redacted_request(request, head);
        (Response { request, ..response }, is_reusable.then_some(connection))
    }

    /// Head of a request that may be stored.
    fn redacted_request(&self, request: &FetchRequest<'_>, head: Vec<u8>) -> Vec<u8> {
        let target = self.request_target(request);
        let has_secrets = matches!(target, RequestTarget::Absolute { authorization: Some(_) })
            || request.site_headers.has_secrets();
        if has_secrets { self.request_writer.write(request, target, HeaderValues::Redacted) } else { head }
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

    /// Whether a response can be that of a proxy that rejects the credentials. A response through a tunnel is always that of
    /// the server.
    fn may_be_rejected_by_proxy(&self, request: &FetchRequest<'_>, status: u16) -> bool {
        status == PROXY_AUTHENTICATION_REQUIRED
            && matches!(self.request_target(request), RequestTarget::Absolute { .. })
    }

    async fn connect(
        &self,
        request: &FetchRequest<'_>,
        address: IpAddr,
        timer: &ExchangeTimer<'_>,
    ) -> Result<Connection, ConnectError> {
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
        if self.may_be_rejected_by_proxy(request, response.status) {
            response.local_fault = Some(LocalFault::ProxyAuthentication);
        }
        response.protocols = connection.protocols(is_http11);
        (response, is_reusable)
    }
}

#[cfg(test)]
mod tests {
    use model::UrlRules;

    use super::*;
    use crate::settings::Proxy;
    use crate::site_headers::SiteHeaders;

    #[test]
    fn only_a_response_outside_a_tunnel_can_be_a_rejection_by_the_proxy() {
        let address = SocketAddr::from(([192, 0, 2, 1], 3128));
        let proxy = Some(Proxy { address, credentials: None });
        let behind_proxy =
            Fetcher::new(Arc::new(FetchSettings { proxy, ..FetchSettings::default() })).unwrap();
        let direct = Fetcher::new(Arc::default()).unwrap();
        let is_rejection = |fetcher: &Fetcher, url: &str, status| {
            let request = FetchRequest {
                url: &UrlRules::default().canonical(url).unwrap(),
                address: address.ip(),
                site_headers: &SiteHeaders::default(),
                if_none_match: None,
                if_modified_since: None,
                max_body_bytes: 0,
                any_mime_type: true,
                send_deadline: None,
                first_byte: None,
            };
            fetcher.may_be_rejected_by_proxy(&request, status)
        };
        assert!(is_rejection(&behind_proxy, "http://a.example/", 407));
        assert!(!is_rejection(&behind_proxy, "http://a.example/", 401));
        assert!(
            !is_rejection(&behind_proxy, "https://a.example/", 407),
            "the server sent it through the tunnel"
        );
        assert!(!is_rejection(&direct, "http://a.example/", 407));
    }
}
