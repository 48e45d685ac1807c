//! Stream of an HTTP/2 connection that limits what a server may send beside the body of a response.
//!
//! The library processes SETTINGS, PING, PRIORITY, WINDOW_UPDATE, unknown frames and interim responses by itself, without a
//! limit on their number. A server could therefore send them until the exchange times out. The meter counts all received
//! bytes: the payload of a response raises the allowance, everything else uses it up.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::tls_stream::MaybeTlsStream;

/// Received bytes per byte of the body that are allowed: DATA frames have 9 bytes of overhead and may be small.
const ALLOWED_BYTES_PER_BODY_BYTE: usize = 4;
/// Maximum number of bytes read at once. Between two reads, the exchange counts interim responses: each may take a
/// hundred times as much memory as bytes on the wire.
const MAX_BURST_BYTES: usize = 64 << 10;

/// Number of bytes that the server may still send.
#[derive(Debug, Clone)]
pub(crate) struct TrafficMeter {
    allowance_bytes: Arc<AtomicUsize>,
}

impl TrafficMeter {
    pub(crate) fn new(allowance_bytes: usize) -> TrafficMeter {
        TrafficMeter { allowance_bytes: Arc::new(AtomicUsize::new(allowance_bytes)) }
    }

    /// Sets the allowance of the next response.
    pub(crate) fn restart(&self, allowance_bytes: usize) {
        self.allowance_bytes.store(allowance_bytes, Relaxed);
    }

    /// Raises the allowance by received bytes of the body.
    pub(crate) fn on_body(&self, bytes: usize) {
        let raised = self.remaining_bytes().saturating_add(bytes.saturating_mul(ALLOWED_BYTES_PER_BODY_BYTE));
        self.allowance_bytes.store(raised, Relaxed);
    }

    /// Whether the server has sent as much as it may.
    pub(crate) fn is_used_up(&self) -> bool {
        self.remaining_bytes() == 0
    }

    fn remaining_bytes(&self) -> usize {
        self.allowance_bytes.load(Relaxed)
    }
}

/// Stream that fails when the allowance of its meter is used up.
#[derive(Debug)]
pub(crate) struct MeteredStream {
    stream: MaybeTlsStream,
    meter: TrafficMeter,
    burst_bytes: usize,
}

impl MeteredStream {
    pub(crate) fn new(stream: MaybeTlsStream, meter: TrafficMeter) -> MeteredStream {
        MeteredStream { stream, meter, burst_bytes: 0 }
    }
}

impl AsyncRead for MeteredStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.meter.is_used_up() {
            return Poll::Ready(Err(io::Error::other("too many bytes beside the body of the response")));
        }
        if this.burst_bytes >= MAX_BURST_BYTES {
            this.burst_bytes = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.stream).poll_read(context, buffer);
        let received_bytes = buffer.filled().len() - before;
        this.meter
            .allowance_bytes
            .store(this.meter.remaining_bytes().saturating_sub(received_bytes), Relaxed);
        this.burst_bytes = if polled.is_pending() { 0 } else { this.burst_bytes + received_bytes };
        polled
    }
}

impl AsyncWrite for MeteredStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
