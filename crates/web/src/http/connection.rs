//! Serving of one connection: reads requests and sends responses, with a timeout for each step.
//!
//! A client cannot hold a connection by doing nothing: request headers, the TLS handshake and each write have a timeout. The request
//! body is covered by the timeout of the whole request (`auth/middleware.rs`).

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::IpAddr;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use hyper_util::service::TowerToHyperService;
use stream::{ConnectionActivity, ConnectionPermit, ConnectionRefusal};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::http::active_body::ActiveBody;
use crate::http::stall_timeout::{StallTimeout, WriteTimeout};

/// Maximum size of the request headers.
const MAX_HEADER_BYTES: usize = 32 << 10;
/// Timeout for the request headers and for the TLS handshake; also the maximum idle time of a connection.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
/// Timeout for a write of which the client accepts nothing.
const STALL_TIMEOUT: Duration = Duration::from_secs(20);
/// Stall timeout of `/stream`, whose clients may do much work per page between two reads.
const STREAM_STALL_TIMEOUT: Duration = Duration::from_secs(300);
/// Time for the client to read a refusal before the connection is closed.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// Content type of the first TLS record (RFC 8446, section 5.1): handshake.
const TLS_HANDSHAKE_RECORD: u8 = 22;

/// An accepted connection.
pub(crate) struct Connection {
    pub(crate) socket: TcpStream,
    pub(crate) peer: IpAddr,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) permit: ConnectionPermit,
}

impl Connection {
    /// Serves requests until the client closes, a timeout expires, the connection is replaced while idle, or the server
    /// shuts down.
    pub(crate) async fn serve(self, router: Router, watcher: Watcher) {
        let Connection { socket, peer, tls, permit } = self;
        let client = Client { peer, activity: permit.activity().clone() };
        tokio::select! {
            () = client.serve(socket, tls, router, watcher) => {}
            () = poll_fn(|context| permit.activity().poll_replaced(context)) => {}
        }
    }
}

/// Client of a connection.
struct Client {
    peer: IpAddr,
    activity: ConnectionActivity,
}

impl Client {
    async fn serve(&self, socket: TcpStream, tls: Option<TlsAcceptor>, router: Router, watcher: Watcher) {
        let write_timeout = WriteTimeout::new(STALL_TIMEOUT);
        if tls.is_some() && is_plain(&socket).await {
            return send_plain_response(socket, "400 Bad Request", "this port serves HTTPS").await;
        }
        let socket = StallTimeout::new(socket, write_timeout.clone(), self.activity.clone());
        let Some(tls) = tls else {
            return self.serve_http(socket, write_timeout, router, watcher).await;
        };
        if let Ok(Ok(socket)) = timeout(HEADER_TIMEOUT, tls.accept(socket)).await {
            self.serve_http(socket, write_timeout, router, watcher).await;
        }
    }

    async fn serve_http(
        &self,
        socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        write_timeout: WriteTimeout,
        router: Router,
        watcher: Watcher,
    ) {
        let routes = TowerToHyperService::new(router.layer(Extension(stream::ClientAddress(self.peer))));
        let activity = self.activity.clone();
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let is_stream = request.uri().path() == "/stream";
            write_timeout.set(if is_stream { STREAM_STALL_TIMEOUT } else { STALL_TIMEOUT });
            let active_request = activity.begin_request();
            let response = routes.call(request);
            async move {
                let response = response.await?;
                Ok::<_, Infallible>(response.map(|body| ActiveBody { body, _active_request: active_request }))
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .max_buf_size(MAX_HEADER_BYTES)
            .serve_connection(TokioIo::new(socket), service);
        // Errors of the client (disconnect, invalid HTTP) need no handling.
        let _ = watcher.watch(connection).await;
    }
}

/// Whether the client sends plain HTTP to a TLS port.
async fn is_plain(socket: &TcpStream) -> bool {
    let mut first = [0];
    let peeked = timeout(HEADER_TIMEOUT, socket.peek(&mut first)).await;
    matches!(peeked, Ok(Ok(1))) && first[0] != TLS_HANDSHAKE_RECORD
}

/// Sends a 503 response with the reason of a refusal.
pub(crate) async fn refuse(socket: TcpStream, refusal: ConnectionRefusal) {
    let status = "503 Service Unavailable\r\nRetry-After: 5";
    send_plain_response(socket, status, &refusal.to_string()).await;
}

/// Sends a plain-text response and closes the connection. `status` may be followed by header lines.
async fn send_plain_response(mut socket: TcpStream, status: &str, message: &str) {
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{message}\n",
        message.len() + 1
    );
    let exchange = async {
        socket.write_all(response.as_bytes()).await?;
        socket.shutdown().await?;
        // Closing a socket with unread data sends RST, which may discard the response before the client reads it.
        let mut unread = [0; 4096];
        while socket.read(&mut unread).await? > 0 {}
        std::io::Result::Ok(())
    };
    // Best effort: the client may be gone.
    let _ = timeout(REFUSAL_TIMEOUT, exchange).await;
}
