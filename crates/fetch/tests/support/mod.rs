//! Little servers that do what they are told, on real sockets, and a fetcher in a hurry.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fetch::{Answer, Connection, FetchJob, FetchSettings, Fetcher, SiteRequest};
use model::{CanonicalUrl, UrlRules};

/// A server whose connections are each given to one function in a thread of its own.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

/// One connection of a server.
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

    /// Answers every request on every connection with the same bytes.
    pub(crate) fn saying(answer: impl AsRef<[u8]> + Send + Sync + 'static) -> Server {
        Server::start(move |_, mut peer| {
            while peer.request().is_some() {
                peer.say(answer.as_ref());
            }
        })
    }

    /// Answers one request with these bytes and closes.
    pub(crate) fn saying_once(answer: impl AsRef<[u8]> + Send + Sync + 'static) -> Server {
        Server::start(move |_, mut peer| {
            peer.request();
            peer.say(answer.as_ref());
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
    /// Waits for the head of a request; none when the client has gone.
    pub(crate) fn request(&mut self) -> Option<String> {
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

    /// Waits for a line.
    pub(crate) fn line(&mut self) -> Option<String> {
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

    /// Sends; whether the client still takes it.
    pub(crate) fn say(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Sends the same again and again until the client has had enough.
    pub(crate) fn say_for_ever(&mut self, bytes: impl AsRef<[u8]>, pause: Duration) {
        while self.say(bytes.as_ref()) {
            std::thread::sleep(pause);
        }
    }

    /// Waits until the client closes.
    pub(crate) fn wait_for_end(&mut self) {
        let mut buffer = [0; 1024];
        while matches!(self.stream.read(&mut buffer), Ok(1..)) {}
    }
}

pub(crate) fn url(text: &str) -> CanonicalUrl {
    UrlRules::default().canonical(text).unwrap()
}

/// Settings that allow loopback and wait for nobody.
pub(crate) fn settings() -> FetchSettings {
    let mut settings = FetchSettings {
        agent: "tester/1.0 (+https://example.org/tester)".to_owned(),
        connect_timeout: Duration::from_secs(10),
        first_byte_timeout: Duration::from_secs(10),
        total_timeout: Duration::from_secs(20),
        ..FetchSettings::default()
    };
    settings.networks.allow("127.0.0.0/8").unwrap();
    settings
}

pub(crate) fn fetcher(settings: FetchSettings) -> Fetcher {
    Fetcher::new(Arc::new(settings)).unwrap()
}

static NOTHING: SiteRequest = SiteRequest::NOTHING;

/// A page of 1,000 bytes at most, at the address in its URL.
pub(crate) fn job(url: &CanonicalUrl) -> FetchJob<'_> {
    FetchJob {
        url,
        address: Ipv4Addr::LOCALHOST.into(),
        extra: &NOTHING,
        if_none_match: None,
        if_modified_since: None,
        body_bytes: 1000,
        any_media_type: false,
        send_before: None,
    }
}

/// Fetches once over a new connection.
pub(crate) async fn get(settings: FetchSettings, url: &CanonicalUrl) -> Answer {
    fetcher(settings).fetch(&job(url), None).await.0
}

/// Fetches over a connection that may be kept.
pub(crate) async fn get_kept(
    fetcher: &Fetcher,
    url: &CanonicalUrl,
    kept: Option<Connection>,
) -> (Answer, Option<Connection>) {
    fetcher.fetch(&job(url), kept).await
}

pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}
