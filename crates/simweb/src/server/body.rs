//! Response bodies: sent completely, in slow chunks, or truncated. The request is logged when the body ends.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use crate::server::log::{LogEntry, RequestLog};
use crate::server::response::Delivery;

/// Number of chunks of a slow body, and the pause between them.
const SLOW_BODY_CHUNKS: usize = 20;
const SLOW_BODY_PAUSE: Duration = Duration::from_millis(100);
/// Delay before a body is aborted, so that its first half reaches the client.
const ABORT_DELAY: Duration = Duration::from_millis(20);

/// Body of a response. Its request is logged when it is dropped, sent or not.
pub(crate) struct SimBody {
    remaining: Bytes,
    delivery: Delivery,
    pause: Option<Pin<Box<Sleep>>>,
    chunk_bytes: usize,
    /// Set to reset the connection instead of closing it.
    reset: Arc<AtomicBool>,
    record: RequestRecord,
}

/// Record of the request of a body.
pub(crate) struct RequestRecord {
    pub(crate) log: Arc<RequestLog>,
    pub(crate) worker: usize,
    /// Taken when it is logged.
    pub(crate) entry: Option<LogEntry>,
}

impl RequestRecord {
    pub(crate) fn add_sent(&mut self, bytes: usize) {
        if let Some(entry) = &mut self.entry {
            entry.bytes += bytes as u64;
        }
    }
}

impl Drop for RequestRecord {
    fn drop(&mut self) {
        if let Some(mut entry) = self.entry.take() {
            entry.end_us = self.log.now_us();
            self.log.add(self.worker, entry);
        }
    }
}

impl SimBody {
    pub(crate) fn new(
        body: Vec<u8>,
        delivery: Delivery,
        reset: Arc<AtomicBool>,
        record: RequestRecord,
    ) -> SimBody {
        let is_aborted = matches!(delivery, Delivery::Truncated | Delivery::Reset);
        let sent = if is_aborted { body.len() / 2 } else { body.len() };
        let remaining = Bytes::from(body).slice(..sent);
        SimBody {
            chunk_bytes: remaining.len().div_ceil(SLOW_BODY_CHUNKS).max(1),
            remaining,
            delivery,
            pause: None,
            reset,
            record,
        }
    }
}

impl Body for SimBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(pause) = &mut self.pause {
            std::task::ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        if self.remaining.is_empty() {
            return match self.delivery {
                Delivery::Truncated => Poll::Ready(Some(Err(io::Error::other("truncated body")))),
                Delivery::Reset => {
                    self.reset.store(true, Ordering::Relaxed);
                    Poll::Ready(Some(Err(io::Error::other("connection reset"))))
                }
                _ => Poll::Ready(None),
            };
        }
        let (bytes, pause) = match self.delivery {
            Delivery::Slow => (self.chunk_bytes.min(self.remaining.len()), Some(SLOW_BODY_PAUSE)),
            Delivery::Truncated | Delivery::Reset => (self.remaining.len(), Some(ABORT_DELAY)),
            _ => (self.remaining.len(), None),
        };
        self.pause = pause.map(|pause| Box::pin(tokio::time::sleep(pause)));
        let chunk = self.remaining.split_to(bytes);
        self.record.add_sent(chunk.len());
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.remaining.is_empty() && !matches!(self.delivery, Delivery::Truncated | Delivery::Reset)
    }

    fn size_hint(&self) -> SizeHint {
        match self.delivery {
            Delivery::Full | Delivery::Slow => SizeHint::with_exact(self.remaining.len() as u64),
            _ => SizeHint::default(),
        }
    }
}
