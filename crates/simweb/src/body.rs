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

    fn next_piece(&mut self, bytes: usize) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let piece = self.left.split_to(bytes);
        self.record.sent(piece.len());
        Poll::Ready(Some(Ok(Frame::data(piece))))
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
        match self.manner {
            Manner::Dripped => {
                self.pause = Some(Box::pin(tokio::time::sleep(DRIP_PAUSE)));
                let bytes = self.drop_bytes.min(self.left.len());
                self.next_piece(bytes)
            }
            Manner::Truncated | Manner::Reset => {
                // Lets the first half reach the client before the end comes.
                self.pause = Some(Box::pin(tokio::time::sleep(DRIP_PAUSE)));
                let bytes = self.left.len();
                self.next_piece(bytes)
            }
            _ => {
                let bytes = self.left.len();
                self.next_piece(bytes)
            }
        }
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
