//! Streams over HTTP: the stored bytes, in shards, resumed at any byte, across lost connections.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use store::Snapshot;
use stream::{
    RemoteAccess, RemoteError, RemoteStream, StreamLimits, StreamQuery, StreamService, StreamWriter,
};

use super::sample;

/// Starts a server on loopback that runs until the process ends.
pub(crate) fn serve(dir: &Path, limits: StreamLimits) -> SocketAddr {
    serve_streams(&StreamService::new(dir, limits))
}

fn serve_streams(service: &Arc<StreamService>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let router: axum::Router = service.router();
    thread::spawn(move || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, router).await.unwrap();
        });
    });
    address
}

/// Status, head and body of one response.
fn get(address: SocketAddr, query: &str, headers: &str) -> (u16, String, Vec<u8>) {
    let mut connection = TcpStream::connect(address).unwrap();
    let request = format!("GET /stream?{query} HTTP/1.0\r\nHost: localhost\r\n{headers}\r\n");
    connection.write_all(request.as_bytes()).unwrap();
    let mut response = Vec::new();
    connection.read_to_end(&mut response).unwrap();
    let end = response.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let body = response.split_off(end + 4);
    let head = String::from_utf8(response).unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head, body)
}

fn header<'h>(head: &'h str, name: &str) -> &'h str {
    let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:"))).unwrap();
    line.split_once(':').unwrap().1.trim()
}

/// Output of a query read directly from the collection.
pub(crate) fn local(dir: &Path, query: &str) -> Vec<u8> {
    let snapshot = Snapshot::open(dir, None).unwrap();
    let mut writer = StreamWriter::open(&snapshot, &StreamQuery::parse_query(query).unwrap()).unwrap();
    let mut out = Vec::new();
    while writer.write_next(&mut out).unwrap().is_some() {}
    out
}

const QUERIES: [&str; 7] = [
    "",
    "format=jsonl",
    "format=text&site=a.test",
    "format=urls&shard=2/3",
    "format=wet&order=site",
    "format=jsonl&columns=url,links,cursor&limit=17",
    "verify=1&status=200&language=la",
];

#[test]
fn a_stream_over_http_equals_the_local_one() {
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), 300);
    let address = serve(dir.path(), StreamLimits::default());
    for query in QUERIES {
        let (status, head, body) = get(address, query, "");
        assert_eq!((status, header(&head, "weir-snapshot")), (200, "1"), "{query}");
        assert!(body == local(dir.path(), query) && !body.is_empty(), "{query}");
        let etag = header(&head, "etag");
        assert_eq!(get(address, query, &format!("If-None-Match: {etag}\r\n")).0, 304);
        let (_, _, rest) = get(address, &format!("{query}&byte_offset=1234"), "");
        assert!(rest == body[1234.min(body.len())..], "{query}");
    }
}

#[test]
fn a_range_request_returns_the_rest_of_the_stored_records() {
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), 300);
    let address = serve(dir.path(), StreamLimits::default());
    let (_, head, whole) = get(address, "", "");
    let etag = header(&head, "etag").to_owned();
    for from in [0, 1, 777, whole.len() - 1] {
        let (status, head, body) = get(address, "", &format!("Range: bytes={from}-\r\nIf-Range: {etag}\r\n"));
        let expected = format!("bytes {from}-{}/{}", whole.len() - 1, whole.len());
        assert_eq!((status, header(&head, "content-range")), (206, expected.as_str()));
        assert_eq!(header(&head, "content-length"), (whole.len() - from).to_string());
        assert!(body == whole[from..]);
    }
    assert_eq!(get(address, "", &format!("Range: bytes={}-\r\n", whole.len())).0, 416);
    assert_eq!(get(address, "", "Range: bytes=5-\r\nIf-Range: \"other\"\r\n").0, 200);
    assert_eq!(
        get(address, "format=text", "Range: bytes=5-\r\n").0,
        200,
        "the length of this format is unknown"
    );
}

#[test]
fn invalid_queries_are_rejected_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), 10);
    let address = serve(dir.path(), StreamLimits::default());
    for (query, status, expected) in [
        ("colour=red", 400, "unknown parameter"),
        ("site=nowhere.test", 404, "no site `nowhere.test`"),
        ("snapshot=7", 404, "no snapshot `7`"),
        ("after=7.1.2", 404, "no snapshot `7`"),
        ("after=1.0.0.0&order=crawl", 400, "another order"),
    ] {
        let (found, _, body) = get(address, query, "");
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(found, status, "{query}");
        assert!(body["error"].as_str().unwrap().contains(expected), "{body}");
    }
}

/// Proxy that closes its n-th connection after `after[n]` bytes of the response.
fn breaking_proxy(server: SocketAddr, after: &'static [usize]) -> SocketAddr {
    static CONNECTIONS: AtomicUsize = AtomicUsize::new(0);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let mut left =
                after.get(CONNECTIONS.fetch_add(1, Ordering::Relaxed)).copied().unwrap_or(usize::MAX);
            let mut upstream = TcpStream::connect(server).unwrap();
            let mut request = [0; 4096];
            let length = client.read(&mut request).unwrap();
            upstream.write_all(&request[..length]).unwrap();
            let mut buffer = [0; 1000];
            while left > 0 {
                let length = upstream.read(&mut buffer).unwrap().min(left);
                if length == 0 || client.write_all(&buffer[..length]).is_err() {
                    break;
                }
                left -= length;
            }
        }
    });
    address
}

