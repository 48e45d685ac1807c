//! Scripted servers on real sockets, and a fetcher with short timeouts.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fetch::{Connection, FetchRequest, FetchSettings, Fetcher, Response, SiteHeaders};
use model::{CanonicalUrl, UrlRules};

/// Server that runs a function in a new thread for each connection.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

/// Connection of a server to its client.
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn start(serve: impl Fn(usize, Peer) + Send + Sync + 'static) -> Server {
        Server::start_at(Ipv4Addr::LOCALHOST, serve)
    }

    pub(crate) fn start_at(host: Ipv4Addr, serve: impl Fn(usize, Peer) + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind((host, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let server =
            Server { address, connections: Arc::clone(&connections), requests: Arc::clone(&requests) };
        let serve = Arc::new(serve);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let number = connections.fetch_add(1, Ordering::SeqCst);
                let peer = Peer { stream: stream.unwrap(), requests: Arc::clone(&requests) };
                let serve = Arc::clone(&serve);
                std::thread::spawn(move || serve(number, peer));
            }
        });
        server
    }

    /// Responds to every request on every connection with the same bytes.
    pub(crate) fn responding(response: impl AsRef<[u8]> + Send + Sync + 'static) -> Server {
        Server::start(move |_, mut peer| {
            while peer.read_request().is_some() {
                peer.send(response.as_ref());
            }
        })
    }

    /// Responds to one request with these bytes and closes.
    pub(crate) fn responding_once(response: impl AsRef<[u8]> + Send + Sync + 'static) -> Server {
        Server::start(move |_, mut peer| {
            peer.read_request();
            peer.send(response.as_ref());
        })
    }

    pub(crate) fn url(&self, path: &str) -> CanonicalUrl {
        url(&format!("http://{}{path}", self.address))
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Peer {
    /// Reads the head of a request; `None` after the client has closed.
    pub(crate) fn read_request(&mut self) -> Option<String> {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            match self.stream.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return None,
            }
        }
        let head = String::from_utf8(head).unwrap();
        self.requests.lock().unwrap().push(head.clone());
        Some(head)
    }

    /// Reads a line; `None` after the client has closed.
    pub(crate) fn read_line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let mut byte = [0];
        while !line.ends_with(b"\r\n") {
            match self.stream.read(&mut byte) {
                Ok(1) => line.push(byte[0]),
                _ => return None,
            }
        }
        let line = String::from_utf8(line).unwrap().trim_end().to_owned();
        self.requests.lock().unwrap().push(line.clone());
        Some(line)
    }

    /// Sends bytes; returns whether the client still accepts them.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Sends the same bytes repeatedly until the client closes.
    pub(crate) fn send_forever(&mut self, bytes: impl AsRef<[u8]>, pause: Duration) {
        while self.send(bytes.as_ref()) {
            std::thread::sleep(pause);
        }
    }

    /// Waits until the client closes.
    pub(crate) fn wait_for_close(&mut self) {
        let mut buffer = [0; 1024];
        while matches!(self.stream.read(&mut buffer), Ok(1..)) {}
    }
}

pub(crate) fn url(text: &str) -> CanonicalUrl {
    UrlRules::default().canonical(text).unwrap()
}

/// Settings that allow loopback and have short timeouts.
pub(crate) fn settings() -> FetchSettings {
    let mut settings = FetchSettings {
        user_agent: "tester/1.0 (+https://example.org/tester)".to_owned(),
        connect_timeout: Duration::from_secs(10),
        first_byte_timeout: Duration::from_secs(10),
        total_timeout: Duration::from_secs(20),
        ..FetchSettings::default()
    };
    settings.network_filter.allow("127.0.0.0/8").unwrap();
    settings
}

pub(crate) fn fetcher(settings: FetchSettings) -> Fetcher {
    Fetcher::new(Arc::new(settings)).unwrap()
}

static NO_HEADERS: SiteHeaders = SiteHeaders::NONE;

/// Request for a page of at most 1,000 bytes on loopback.
pub(crate) fn request_for(url: &CanonicalUrl) -> FetchRequest<'_> {
    FetchRequest {
        url,
        address: Ipv4Addr::LOCALHOST.into(),
        site_headers: &NO_HEADERS,
        if_none_match: None,
        if_modified_since: None,
        max_body_bytes: 1000,
        any_mime_type: false,
        send_deadline: None,
        first_byte: None,
    }
}

/// Fetches once over a new connection.
pub(crate) async fn get(settings: FetchSettings, url: &CanonicalUrl) -> Response {
    fetcher(settings).fetch(&request_for(url), None).await.0
}

/// Fetches over an open connection, if there is one.
pub(crate) async fn get_reusing(
    fetcher: &Fetcher,
    url: &CanonicalUrl,
    reusable: Option<Connection>,
) -> (Response, Option<Connection>) {
    fetcher.fetch(&request_for(url), reusable).await
}

pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}
