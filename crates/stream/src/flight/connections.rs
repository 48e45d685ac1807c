//! Connections of the Flight server: limited in number, closed if they do not begin with a request, and replaced while they
//! have no request in progress if the server is full.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};
use tonic::Request;
use tonic::transport::server::{Connected, TcpIncoming, TlsConnectInfo};

use crate::connection_table::{ConnectionActivity, ConnectionPermit, ConnectionTable};

/// Timeout for the first bytes of a connection; keep-alive pings detect dead clients afterwards.
const PREFACE_TIMEOUT: Duration = Duration::from_secs(15);

/// Length of the preface of HTTP/2 (RFC 9113, section 3.4); a TLS handshake is longer.
const PREFACE_BYTES: usize = 24;

/// Accepts connections up to the limits of the server and of each client.
pub(super) struct LimitedIncoming {
    incoming: TcpIncoming,
    table: Arc<ConnectionTable>,
}

impl LimitedIncoming {
    pub(super) fn new(incoming: TcpIncoming) -> LimitedIncoming {
        LimitedIncoming { incoming, table: Arc::default() }
    }
}

impl Stream for LimitedIncoming {
    type Item = io::Result<LimitedConnection>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let socket = match ready!(Pin::new(&mut self.incoming).poll_next(context)) {
                Some(Ok(socket)) => socket,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            };
            // A connection over a limit is closed by dropping its socket.
            let Ok(peer) = socket.peer_addr() else { continue };
            let Ok(permit) = self.table.acquire(peer.ip()) else { continue };
            return Poll::Ready(Some(Ok(LimitedConnection {
                socket,
                peer: peer.ip(),
                missing_bytes: PREFACE_BYTES,
                timeout: Box::pin(sleep(PREFACE_TIMEOUT)),
                permit,
            })));
        }
    }
}

/// Connection that counts against the limit until it is closed.
pub(super) struct LimitedConnection {
    socket: TcpStream,
    peer: IpAddr,
    /// Bytes of the preface that were not received yet.
    missing_bytes: usize,
    timeout: Pin<Box<Sleep>>,
    permit: ConnectionPermit,
}

/// Connection of a request.
#[derive(Debug, Clone)]
pub(super) struct ClientConnection {
    pub(super) address: IpAddr,
    pub(super) activity: ConnectionActivity,
}

impl ClientConnection {
    /// Connection over which a request came.
    pub(super) fn of<T>(request: &Request<T>) -> Option<&ClientConnection> {
        let extensions = request.extensions();
        let tls = || extensions.get::<TlsConnectInfo<ClientConnection>>().map(TlsConnectInfo::get_ref);
        extensions.get::<ClientConnection>().or_else(tls)
    }
}

impl Connected for LimitedConnection {
    type ConnectInfo = ClientConnection;

    fn connect_info(&self) -> ClientConnection {
        ClientConnection { address: self.peer, activity: self.permit.activity().clone() }
    }
}

impl AsyncRead for LimitedConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.permit.activity().poll_replaced(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(context, buffer);
        let received = buffer.filled().len() - before;
        self.missing_bytes = self.missing_bytes.saturating_sub(received);
        if read.is_pending() && self.missing_bytes > 0 {
            ready!(self.timeout.as_mut().poll(context));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl AsyncWrite for LimitedConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
