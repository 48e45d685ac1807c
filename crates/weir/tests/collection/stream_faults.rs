//! Faults of streams: many concurrent slow clients, and servers that are killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::Path;
use std::process::{Command, Stdio};

use model::UrlBatch;
use model::UrlRules;
use store::{Collection, PageFlags, PageRecord, StoreSettings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use warc::Capture;

use super::stream::Server;
use super::venv::venv;
use super::weir;

const CLIENTS: u8 = 100;
/// Maximum growth of the memory of a server per client; a large collection takes 6 MB more for locations.
const CLIENT_BYTES: u64 = 4 << 20;

/// Creates pages of 60 kB that do not compress well: more than fits in all buffers between a server and a stalled client.
fn make(dir: &Path, pages: usize) {
    let mut collection = Collection::create(dir, StoreSettings::default()).unwrap();
    let url = |number: usize| format!("https://{}.test/{number}", ["a", "b", "c"][number % 3]);
    let mut batch = UrlBatch::new();
    (0..pages).for_each(|number| batch.push(&UrlRules::default().canonical(&url(number)).unwrap()));
    let describe = |page: &store::NewPage| PageRecord::new(page.site, 0, PageFlags::default());
    let ids = collection.resolve(&batch, 1, describe).unwrap().pages;
    let mut state = 1u64;
    for (number, page) in ids.iter().enumerate() {
        let letter = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            b'0' + (state >> 58) as u8
        };
        let body: Vec<u8> = (0..60_000).map(letter).collect();
        let capture = Capture {
            url: &url(number),
            fetched_at_ms: 1_794_731_400_000 + number as i64,
            ip_address: None,
            protocols: &[],
            head: b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n",
            body: &body,
            truncated: None,
            request: None,
            metadata: &[],
        };
        let stored = collection.page_store.append(&capture, None).unwrap().location;
        collection.page_state.update(&[*page], |_, page| page.record_location = Some(stored)).unwrap();
    }
    collection.commit(1_794_731_400_000).unwrap();
}

/// Sends a request from an IP address of its own, with a small receive buffer.
async fn request(server: SocketAddr, client: u8) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(8 << 10).unwrap();
    socket.bind(SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, 2 + client), 0).into()).unwrap();
    let mut connection = socket.connect(server).await.unwrap();
    let request = format!("GET /stream HTTP/1.0\r\nHost: {server}\r\n\r\n");
    connection.write_all(request.as_bytes()).await.unwrap();
    connection
}

/// Reads the body of a response.
async fn body(mut connection: TcpStream) -> Vec<u8> {
    let mut response = Vec::new();
    connection.read_to_end(&mut response).await.unwrap();
    let head = response.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    response.split_off(head + 4)
}

#[test]
fn a_hundred_slow_clients_get_all_pages_and_the_memory_of_the_server_stays_bounded() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    make(&dir.join("c"), 160);
    let whole = weir(dir, &["cat", "DIR/c"]).stdout;
    let server = Server::start(&dir.join("c"), &[]);
    let address: SocketAddr = server.url["http://".len()..].trim_end_matches('/').parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        assert!(body(request(address, CLIENTS).await).await == whole);
        let before = server.peak_bytes();
        let mut stalled = Vec::new();
        for client in 0..CLIENTS {
            let mut connection = request(address, client).await;
            let mut status = [0; 12];
            connection.read_exact(&mut status).await.unwrap();
            assert_eq!(status.escape_ascii().to_string(), "HTTP/1.0 200");
            stalled.push(connection);
        }
        // A tenth of them disconnect.
        stalled.truncate(usize::from(CLIENTS) * 9 / 10);
        let clients: Vec<_> =
            stalled.into_iter().map(|connection| tokio::spawn(async { body(connection).await })).collect();
        for client in clients {
            assert!(client.await.unwrap() == whole);
        }
        let grown = server.peak_bytes() - before;
        assert!(grown <= u64::from(CLIENTS) * CLIENT_BYTES, "{grown} bytes for {CLIENTS} clients");
    });
}

#[test]
fn cat_resumes_after_the_server_was_killed_and_restarted() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    make(&dir.join("c"), 400);
    let mut server = Server::start(&dir.join("c"), &[]);
    for arguments in [&["--format", "warc"][..], &["--format", "jsonl", "--columns", "url,body"]] {
        let whole = weir(dir, &[&["cat", "DIR/c"], arguments].concat()).stdout;
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        let mut cat = command
            .arg("cat")
            .arg(&server.url)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = cat.stdout.take().unwrap();
        let mut received = vec![0; 100_000];
        out.read_exact(&mut received).unwrap();
        server.restart();
        let half = whole.len() / 2;
        received.resize(half, 0);
        out.read_exact(&mut received[100_000..]).unwrap();
        server.restart();
        out.read_to_end(&mut received).unwrap();
        let ended = cat.wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!((ended.status.code(), error.as_str()), (Some(0), ""));
        assert!(received == whole, "{} bytes of {}", received.len(), whole.len());
    }
}

/// Pages that a script received while the server was killed twice.
fn received_by_python(server: &mut Server, bin: &Path, method: &str) -> Vec<serde_json::Value> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let url = if method == "flight" { server.flight.clone().unwrap() } else { server.url.clone() };
    let mut script = Command::new(bin.join("python"))
        .env("PYTHONPATH", tests.join("../../python/src"))
        .arg(tests.join("tests/python/resume_stream.py"))
        .args([method, &url])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut resume = script.stdin.take().unwrap();
    let mut lines = BufReader::new(script.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        assert_eq!(lines.next().unwrap().unwrap(), "stopped", "{method}");
        server.restart();
        writeln!(resume, "resume").unwrap();
    }
    let received = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert!(script.wait().unwrap().success(), "{method}");
    received
}

fn resumes_in_python(methods: &[&str], arguments: &[&str]) {
    let Some(bin) = venv() else { return };
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    make(&dir.join("c"), 400);
    let mut server = Server::start(&dir.join("c"), arguments);
    let rows = weir(dir, &["cat", "DIR/c", "--format", "jsonl", "--columns", "page_id,url"]).stdout;
    let rows: Vec<serde_json::Value> =
        rows.lines().map(|row| serde_json::from_str(&row.unwrap()).unwrap()).collect();
    for method in methods {
        let column = if *method == "records" { "url" } else { "page_id" };
        let expected: Vec<serde_json::Value> = rows.iter().map(|row| row[column].clone()).collect();
        assert!(received_by_python(&mut server, &bin, method) == expected, "{method}");
    }
}

#[test]
fn python_resumes_after_the_server_was_killed_and_restarted() {
    resumes_in_python(&["stream", "records"], &[]);
}

#[test]
#[cfg(feature = "flight")]
fn python_resumes_by_flight_after_the_server_was_killed_and_restarted() {
    resumes_in_python(&["flight"], &["--flight-listen", "127.0.0.1:0"]);
}
