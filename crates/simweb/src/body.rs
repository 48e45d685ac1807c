//! How does a body go out? Whole, in drops, cut short; and when it is done, the request is logged.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use crate::answer::Manner;
use crate::log::{LogEntry, RequestLog};

/// A dripping site spends this long on a page, in so many pieces.
const DRIP_PIECES: usize = 20;
const DRIP_PAUSE: Duration = Duration::from_millis(100);
/// Lets the first half of a broken body reach the client before the end comes.
const BREAK_PAUSE: Duration = Duration::from_millis(20);

/// The body of an answer. When it is dropped, sent or not, its request is logged.
pub(crate) struct SimBody {
    left: Bytes,
    manner: Manner,
    pause: Option<Pin<Box<Sleep>>>,
    drop_bytes: usize,
    /// Set to have the connection reset instead of closed.
    reset: Arc<AtomicBool>,
    record: Record,
}

/// The request that a body answers.
pub(crate) struct Record {
    pub(crate) log: Arc<RequestLog>,
    pub(crate) worker: usize,
    /// Taken when it is logged.
    pub(crate) entry: Option<LogEntry>,
}

impl Record {
    pub(crate) fn sent(&mut self, bytes: usize) {
        if let Some(entry) = &mut self.entry {
            entry.bytes += bytes as u64;
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if let Some(mut entry) = self.entry.take() {
            entry.end_us = self.log.now_us();
            self.log.add(self.worker, entry);
        }
    }
}

impl SimBody {
    pub(crate) fn new(body: Vec<u8>, manner: Manner, reset: Arc<AtomicBool>, record: Record) -> SimBody {
        let cut = matches!(manner, Manner::Truncated | Manner::Reset);
        let sent = if cut { body.len() / 2 } else { body.len() };
        let left = Bytes::from(body).slice(..sent);
        SimBody {
            drop_bytes: left.len().div_ceil(DRIP_PIECES).max(1),
            left,
            manner,
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
        if self.left.is_empty() {
            return match self.manner {
                Manner::Truncated => Poll::Ready(Some(Err(io::Error::other("cut short, as set")))),
                Manner::Reset => {
                    self.reset.store(true, Ordering::Relaxed);
                    Poll::Ready(Some(Err(io::Error::other("reset, as set"))))
                }
                _ => Poll::Ready(None),
            };
        }
        let (bytes, pause) = match self.manner {
            Manner::Dripped => (self.drop_bytes.min(self.left.len()), Some(DRIP_PAUSE)),
            Manner::Truncated | Manner::Reset => (self.left.len(), Some(BREAK_PAUSE)),
            _ => (self.left.len(), None),
        };
        self.pause = pause.map(|pause| Box::pin(tokio::time::sleep(pause)));
        let piece = self.left.split_to(bytes);
        self.record.sent(piece.len());
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty() && !matches!(self.manner, Manner::Truncated | Manner::Reset)
    }

    fn size_hint(&self) -> SizeHint {
        match self.manner {
            Manner::Whole | Manner::Dripped => SizeHint::with_exact(self.left.len() as u64),
            _ => SizeHint::default(),
        }
    }
}
