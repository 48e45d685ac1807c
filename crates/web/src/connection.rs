//! What becomes of a connection? Requests are read from it and answered, one after the other, each in its time.
//!
//! No client can hold a connection by doing nothing: the head of a request, the agreement on TLS, and every piece of an answer have
//! their time. What comes behind a head has that of the whole request (`guard.rs`).

use std::net::IpAddr;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::clients::MOST_PER_CLIENT;
use crate::patient::{Patience, Patient};

/// The head of a request.
const MOST_HEAD_BYTES: usize = 32 << 10;
/// For it to come; also how long an idle connection is kept, and for an agreement on TLS.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// An answer of which nothing is taken for so long is given up.
const STALL_TIME: Duration = Duration::from_secs(20);
/// A stream may stand still longer: who takes it may do much work with each page.
const STREAM_STALL_TIME: Duration = Duration::from_secs(300);
/// For a sentence to be read before a connection is closed.
const REFUSAL_TIME: Duration = Duration::from_secs(1);
/// What a connection over TLS begins with: its first record is of this kind.
const HANDSHAKE: u8 = 22;

/// A connection that was just taken.
pub(crate) struct Connection {
    pub(crate) socket: TcpStream,
    pub(crate) peer: IpAddr,
    pub(crate) tls: Option<TlsAcceptor>,
}

impl Connection {
    /// Answers until the client goes, takes too long, or is asked to leave.
    pub(crate) async fn answer(self, router: Router, watcher: Watcher) {
        let Connection { socket, peer, tls } = self;
        let patience = Patience::new(STALL_TIME);
        let Some(tls) = tls else {
            let socket = Patient::new(socket, patience.clone());
            return speak(socket, peer, patience, router, watcher).await;
        };
        if is_plain(&socket).await {
            return say(socket, "400 Bad Request", "this server is asked over TLS: write https:// in front")
                .await;
        }
        let socket = Patient::new(socket, patience.clone());
        if let Ok(Ok(socket)) = timeout(HEAD_TIME, tls.accept(socket)).await {
            speak(socket, peer, patience, router, watcher).await;
        }
    }
}

async fn speak(
    socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: IpAddr,
    patience: Patience,
    router: Router,
    watcher: Watcher,
) {
    let routes = TowerToHyperService::new(router.layer(Extension(stream::ClientAddress(peer))));
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let is_stream = request.uri().path() == "/stream";
        patience.set(if is_stream { STREAM_STALL_TIME } else { STALL_TIME });
        routes.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(MOST_HEAD_BYTES)
        .serve_connection(TokioIo::new(socket), service);
    // A client that went away, or never spoke HTTP, is no failure of ours.
    let _ = watcher.watch(connection).await;
}

/// Whether a client that should speak TLS does not.
async fn is_plain(socket: &TcpStream) -> bool {
    let mut first = [0];
    let peeked = timeout(HEAD_TIME, socket.peek(&mut first)).await;
    matches!(peeked, Ok(Ok(1))) && first[0] != HANDSHAKE
}

/// Tells a client that it has too many connections.
pub(crate) async fn refuse(socket: TcpStream) {
    let sentence =
        format!("{MOST_PER_CLIENT} connections at once are enough for one client; close some, or wait");
    say(socket, "503 Service Unavailable\r\nRetry-After: 5", &sentence).await;
}

/// Answers whatever is asked with a sentence, and closes. The status may have header lines behind it.
async fn say(mut socket: TcpStream, status: &str, sentence: &str) {
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{sentence}\n",
        sentence.len() + 1
    );
    let exchange = async {
        socket.write_all(answer.as_bytes()).await?;
        socket.shutdown().await?;
        // Who closes on what was not read takes back what was said.
        let mut unread = [0; 4096];
        while socket.read(&mut unread).await? > 0 {}
        std::io::Result::Ok(())
    };
    // Whether it arrives is the client's business.
    let _ = timeout(REFUSAL_TIME, exchange).await;
}
