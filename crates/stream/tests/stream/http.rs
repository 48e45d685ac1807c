//! Streams over HTTP: what comes is what is stored, in parts and from any byte on, whatever breaks in between.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use store::Snapshot;
use stream::{Access, Ask, Outflow, Remote, RemoteError, StreamLimits};

use super::sample;

/// A server on loopback, until the process ends.
pub(crate) fn serve(folder: &Path, limits: StreamLimits) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let router: axum::Router = stream::router(folder, limits);
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

/// Status, head and body of one answer.
fn get(address: SocketAddr, query: &str, headers: &str) -> (u16, String, Vec<u8>) {
    let mut connection = TcpStream::connect(address).unwrap();
    let request = format!("GET /stream?{query} HTTP/1.0\r\nHost: localhost\r\n{headers}\r\n");
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let body = answer.split_off(end + 4);
    let head = String::from_utf8(answer).unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head, body)
}

fn header<'h>(head: &'h str, name: &str) -> &'h str {
    let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:"))).unwrap();
    line.split_once(':').unwrap().1.trim()
}

/// What a stream gives locally.
pub(crate) fn local(folder: &Path, query: &str) -> Vec<u8> {
    let snapshot = Snapshot::open(folder, None).unwrap();
    let mut outflow = Outflow::open(&snapshot, &Ask::of_query(query).unwrap()).unwrap();
    let mut out = Vec::new();
    while outflow.next_into(&mut out).unwrap().is_some() {}
    out
}

const QUERIES: [&str; 7] = [
    "",
    "format=jsonl",
    "format=text&site=a.test",
    "format=urls&part=2/3",
    "format=wet&order=site",
    "format=jsonl&columns=url,links,position&max=17",
    "verify=1&status=200&language=la",
];

#[test]
fn what_comes_over_http_is_what_comes_locally() {
    let folder = tempfile::tempdir().unwrap();
    sample::make(folder.path(), 300);
    let address = serve(folder.path(), StreamLimits::default());
    for query in QUERIES {
        let (status, head, body) = get(address, query, "");
        assert_eq!((status, header(&head, "weir-snapshot")), (200, "1"), "{query}");
        assert!(body == local(folder.path(), query) && !body.is_empty(), "{query}");
        let tag = header(&head, "etag");
        assert_eq!(get(address, query, &format!("If-None-Match: {tag}\r\n")).0, 304);
        let (_, _, rest) = get(address, &format!("{query}&skip=1234"), "");
        assert!(rest == body[1234.min(body.len())..], "{query}");
    }
}

#[test]
fn a_range_of_forwarded_records_is_the_rest_of_them() {
    let folder = tempfile::tempdir().unwrap();
    sample::make(folder.path(), 300);
    let address = serve(folder.path(), StreamLimits::default());
    let (_, head, whole) = get(address, "", "");
    let tag = header(&head, "etag").to_owned();
    for from in [0, 1, 777, whole.len() - 1] {
        let (status, head, body) = get(address, "", &format!("Range: bytes={from}-\r\nIf-Range: {tag}\r\n"));
        let expected = format!("bytes {from}-{}/{}", whole.len() - 1, whole.len());
        assert_eq!((status, header(&head, "content-range")), (206, expected.as_str()));
        assert_eq!(header(&head, "content-length"), (whole.len() - from).to_string());
        assert!(body == whole[from..]);
    }
    assert_eq!(get(address, "", &format!("Range: bytes={}-\r\n", whole.len())).0, 416);
    assert_eq!(get(address, "", "Range: bytes=5-\r\nIf-Range: \"other\"\r\n").0, 200);
    assert_eq!(get(address, "format=text", "Range: bytes=5-\r\n").0, 200, "its length is not known");
}

#[test]
fn wrong_wishes_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    sample::make(folder.path(), 10);
    let address = serve(folder.path(), StreamLimits::default());
    for (query, status, expected) in [
        ("colour=red", 400, "cannot be asked for"),
        ("site=nowhere.test", 404, "knows no site"),
        ("snapshot=7", 404, "there is no snapshot 7"),
        ("from=7.1.2", 404, "there is no snapshot 7"),
        ("from=1.0.0.0&order=crawl", 400, "another order"),
    ] {
        let (found, _, body) = get(address, query, "");
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(found, status, "{query}");
        assert!(body["error"].as_str().unwrap().contains(expected), "{body}");
    }
}

