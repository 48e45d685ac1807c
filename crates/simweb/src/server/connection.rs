//! HTTP connections. Each worker is a thread with its own runtime; one accepts connections and distributes them.
//! Responses are determined by [`crate::server::response`].

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper::header::{self, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Version, body::Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio_rustls::TlsAcceptor;

use crate::server::body::{RequestRecord, SimBody};
use crate::server::log::{LogEntry, RequestLog};
use crate::server::rate_limit::RateLimits;
use crate::server::response::{Delivery, SimRequest, SimResponse};
use crate::server::route::Route;
use crate::server::route::route;
use crate::server::stream::SimStream;
use crate::world::clock::Clock;
use crate::world::date;
use crate::world::kinds::ReplicaKind;
use crate::world::site::Site;
use crate::world::synthetic_web::{Naming, World};

/// Timeout of a TLS handshake, of each request head, and of an idle connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_HEAD_BYTES: usize = 64 * 1024;
const MAX_HEADERS: usize = 128;
const MAX_STREAMS: u32 = 128;
/// Maximum length of the host name and user agent that are processed and logged.
const MAX_HOST_BYTES: usize = 255;
const MAX_AGENT_BYTES: usize = 512;
const MAX_LOGGED_PATH_BYTES: usize = 8 * 1024;

/// State shared by all connections.
pub(crate) struct Shared {
    pub(crate) world: Arc<World>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) log: Arc<RequestLog>,
    pub(crate) limits: RateLimits,
    pub(crate) requests: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) open: AtomicUsize,
}

