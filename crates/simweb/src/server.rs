//! How is a request answered over a socket? Each worker is a thread with its own runtime; one accepts and hands
//! connections out in turn. What to answer is decided in [`crate::answer`].

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

use crate::answer::{Answer, Ask, Manner};
use crate::body::{Record, SimBody};
use crate::clock::Clock;
use crate::date;
use crate::log::{LogEntry, RequestLog};
use crate::rate::RateLimits;
use crate::route::{Route, route};
use crate::site::{Copied, Site};
use crate::stream::SimStream;
use crate::world::{Naming, World};

/// A client has this long for a TLS handshake, and for each request head; an idle connection is closed as late.
const HEAD_TIME_LIMIT: Duration = Duration::from_secs(30);
const HEAD_LIMIT_BYTES: usize = 64 * 1024;
const HEADERS_LIMIT: usize = 128;
const STREAMS_LIMIT: u32 = 128;
/// Longest host and user agent that are looked at and logged.
const HOST_LIMIT_BYTES: usize = 255;
const AGENT_LIMIT_BYTES: usize = 512;
const PATH_LOG_LIMIT_BYTES: usize = 8 * 1024;

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) world: Arc<World>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) log: Arc<RequestLog>,
    pub(crate) limits: RateLimits,
    pub(crate) visits: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) open: AtomicUsize,
}

/// Accepts connections for ever and hands them to the workers in turn.
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
                // Out of descriptors, most likely: give connections time to end.
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        if shared.open.load(Ordering::Relaxed) >= shared.world.settings.connections as usize {
            continue;
        }
        let worker = turn % workers.len();
        turn += 1;
        let (tls, shared) = (tls.clone(), Arc::clone(&shared));
        workers[worker].spawn(async move {
            // A connection that breaks is the client's business, or was meant to.
            let _ = serve(stream, tls, shared, worker).await;
        });
    }
}

/// One connection.
struct Connection {
    shared: Arc<Shared>,
    local: Ipv4Addr,
    tls: bool,
    number: u64,
    worker: usize,
    /// The user agent of its first request: nearly always that of all.
    agent: OnceLock<Arc<str>>,
    reset: Arc<AtomicBool>,
    asked: AtomicBool,
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
    // The second guard: whatever the system let through, nobody but this machine is served.
    let local = match stream.local_addr()?.ip() {
        IpAddr::V4(address) if address.is_loopback() => address,
        _ => return Ok(()),
    };
    shared.open.fetch_add(1, Ordering::Relaxed);
    let number = shared.connections.fetch_add(1, Ordering::Relaxed) + 1;
    let reset = Arc::new(AtomicBool::new(false));
    let connection = Arc::new(Connection {
        shared,
        local,
        tls: tls.is_some(),
        number,
        worker,
        agent: OnceLock::new(),
        reset: Arc::clone(&reset),
        asked: AtomicBool::new(false),
    });
    let stream = SimStream::new(stream, reset);
    match tls {
        None => converse(stream, connection).await,
        Some(acceptor) => {
            let stream = tokio::time::timeout(HEAD_TIME_LIMIT, acceptor.accept(stream)).await??;
            converse(stream, connection).await
        }
    }
}