/// Lets bytes through to the server, and breaks each connection after so many of them.
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
            let mut piece = [0; 1000];
            while left > 0 {
                let length = upstream.read(&mut piece).unwrap().min(left);
                if length == 0 || client.write_all(&piece[..length]).is_err() {
                    break;
                }
                left -= length;
            }
        }
    });
    address
}

#[test]
fn a_broken_stream_goes_on_without_loss_or_repeat() {
    let folder = tempfile::tempdir().unwrap();
    sample::make(folder.path(), 300);
    let server = serve(folder.path(), StreamLimits::default());
    // In the head, at its end, in the middle of chunks, at once.
    let proxy = breaking_proxy(server, &[40, 300, 5_000, 0, 40_000, 3_333]);
    let ask = Ask::of_query("format=jsonl").unwrap();
    let mut out = Vec::new();
    let mut remote = Remote::new(&format!("http://{proxy}/"), &Access::default(), ask).unwrap();
    let bytes = remote.pour(&mut out).unwrap();
    assert_eq!(bytes, out.len() as u64);
    assert!(out == local(folder.path(), "format=jsonl"));
}

#[test]
fn a_commit_stays_open_for_those_who_have_begun_with_it() {
    let folder = tempfile::tempdir().unwrap();
    sample::make(folder.path(), 300);
    let server = serve(folder.path(), StreamLimits::default());
    let (_, _, first) = get(server, "format=jsonl&max=5", "");
    let rows: Vec<serde_json::Value> = first
        .split_inclusive(|byte| *byte == b'\n')
        .map(|row| serde_json::from_slice(row).unwrap())
        .collect();
    // Newer commits let the old one go.
    let mut collection = store::Collection::open(folder.path(), store::StoreSettings::default()).unwrap();
    for number in 0..20 {
        collection.commit(number).unwrap();
    }
    assert!(Snapshot::open(folder.path(), Some("1")).is_err());
    let position = rows[4]["position"].as_str().unwrap();
    let (status, head, rest) = get(server, &format!("format=jsonl&columns=url&from={position}"), "");
    assert_eq!((status, header(&head, "weir-snapshot")), (200, "1"));
    assert_eq!(rest.iter().filter(|byte| **byte == b'\n').count(), 295);
}

#[test]
fn clients_that_take_too_much_or_go_away_leave_room_for_others() {
    let folder = tempfile::tempdir().unwrap();
    sample::make(folder.path(), 3_000);
    let server = serve(folder.path(), StreamLimits { streams: 3, streams_per_client: 2 });
    // Two clients that ask and do not read; more than fits into their sockets waits for them.
    let lazy: Vec<TcpStream> = (0..2)
        .map(|_| {
            let mut lazy = TcpStream::connect(server).unwrap();
            let columns = "text,kept,links,body,main_text";
            write!(lazy, "GET /stream?format=jsonl&columns={columns} HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
            lazy.read_exact(&mut [0; 100]).unwrap();
            lazy
        })
        .collect();
    let (status, head, _) = get(server, "max=1", "");
    assert_eq!((status, header(&head, "retry-after")), (429, "5"));
    drop(lazy);
    // Their threads notice when they write; until then a client that waits gets its turn.
    let mut out = Vec::new();
    let mut remote =
        Remote::new(&format!("http://{server}/stream"), &Access::default(), Ask::default()).unwrap();
    remote.pour(&mut out).unwrap();
    assert!(out == local(folder.path(), ""));
}

#[test]
fn what_is_no_server_is_told() {
    let wrong = |url: &str| Remote::new(url, &Access::default(), Ask::default()).err().unwrap().to_string();
    assert!(wrong("ftp://a.test/").contains("only http://"));
    assert!(wrong("nonsense").contains("is no server of streams"));
    let folder = tempfile::tempdir().unwrap();
    sample::make(folder.path(), 10);
    let server = serve(folder.path(), StreamLimits::default());
    let ask = Ask::of_query("site=nowhere.test").unwrap();
    let refused =
        Remote::new(&format!("http://{server}/"), &Access::default(), ask).unwrap().pour(&mut Vec::new());
    assert!(matches!(refused, Err(RemoteError::Refused { status: 404, .. })), "{refused:?}");
}