/// Accepts connections and distributes them to the workers in turn.
pub(crate) async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    shared: Arc<Shared>,
    workers: Vec<Handle>,
) {
    let mut turn = 0;
    loop {
        let stream = match listener.accept().await.and_then(|(stream, _)| stream.into_std()) {
            Ok(stream) => stream,
            Err(_) => {
                // Most likely out of file descriptors: wait for connections to end.
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        if shared.open.load(Ordering::Relaxed) >= shared.world.settings.max_connections as usize {
            continue;
        }
        let worker = turn % workers.len();
        turn += 1;
        let (tls, shared) = (tls.clone(), Arc::clone(&shared));
        workers[worker].spawn(async move {
            // Broken connections are caused by the client, or intended.
            let _ = serve(stream, tls, shared, worker).await;
        });
    }
}

/// A connection.
struct Connection {
    shared: Arc<Shared>,
    local: Ipv4Addr,
    tls: bool,
    id: u64,
    worker: usize,
    /// User agent of the first request, which is nearly always the same for all.
    agent: OnceLock<Arc<str>>,
    reset: Arc<AtomicBool>,
    has_request: AtomicBool,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.open.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn serve(
    stream: std::net::TcpStream,
    tls: Option<TlsAcceptor>,
    shared: Arc<Shared>,
    worker: usize,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::from_std(stream)?;
    stream.set_nodelay(true)?;
    // Second check: only loopback addresses are served, even if the system accepted another connection.
    let local = match stream.local_addr()?.ip() {
        IpAddr::V4(address) if address.is_loopback() => address,
        _ => return Ok(()),
    };
    shared.open.fetch_add(1, Ordering::Relaxed);
    let id = shared.connections.fetch_add(1, Ordering::Relaxed) + 1;
    let reset = Arc::new(AtomicBool::new(false));
    let connection = Arc::new(Connection {
        shared,
        local,
        tls: tls.is_some(),
        id,
        worker,
        agent: OnceLock::new(),
        reset: Arc::clone(&reset),
        has_request: AtomicBool::new(false),
    });
    let stream = SimStream::new(stream, reset);
    match tls {
        None => serve_http(stream, connection).await,
        Some(acceptor) => {
            let stream = tokio::time::timeout(HEAD_TIMEOUT, acceptor.accept(stream)).await??;
            serve_http(stream, connection).await
        }
    }
}

/// Serves HTTP/1.1 or HTTP/2, as the client starts.
async fn serve_http<S>(
    stream: S,
    connection: Arc<Connection>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .auto_date_header(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(HEAD_TIMEOUT)
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD_BYTES as u32)
        .auto_date_header(false);
    let for_service = Arc::clone(&connection);
    let service = service_fn(move |request| handle_request(Arc::clone(&for_service), request));
    let serving = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(serving);
    // Before the first request no other timeout applies to an idle client.
    match tokio::time::timeout(HEAD_TIMEOUT, serving.as_mut()).await {
        Ok(end) => end,
        Err(_) if connection.has_request.load(Ordering::Relaxed) => serving.await,
        Err(_) => Ok(()),
    }
}

/// Handles a request. An error closes the connection without a response.
async fn handle_request(
    connection: Arc<Connection>,
    request: Request<Incoming>,
) -> Result<Response<SimBody>, io::Error> {
    connection.has_request.store(true, Ordering::Relaxed);
    let shared = &connection.shared;
    let host = host(&request);
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let mut record = record(&connection, &request, &host, path);
    let routed = match (host.is_empty(), request.method()) {
        (true, _) => Err(text_response(400, "Missing Host header.")),
        (_, &Method::GET | &Method::HEAD) => Ok(route(&shared.world, &host, connection.local)),
        _ => Err(text_response(405, "Method not allowed.")),
    };
    let (response, retry_after) = match routed {
        Err(response) => (response, None),
        Ok(Route::Misdirected) => (text_response(421, "Unknown site on this IP address."), None),
        Ok(Route::Site(index, naming)) => {
            let site = shared.world.site(index);
            if let Some(entry) = &mut record.entry {
                entry.site = Some(index);
            }
            site_response(&connection, &request, &site, naming, path)
        }
    };
    if response.delivery == Delivery::Hang {
        tokio::time::sleep(Duration::from_secs(shared.world.settings.unresponsive_s)).await;
        return Err(io::Error::other("unresponsive site"));
    }
    if response.delay_ms > 0 {
        tokio::time::sleep(Duration::from_millis(response.delay_ms)).await;
    }
    if let Some(entry) = &mut record.entry {
        entry.status = response.status;
    }
    let now = shared.clock.now();
    Ok(build_response(response, retry_after, now, Arc::clone(&connection.reset), record))
}

/// Returns the response of the site, a redirect to the scheme of the site, or 429.
fn site_response(
    connection: &Connection,
    request: &Request<Incoming>,
    site: &Site,
    naming: Naming,
    path: &str,
) -> (SimResponse, Option<u64>) {
    let shared = &connection.shared;
    if naming == Naming::Names && site.https != connection.tls {
        let mut location = String::new();
        shared.world.write_origin(site, naming, &mut location);
        location.push_str(path);
        return (
            SimResponse { location: Some(location), ..text_response(301, "Moved to the other scheme.") },
            None,
        );
    }
    // An alias is the same server; a mirror is another one.
    let limited = if site.replica == Some(ReplicaKind::Alias) { site.content } else { site.index };
    if site.rate_limited
        && let Err(retry_after_s) = shared.limits.check(limited, shared.log.now_us() / 1000)
    {
        return (text_response(429, "Too many requests."), Some(retry_after_s));
    }
    let text = |name: HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
    let request = SimRequest {
        path,
        naming,
        seconds: shared.clock.seconds(),
        nonce: shared.requests.fetch_add(1, Ordering::Relaxed),
        gzip: text(header::ACCEPT_ENCODING).is_some_and(accepts_gzip),
        if_none_match: text(header::IF_NONE_MATCH),
        if_modified_since: text(header::IF_MODIFIED_SINCE),
    };
    (shared.world.respond(site, &request), None)
}

fn accepts_gzip(encodings: &str) -> bool {
    encodings.split(',').any(|one| {
        let (name, quality) = one.split_once(';').unwrap_or((one, ""));
        name.trim().eq_ignore_ascii_case("gzip") && !matches!(quality.trim(), "q=0" | "q=0.0")
    })
}

/// Returns the host of a request, in lower case and without port; empty if it is missing or too long.
fn host(request: &Request<Incoming>) -> String {
    let named = request.uri().authority().map(hyper::http::uri::Authority::as_str);
    let host = named.or_else(|| request.headers().get(header::HOST)?.to_str().ok()).unwrap_or("");
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host).trim_end_matches('.');
    if host.len() > MAX_HOST_BYTES { String::new() } else { host.to_ascii_lowercase() }
}

fn record(connection: &Connection, request: &Request<Incoming>, host: &str, path: &str) -> RequestRecord {
    let log = &connection.shared.log;
    let start_us = log.now_us();
    let entry = LogEntry {
        start_us,
        end_us: start_us,
        unix_us: log.unix_us(start_us),
        host: host.into(),
        site: None,
        ip_address: connection.local,
        path: truncated(path, MAX_LOGGED_PATH_BYTES).into(),
        agent: agent(connection, request.headers()),
        connection: connection.id,
        status: 0,
        bytes: 0,
        protocol: if request.version() == Version::HTTP_2 { "HTTP/2" } else { "HTTP/1.1" },
        tls: connection.tls,
        method: match *request.method() {
            Method::GET => "GET",
            Method::HEAD => "HEAD",
            _ => "other",
        },
    };
    RequestRecord { log: Arc::clone(log), worker: connection.worker, entry: Some(entry) }
}

fn agent(connection: &Connection, headers: &HeaderMap) -> Arc<str> {
    let named = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("");
    let named = truncated(named, MAX_AGENT_BYTES);
    let first = connection.agent.get_or_init(|| named.into());
    if **first == *named { Arc::clone(first) } else { named.into() }
}

/// Truncates an ASCII text.
fn truncated(text: &str, bytes: usize) -> &str {
    text.get(..bytes).unwrap_or(text)
}

fn build_response(
    response: SimResponse,
    retry_after: Option<u64>,
    now: date::Moment,
    reset: Arc<AtomicBool>,
    record: RequestRecord,
) -> Response<SimBody> {
    let length = response.body.len();
    let mut http_response = Response::new(SimBody::new(response.body, response.delivery, reset, record));
    *http_response.status_mut() =
        StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = http_response.headers_mut();
    let mut add = |name: HeaderName, value: String| {
        if let Ok(value) = HeaderValue::from_maybe_shared(bytes::Bytes::from(value)) {
            headers.insert(name, value);
        }
    };
    add(header::DATE, date::http_date(now));
    match response.content_type {
        std::borrow::Cow::Owned(written) => add(header::CONTENT_TYPE, written),
        std::borrow::Cow::Borrowed("") => {}
        std::borrow::Cow::Borrowed(known) => add(header::CONTENT_TYPE, known.to_owned()),
    }
    response.location.into_iter().for_each(|url| add(header::LOCATION, url));
    response.etag.into_iter().for_each(|tag| add(header::ETAG, tag));
    response.last_modified.into_iter().for_each(|moment| add(header::LAST_MODIFIED, date::http_date(moment)));
    response
        .robots_tag
        .into_iter()
        .for_each(|tag| add(HeaderName::from_static("x-robots-tag"), tag.to_owned()));
    retry_after.into_iter().for_each(|seconds| add(header::RETRY_AFTER, seconds.to_string()));
    if response.gzipped {
        add(header::CONTENT_ENCODING, "gzip".to_owned());
        add(header::VARY, "Accept-Encoding".to_owned());
    }
    if response.delivery == Delivery::Truncated {
        add(header::CONTENT_LENGTH, length.to_string());
    }
    http_response
}

/// Returns a plain-text response with one sentence.
fn text_response(status: u16, message: &str) -> SimResponse {
    let body = format!("{message}\n").into_bytes();
    SimResponse { status, content_type: "text/plain".into(), body, ..SimResponse::default() }
}
