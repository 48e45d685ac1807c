//! CPU time per page, from the request to the body. `cargo run --release -p fetch --example cost`
//!
//! Pages of 33 KB over 64 persistent connections to a server in this process; only the fetching thread is measured.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement, run by hand")]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use fetch::{FetchRequest, FetchSettings, Fetcher, SiteHeaders};
use model::UrlRules;
use tokio::task::LocalSet;

const PAGE_BYTES: usize = 33_000;
const CONNECTIONS: usize = 64;
const REQUESTS: usize = 2000;

fn main() {
    for (framing, chunk_bytes) in [("Content-Length", None), ("chunks of 4 KB", Some(4096))] {
        let server = start_server(chunk_bytes);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (started, cpu_before_ns) = (Instant::now(), thread_cpu_ns());
        LocalSet::new().block_on(&runtime, fetch_all(server));
        let requests = (CONNECTIONS * REQUESTS) as f64;
        let cpu_us = (thread_cpu_ns() - cpu_before_ns) as f64 / 1000.0 / requests;
        let rate = requests / started.elapsed().as_secs_f64();
        println!("{framing}: {cpu_us:.1} µs of CPU time per request, {rate:.0} requests per second");
    }
}

async fn fetch_all(server: SocketAddr) {
    let mut settings = FetchSettings::default();
    settings.network_filter.allow("127.0.0.0/8").unwrap();
    let fetcher = Rc::new(Fetcher::new(Arc::new(settings)).unwrap());
    let tasks: Vec<_> = (0..CONNECTIONS)
        .map(|_| tokio::task::spawn_local(fetch_over_one(Rc::clone(&fetcher), server)))
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

async fn fetch_over_one(fetcher: Rc<Fetcher>, server: SocketAddr) {
    let url = UrlRules::default().canonical(&format!("http://{server}/some/page.html")).unwrap();
    let request = FetchRequest {
        url: &url,
        address: server.ip(),
        site_headers: &SiteHeaders::NONE,
        if_none_match: None,
        if_modified_since: None,
        max_body_bytes: 400_000,
        any_mime_type: false,
        send_deadline: None,
        first_byte: None,
    };
    let mut reusable = None;
    for _ in 0..REQUESTS {
        let (response, connection) = fetcher.fetch(&request, reusable).await;
        assert_eq!((response.status, response.body.len()), (200, PAGE_BYTES));
        reusable = Some(connection.unwrap());
    }
}

fn start_server(chunk_bytes: Option<usize>) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let response = Arc::new(response(chunk_bytes));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let response = Arc::clone(&response);
            std::thread::spawn(move || serve(stream.unwrap(), &response));
        }
    });
    address
}

fn serve(mut stream: TcpStream, response: &[u8]) {
    // A request is small and arrives in one read.
    let mut request = [0; 4096];
    while matches!(stream.read(&mut request), Ok(1..)) {
        stream.write_all(response).unwrap();
    }
}

fn response(chunk_bytes: Option<usize>) -> Vec<u8> {
    let body = vec![b'x'; PAGE_BYTES];
    let head = "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nServer: example\r\nContent-Type: text/html\r\n\
                ETag: \"33a64df551425fcc\"\r\nVary: Accept-Encoding\r\n";
    match chunk_bytes {
        None => [format!("{head}Content-Length: {PAGE_BYTES}\r\n\r\n").into_bytes(), body].concat(),
        Some(size) => {
            let mut out = format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
            for chunk in body.chunks(size) {
                out.extend([format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat());
            }
            out.extend_from_slice(b"0\r\n\r\n");
            out
        }
    }
}

/// CPU time used by this thread.
fn thread_cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}
