//! How does news leave a harvester? In blocks, through a bounded channel; while the channel is full nothing new is asked
//! for, but what is under way is still read, so that no server waits for us.

use std::collections::VecDeque;

use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;

/// News on their way to the collection.
pub(crate) struct Outbox<T> {
    /// Whose news these are.
    number: usize,
    sender: Sender<(usize, Vec<T>)>,
    block: Vec<T>,
    block_bytes: usize,
    waiting: VecDeque<(Vec<T>, usize)>,
    waiting_bytes: usize,
}

/// A block is sent when it has so many bytes, or so many pieces.
const BLOCK_BYTES: usize = 1 << 20;
const BLOCK_PIECES: usize = 128;
/// Nothing new is asked for while so many bytes wait: enough for the seconds in which a commit merges files.
const WAITING_BYTES: usize = 32 << 20;

impl<T> Outbox<T> {
    pub(crate) fn new(sender: Sender<(usize, Vec<T>)>, number: usize) -> Outbox<T> {
        Outbox {
            number,
            sender,
            block: Vec::new(),
            block_bytes: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
        }
    }

    pub(crate) fn push(&mut self, piece: T, bytes: usize) {
        self.block.push(piece);
        self.block_bytes += bytes;
        if self.block_bytes >= BLOCK_BYTES || self.block.len() >= BLOCK_PIECES {
            self.close_block();
        }
    }

    /// Sends what there is, as far as there is room. False when nobody listens any more.
    pub(crate) fn flush(&mut self) -> bool {
        // Where there is none, a block may as well become full.
        if self.sender.capacity() > self.waiting.len() {
            self.close_block();
        }
        self.send()
    }

    /// Sends full blocks, as far as there is room. False when nobody listens any more.
    pub(crate) fn send(&mut self) -> bool {
        while let Some((block, bytes)) = self.waiting.pop_front() {
            match self.sender.try_send((self.number, block)) {
                Ok(()) => self.waiting_bytes -= bytes,
                Err(TrySendError::Full((_, block))) => {
                    self.waiting.push_front((block, bytes));
                    return true;
                }
                Err(TrySendError::Closed(_)) => return false,
            }
        }
        true
    }

    /// Whether nothing new should be asked for.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting_bytes >= WAITING_BYTES
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.block.is_empty()
    }

    /// Waits until there is room for a block, or nobody listens any more.
    pub(crate) async fn room(&self) {
        drop(self.sender.reserve().await);
    }

    fn close_block(&mut self) {
        if !self.block.is_empty() {
            let bytes = std::mem::take(&mut self.block_bytes);
            self.waiting.push_back((std::mem::take(&mut self.block), bytes));
            self.waiting_bytes += bytes;
        }
    }
}
