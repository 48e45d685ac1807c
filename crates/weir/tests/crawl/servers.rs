//! Programmable HTTP servers, each on its own IP address, and a DNS server.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// HTTP server with a request log. Each connection has one request.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) name: String,
    log: Arc<Mutex<Vec<LoggedRequest>>>,
}

/// Request with its times.
#[derive(Debug, Clone)]
pub(crate) struct LoggedRequest {
    pub(crate) path: String,
    pub(crate) began: Instant,
    /// Time at which the last byte of the response was written.
    pub(crate) ended: Option<Instant>,
}

/// Client of a connection.
pub(crate) struct Peer {
    stream: TcpStream,
    /// Bytes of the request that were read.
    head: Vec<u8>,
}

impl Server {
    /// Starts a site without robots.txt.
    pub(crate) fn site(
        name: &str,
        ip: impl Into<Ipv4Addr>,
        serve: impl Fn(&str, &mut Peer) + Send + Sync + 'static,
    ) -> Server {
        Server::start(name, ip, move |path, peer| match path {
            "/robots.txt" | "/robots.rdf" | "/sitemap.xml" => peer.status("404 Not Found", ""),
            _ => serve(path, peer),
        })
    }

    pub(crate) fn start(
        name: &str,
        ip: impl Into<Ipv4Addr>,
        serve: impl Fn(&str, &mut Peer) + Send + Sync + 'static,
    ) -> Server {
        Server::start_at(name, SocketAddr::from((ip.into(), 0)), serve)
    }

    pub(crate) fn start_at(
        name: &str,
        address: SocketAddr,
        serve: impl Fn(&str, &mut Peer) + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let (serve, kept) = (Arc::new(serve), Arc::clone(&log));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (serve, log) = (Arc::clone(&serve), Arc::clone(&kept));
                std::thread::spawn(move || handle(Peer { stream, head: Vec::new() }, &log, &*serve));
            }
        });
        Server { address, name: format!("{name}.test"), log }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}:{}{path}", self.name, self.address.port())
    }

    /// All requests so far, in order; a connection without a request has an empty path.
    pub(crate) fn log(&self) -> Vec<LoggedRequest> {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.log().into_iter().map(|request| request.path).collect()
    }
}

/// Settings with static addresses of the servers.
pub(crate) fn hosts(servers: &[&Server]) -> String {
    let hosts: Vec<String> =
        servers.iter().map(|server| format!("'{}' = '{}'", server.name, server.address.ip())).collect();
    let hosts = hosts.join(", ");
    format!("dns.hosts = {{ {hosts} }}\nnetwork.allowed_networks = ['127.0.0.0/8']\nscope.accept = ['*']\n")
}

fn handle(mut peer: Peer, log: &Mutex<Vec<LoggedRequest>>, serve: &dyn Fn(&str, &mut Peer)) {
    let path = peer.request().unwrap_or_default();
    let number = {
        let mut log = log.lock().unwrap();
        log.push(LoggedRequest { path: path.clone(), began: Instant::now(), ended: None });
        log.len() - 1
    };
    serve(&path, &mut peer);
    log.lock().unwrap()[number].ended = Some(Instant::now());
}

impl Peer {
    /// Reads the request line and returns the path.
    fn request(&mut self) -> Option<String> {
        self.read_to("\r\n")
            .then(|| String::from_utf8_lossy(&self.head).split(' ').nth(1).map(str::to_owned))?
    }

    fn read_to(&mut self, end: &str) -> bool {
        let mut byte = [0];
        while !self.head.ends_with(end.as_bytes()) {
            match self.stream.read(&mut byte) {
                Ok(1) => self.head.push(byte[0]),
                _ => return false,
            }
        }
        true
    }

    /// Sends bytes. Returns whether the connection is open.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.read_to("\r\n\r\n") && self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Sends bytes before the request is read completely, so that the connection is reset when it is closed.
    pub(crate) fn interrupt(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref());
    }

    /// Sends the same bytes repeatedly until the client closes the connection.
    pub(crate) fn send_forever(&mut self, bytes: impl AsRef<[u8]>) {
        while self.send(bytes.as_ref()) {}
    }

    /// Sends a response with a status, additional header lines and an empty body.
    pub(crate) fn status(&mut self, status: &str, lines: &str) {
        self.send(format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n{lines}\r\n"));
    }

    pub(crate) fn redirect(&mut self, to: &str) {
        self.status("302 Found", &format!("Location: {to}\r\n"));
    }

    /// Sends an HTML page.
    pub(crate) fn page(&mut self, body: &str) {
        self.content("text/html", "", body);
    }

    /// Sends a body with additional header lines.
    pub(crate) fn content(&mut self, mime_type: &str, lines: &str, body: impl AsRef<[u8]>) {
        let length = body.as_ref().len();
        self.send(format!(
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: {mime_type}\r\nContent-Length: {length}\r\n{lines}\r\n"
        ));
        self.send(body);
    }
}

/// Starts a DNS server. `resolve` returns the address of a name, given the number of earlier queries for it.
pub(crate) fn name_server(resolve: impl Fn(&str, usize) -> Option<Ipv4Addr> + Send + 'static) -> SocketAddr {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = socket.local_addr().unwrap();
    serve_names(socket, resolve);
    address
}

/// Responds to the queries that arrive at a socket.
pub(crate) fn serve_names(
    socket: UdpSocket,
    resolve: impl Fn(&str, usize) -> Option<Ipv4Addr> + Send + 'static,
) {
    std::thread::spawn(move || {
        let mut queries: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
        let mut buffer = [0; 1024];
        while let Ok((length, client)) = socket.recv_from(&mut buffer) {
            let Some((name, end)) = question(&buffer[..length]) else { continue };
            let is_ipv4 = buffer[end..end + 2] == [0, 1];
            let mut found = None;
            if is_ipv4 {
                let times = queries.entry(name.clone()).or_default();
                found = resolve(&name, *times);
                *times += 1;
            }
            let _ = socket.send_to(&reply(&buffer[..end + 4], found), client);
        }
    });
}

/// Name of a query and the offset of its end.
fn question(message: &[u8]) -> Option<(String, usize)> {
    let (mut labels, mut at) = (Vec::new(), 12);
    loop {
        let length = usize::from(*message.get(at)?);
        at += 1;
        if length == 0 {
            return (message.len() >= at + 4).then(|| (labels.join("."), at));
        }
        labels.push(String::from_utf8_lossy(message.get(at..at + length)?).to_lowercase());
        at += length;
    }
}

fn reply(question: &[u8], found: Option<Ipv4Addr>) -> Vec<u8> {
    let mut message = question.to_vec();
    // Flags: authoritative response without an error. One question, and one answer with TTL 0.
    message[2..4].copy_from_slice(&[0x85, 0x80]);
    message[4..12].copy_from_slice(&[0, 1, 0, u8::from(found.is_some()), 0, 0, 0, 0]);
    if let Some(address) = found {
        message.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        message.extend(address.octets());
    }
    message
}