#[test]
fn an_interrupted_stream_resumes_without_loss_or_repetition() {
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), 300);
    let server = serve(dir.path(), StreamLimits::default());
    // In the head, at its end, within chunks, before the first byte.
    let proxy = breaking_proxy(server, &[40, 300, 5_000, 0, 40_000, 3_333]);
    let query = StreamQuery::parse_query("format=jsonl").unwrap();
    let mut out = Vec::new();
    let mut remote = RemoteStream::new(&format!("http://{proxy}/"), &RemoteAccess::default(), query).unwrap();
    let bytes = remote.download(&mut out).unwrap();
    assert_eq!(bytes, out.len() as u64);
    assert!(out == local(dir.path(), "format=jsonl"));
}

#[test]
fn a_deleted_commit_stays_readable_for_clients_that_started_with_it() {
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), 300);
    let server = serve(dir.path(), StreamLimits::default());
    let (_, _, first) = get(server, "format=jsonl&limit=5", "");
    let rows: Vec<serde_json::Value> = first
        .split_inclusive(|byte| *byte == b'\n')
        .map(|row| serde_json::from_slice(row).unwrap())
        .collect();
    // Newer commits delete the old one.
    let mut collection = store::Collection::open(dir.path(), store::StoreSettings::default()).unwrap();
    for number in 0..20 {
        collection.commit(number).unwrap();
    }
    assert!(Snapshot::open(dir.path(), Some("1")).is_err());
    let cursor = rows[4]["cursor"].as_str().unwrap();
    let (status, head, rest) = get(server, &format!("format=jsonl&columns=url&after={cursor}"), "");
    assert_eq!((status, header(&head, "weir-snapshot")), (200, "1"));
    assert_eq!(rest.iter().filter(|byte| **byte == b'\n').count(), 295);
}

#[test]
fn client_limits_apply_and_disconnected_clients_free_their_streams() {
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), 3_000);
    let server = serve(dir.path(), StreamLimits { streams: 3, streams_per_client: 2 });
    // Two clients that do not read their responses; more data waits than fits into their sockets.
    let idle: Vec<TcpStream> = (0..2)
        .map(|_| {
            let mut idle = TcpStream::connect(server).unwrap();
            let columns = "text,simplified_html,links,body,main_text";
            write!(idle, "GET /stream?format=jsonl&columns={columns} HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
            idle.read_exact(&mut [0; 100]).unwrap();
            idle
        })
        .collect();
    let (status, head, _) = get(server, "limit=1", "");
    assert_eq!((status, header(&head, "retry-after")), (429, "5"));
    drop(idle);
    // The reader threads notice the disconnect at their next write; the client retries until then.
    let mut out = Vec::new();
    let mut remote = RemoteStream::new(
        &format!("http://{server}/stream"),
        &RemoteAccess::default(),
        StreamQuery::default(),
    )
    .unwrap();
    remote.download(&mut out).unwrap();
    assert!(out == local(dir.path(), ""));
}

#[test]
fn a_stream_ends_soon_after_its_client_has_disconnected() {
    const PAGES: usize = 3_000;
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), PAGES);
    let all_columns = "columns=text,simplified_html,links,main_text,language";
    for query in [
        // Nothing is sent before the end: no byte is left after the skipped ones, or no page matches.
        format!("format=jsonl&{all_columns}&byte_offset=1000000000000000"),
        "format=text&byte_offset=18446744073709551615".to_owned(),
        "format=jsonl&where=url+like+'%25nowhere%25'".to_owned(),
        "status=404&verify=1".to_owned(),
    ] {
        let service = StreamService::new(dir.path(), StreamLimits::default());
        let server = serve_streams(&service);
        // On a busy machine a stream may end before the server sees the disconnect; one that goes on regardless always does.
        let ended_early = (0..20).any(|_| pages_after_disconnect(&service, server, &query) < PAGES as u64);
        assert!(ended_early, "{query}: all pages were examined");
    }
}

/// Number of pages examined for a client that disconnects as soon as its stream is open.
fn pages_after_disconnect(service: &StreamService, server: SocketAddr, query: &str) -> u64 {
    let before = service.usage();
    let mut client = TcpStream::connect(server).unwrap();
    write!(client, "GET /stream?{query} HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    while service.usage() == before {
        thread::yield_now();
    }
    drop(client);
    while service.usage().open_streams > 0 {
        thread::yield_now();
    }
    service.usage().pages_examined - before.pages_examined
}

#[test]
fn a_stream_whose_client_waits_examines_all_pages() {
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), 300);
    let service = StreamService::new(dir.path(), StreamLimits::default());
    let server = serve_streams(&service);
    let (status, _, body) = get(server, "format=jsonl&status=404", "");
    assert_eq!((status, body.len()), (200, 0));
    while service.usage().open_streams > 0 {
        thread::yield_now();
    }
    assert_eq!(service.usage().pages_examined, 300);
}

#[test]
fn invalid_server_urls_and_rejected_queries_are_reported() {
    let error = |url: &str| {
        RemoteStream::new(url, &RemoteAccess::default(), StreamQuery::default()).err().unwrap().to_string()
    };
    assert!(error("ftp://a.test/").contains("expected http://"));
    assert!(error("nonsense").contains("invalid server URL"));
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), 10);
    let server = serve(dir.path(), StreamLimits::default());
    let query = StreamQuery::parse_query("site=nowhere.test").unwrap();
    let rejected = RemoteStream::new(&format!("http://{server}/"), &RemoteAccess::default(), query)
        .unwrap()
        .download(&mut Vec::new());
    assert!(matches!(rejected, Err(RemoteError::Rejected { status: 404, .. })), "{rejected:?}");
}
