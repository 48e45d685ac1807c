//! Byte stream to a server, with or without TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use rustls::ProtocolVersion;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// TCP stream, with or without TLS.
#[derive(Debug)]
pub(crate) enum MaybeTlsStream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// TLS version of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TlsVersion {
    None,
    Tls12,
    Tls13,
}

impl MaybeTlsStream {
    pub(crate) fn tls_version(&self) -> TlsVersion {
        match self {
            MaybeTlsStream::Plain(_) => TlsVersion::None,
            MaybeTlsStream::Tls(stream) => match stream.get_ref().1.protocol_version() {
                Some(ProtocolVersion::TLSv1_3) => TlsVersion::Tls13,
                _ => TlsVersion::Tls12,
            },
        }
    }

    /// Whether HTTP/2 was negotiated by ALPN.
    pub(crate) fn negotiated_http2(&self) -> bool {
        match self {
            MaybeTlsStream::Plain(_) => false,
            MaybeTlsStream::Tls(stream) => stream.get_ref().1.alpn_protocol() == Some(b"h2"),
        }
    }

    /// Whether nothing is pending: neither bytes nor the end of the connection. Bytes without a request would be read as
    /// the next response.
    pub(crate) fn is_idle(&mut self) -> bool {
        let mut byte = [0];
        let mut context = Context::from_waker(Waker::noop());
        Pin::new(self).poll_read(&mut context, &mut ReadBuf::new(&mut byte)).is_pending()
    }
}

impl AsyncRead for MaybeTlsStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            MaybeTlsStream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            MaybeTlsStream::Tls(stream) => match Pin::new(stream).poll_read(context, buffer) {
                // Many servers close without the TLS close_notify. This is safe: the framing of HTTP shows whether
                // the response is complete.
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    Poll::Ready(Ok(()))
                }
                other => other,
            },
        }
    }
}

impl AsyncWrite for MaybeTlsStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            MaybeTlsStream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            MaybeTlsStream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            MaybeTlsStream::Plain(stream) => Pin::new(stream).poll_flush(context),
            MaybeTlsStream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            MaybeTlsStream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            MaybeTlsStream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