/// HTTP/1.1 or 2, as the client begins.
async fn converse<S>(
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
        .header_read_timeout(HEAD_TIME_LIMIT)
        .max_buf_size(HEAD_LIMIT_BYTES)
        .max_headers(HEADERS_LIMIT)
        .auto_date_header(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(HEAD_TIME_LIMIT)
        .max_concurrent_streams(STREAMS_LIMIT)
        .max_header_list_size(HEAD_LIMIT_BYTES as u32)
        .auto_date_header(false);
    let of_service = Arc::clone(&connection);
    let service = service_fn(move |request| answer(Arc::clone(&of_service), request));
    let talk = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(talk);
    // Before the first request nothing else watches over a client that says nothing.
    match tokio::time::timeout(HEAD_TIME_LIMIT, talk.as_mut()).await {
        Ok(end) => end,
        Err(_) if connection.asked.load(Ordering::Relaxed) => talk.await,
        Err(_) => Ok(()),
    }
}

/// Answers one request. An error closes the connection without an answer.
async fn answer(
    connection: Arc<Connection>,
    request: Request<Incoming>,
) -> Result<Response<SimBody>, io::Error> {
    connection.asked.store(true, Ordering::Relaxed);
    let shared = &connection.shared;
    let host = host(&request);
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let mut record = record(&connection, &request, &host, path);
    let routed = match (host.is_empty(), request.method()) {
        (true, _) => Err(bare(400, "Which host?")),
        (_, &Method::GET | &Method::HEAD) => Ok(route(&shared.world, &host, connection.local)),
        _ => Err(bare(405, "This Web is for reading.")),
    };
    let (answer, retry_after) = match routed {
        Err(answer) => (answer, None),
        Ok(Route::Misdirected) => (bare(421, "No such site on this address."), None),
        Ok(Route::Site(index, naming)) => {
            let site = shared.world.site(index);
            if let Some(entry) = &mut record.entry {
                entry.site = Some(index);
            }
            ask(&connection, &request, &site, naming, path)
        }
    };
    if answer.manner == Manner::Silent {
        tokio::time::sleep(Duration::from_secs(shared.world.settings.silent_s)).await;
        return Err(io::Error::other("silent, as set"));
    }
    if answer.delay_ms > 0 {
        tokio::time::sleep(Duration::from_millis(answer.delay_ms)).await;
    }
    if let Some(entry) = &mut record.entry {
        entry.status = answer.status;
    }
    let now = shared.clock.now();
    Ok(response(answer, retry_after, now, Arc::clone(&connection.reset), record))
}

/// Asks the site, unless it finds the client too hasty, or is served by the other scheme.
fn ask(
    connection: &Connection,
    request: &Request<Incoming>,
    site: &Site,
    naming: Naming,
    path: &str,
) -> (Answer, Option<u64>) {
    let shared = &connection.shared;
    if naming == Naming::Names && site.https != connection.tls {
        let mut location = String::new();
        shared.world.write_origin(site, naming, &mut location);
        location.push_str(path);
        return (Answer { location: Some(location), ..bare(301, "Moved to the other scheme.") }, None);
    }
    // An alias is the same server; a mirror is another one.
    let limited = if site.copy == Some(Copied::Alias) { site.content } else { site.index };
    if site.rate_limited
        && let Err(wait_s) = shared.limits.check(limited, shared.log.now_us() / 1000)
    {
        return (bare(429, "Not so fast."), Some(wait_s));
    }
    let text = |name: HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
    let ask = Ask {
        path,
        naming,
        seconds: shared.clock.seconds(),
        visit: shared.visits.fetch_add(1, Ordering::Relaxed),
        gzip: text(header::ACCEPT_ENCODING).is_some_and(accepts_gzip),
        if_none_match: text(header::IF_NONE_MATCH),
        if_modified_since: text(header::IF_MODIFIED_SINCE),
    };
    (shared.world.answer(site, &ask), None)
}

fn accepts_gzip(encodings: &str) -> bool {
    encodings.split(',').any(|one| {
        let (name, quality) = one.split_once(';').unwrap_or((one, ""));
        name.trim().eq_ignore_ascii_case("gzip") && !matches!(quality.trim(), "q=0" | "q=0.0")
    })
}

/// The host a request names, lower case and without port; empty when there is none worth looking at.
fn host(request: &Request<Incoming>) -> String {
    let named = request.uri().authority().map(hyper::http::uri::Authority::as_str);
    let host = named.or_else(|| request.headers().get(header::HOST)?.to_str().ok()).unwrap_or("");
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host).trim_end_matches('.');
    if host.len() > HOST_LIMIT_BYTES { String::new() } else { host.to_ascii_lowercase() }
}

fn record(connection: &Connection, request: &Request<Incoming>, host: &str, path: &str) -> Record {
    let log = &connection.shared.log;
    let start_us = log.now_us();
    let entry = LogEntry {
        start_us,
        end_us: start_us,
        wall_us: log.wall_us(start_us),
        host: host.into(),
        site: None,
        address: connection.local,
        path: cut(path, PATH_LOG_LIMIT_BYTES).into(),
        agent: agent(connection, request.headers()),
        connection: connection.number,
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
    Record { log: Arc::clone(log), worker: connection.worker, entry: Some(entry) }
}

fn agent(connection: &Connection, headers: &HeaderMap) -> Arc<str> {
    let named = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("");
    let named = cut(named, AGENT_LIMIT_BYTES);
    let first = connection.agent.get_or_init(|| named.into());
    if **first == *named { Arc::clone(first) } else { named.into() }
}

/// At most so many bytes of a text of ASCII.
fn cut(text: &str, bytes: usize) -> &str {
    text.get(..bytes).unwrap_or(text)
}

fn response(
    answer: Answer,
    retry_after: Option<u64>,
    now: date::Moment,
    reset: Arc<AtomicBool>,
    record: Record,
) -> Response<SimBody> {
    let length = answer.body.len();
    let mut response = Response::new(SimBody::new(answer.body, answer.manner, reset, record));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    let mut add = |name: HeaderName, value: String| {
        if let Ok(value) = HeaderValue::from_maybe_shared(bytes::Bytes::from(value)) {
            headers.insert(name, value);
        }
    };
    add(header::DATE, date::http_date(now));
    match answer.content_type {
        std::borrow::Cow::Owned(written) => add(header::CONTENT_TYPE, written),
        std::borrow::Cow::Borrowed("") => {}
        std::borrow::Cow::Borrowed(known) => add(header::CONTENT_TYPE, known.to_owned()),
    }
    answer.location.into_iter().for_each(|url| add(header::LOCATION, url));
    answer.etag.into_iter().for_each(|tag| add(header::ETAG, tag));
    answer.modified.into_iter().for_each(|moment| add(header::LAST_MODIFIED, date::http_date(moment)));
    answer
        .robots_tag
        .into_iter()
        .for_each(|tag| add(HeaderName::from_static("x-robots-tag"), tag.to_owned()));
    retry_after.into_iter().for_each(|seconds| add(header::RETRY_AFTER, seconds.to_string()));
    if answer.gzipped {
        add(header::CONTENT_ENCODING, "gzip".to_owned());
        add(header::VARY, "Accept-Encoding".to_owned());
    }
    if answer.manner == Manner::Truncated {
        add(header::CONTENT_LENGTH, length.to_string());
    }
    response
}

/// An answer of one sentence.
fn bare(status: u16, sentence: &str) -> Answer {
    let body = format!("{sentence}\n").into_bytes();
    Answer { status, content_type: "text/plain".into(), body, ..Answer::default() }
}
