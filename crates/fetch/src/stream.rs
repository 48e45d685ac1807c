//! What do bytes travel through? A socket, with TLS or without.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use rustls::ProtocolVersion;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// A connection to a server, not yet spoken over.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Which TLS, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Security {
    None,
    Tls12,
    Tls13,
}

impl Stream {
    pub(crate) fn security(&self) -> Security {
        match self {
            Stream::Plain(_) => Security::None,
            Stream::Tls(stream) => match stream.get_ref().1.protocol_version() {
                Some(ProtocolVersion::TLSv1_3) => Security::Tls13,
                _ => Security::Tls12,
            },
        }
    }

    /// Whether both sides agreed on HTTP/2.
    pub(crate) fn speaks_http2(&self) -> bool {
        match self {
            Stream::Plain(_) => false,
            Stream::Tls(stream) => stream.get_ref().1.alpn_protocol() == Some(b"h2"),
        }
    }

    /// Whether nothing came that nobody asked for: neither bytes nor the end of the connection.
    pub(crate) fn is_quiet(&mut self) -> bool {
        let mut byte = [0];
        let mut context = Context::from_waker(Waker::noop());
        Pin::new(self).poll_read(&mut context, &mut ReadBuf::new(&mut byte)).is_pending()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Tls(stream) => match Pin::new(stream).poll_read(context, buffer) {
                // Many servers end a connection without ending TLS; whether something is missing is told by the head.
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    Poll::Ready(Ok(()))
                }
                other => other,
            },
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
