//! Outgoing queue of a harvester: sends items in chunks through a bounded channel.
//!
//! While the channel is full no request is started, but responses in flight are still read, so that no server has to wait.

use std::collections::VecDeque;

use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;

/// Outgoing queue of one thread.
pub(crate) struct Outbox<T> {
    /// Index of the sending thread.
    source: usize,
    sender: Sender<(usize, Vec<T>)>,
    chunk: Vec<T>,
    chunk_bytes: usize,
    waiting: VecDeque<(Vec<T>, usize)>,
    waiting_bytes: usize,
}

/// Size and length at which a chunk is sent.
const CHUNK_BYTES: usize = 1 << 20;
const CHUNK_ITEMS: usize = 128;
/// No request is started while more bytes than this wait. Enough to bridge the seconds in which a commit merges files.
const MAX_WAITING_BYTES: usize = 32 << 20;

impl<T> Outbox<T> {
    pub(crate) fn new(sender: Sender<(usize, Vec<T>)>, source: usize) -> Outbox<T> {
        Outbox {
            source,
            sender,
            chunk: Vec::new(),
            chunk_bytes: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
        }
    }

    pub(crate) fn push(&mut self, item: T, bytes: usize) {
        self.chunk.push(item);
        self.chunk_bytes += bytes;
        if self.chunk_bytes >= CHUNK_BYTES || self.chunk.len() >= CHUNK_ITEMS {
            self.close_chunk();
        }
    }

    /// Sends all items for which the channel has capacity. Returns false when the receiver is gone.
    pub(crate) fn flush(&mut self) -> bool {
        // Without capacity the chunk could not be sent now, so it can as well be filled.
        if self.sender.capacity() > self.waiting.len() {
            self.close_chunk();
        }
        self.send_chunks()
    }

    /// Sends all full chunks for which the channel has capacity. Returns false when the receiver is gone.
    pub(crate) fn send_chunks(&mut self) -> bool {
        while let Some((chunk, bytes)) = self.waiting.pop_front() {
            match self.sender.try_send((self.source, chunk)) {
                Ok(()) => self.waiting_bytes -= bytes,
                Err(TrySendError::Full((_, chunk))) => {
                    self.waiting.push_front((chunk, bytes));
                    return true;
                }
                Err(TrySendError::Closed(_)) => return false,
            }
        }
        true
    }

    /// Whether no request should be started.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting_bytes >= MAX_WAITING_BYTES
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.chunk.is_empty()
    }

    /// Waits until the channel has capacity or the receiver is gone.
    pub(crate) async fn wait_for_capacity(&self) {
        drop(self.sender.reserve().await);
    }

    fn close_chunk(&mut self) {
        if !self.chunk.is_empty() {
            let bytes = std::mem::take(&mut self.chunk_bytes);
            self.waiting.push_back((std::mem::take(&mut self.chunk), bytes));
            self.waiting_bytes += bytes;
        }
    }
}
