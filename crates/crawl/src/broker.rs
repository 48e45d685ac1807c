//! Who carries batches to workers, and what they bring back to the collection? A broker; it carries small messages, and a
//! [`Depot`] everything that is large.
//!
//! A batch is offered once, and lent to one worker at a time. All that happens to it is told in its log, in order: an entry is
//! added behind the one that its writer knows to be the last, or not at all. So a worker that was thought dead, and whose batch
//! was lent to another, cannot tell anything any more. The collection takes logs in, from the place on that its last commit notes.
//!
//! Nothing here knows what messages say, and no message is longer than [`MESSAGE_LIMIT_BYTES`].

use std::thread;
use std::time::Duration;

/// The longest message; brokers carry a megabyte by default.
pub const MESSAGE_LIMIT_BYTES: usize = 512 << 10;

/// Why a broker or a depot did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// It cannot be reached, or is in trouble: what was asked may be asked again, and must do no harm the second time.
    #[error("{what}: {source}")]
    Unavailable {
        /// What was to be done.
        what: &'static str,
        /// What the broker says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It will never do it: a wrong token, another collection, a limit.
    #[error("{0}")]
    Refused(String),
}

/// How long to wait before something is asked again that could not be reached.
pub(crate) const TRY_AGAIN: Duration = Duration::from_millis(500);

/// An answer; nothing if nobody could be reached, and it is asked again later anyway.
pub(crate) fn or_later<T>(answer: Result<T, BrokerError>) -> Result<Option<T>, BrokerError> {
    match answer {
        Err(BrokerError::Unavailable { .. }) => Ok(None),
        answer => answer.map(Some),
    }
}

/// Asks until there is an answer; nothing if somebody has given up meanwhile.
pub(crate) fn insist<T>(
    has_given_up: impl Fn() -> bool,
    mut ask: impl FnMut() -> Result<T, BrokerError>,
) -> Result<Option<T>, BrokerError> {
    loop {
        let answer = or_later(ask())?;
        if answer.is_some() || has_given_up() {
            return Ok(answer);
        }
        thread::sleep(TRY_AGAIN);
    }
}

/// Carries messages between one collection and its workers.
pub trait Broker: Send + Sync {
    /// What tells it from others that a collection may have had batches with.
    fn name(&self) -> String;

    /// Offers a batch to the workers, once: a second offer of the same number changes nothing.
    fn offer(&self, batch: u64, message: &[u8]) -> Result<(), BrokerError>;

    /// The next batch that nobody works on. Waits for one at most so long.
    fn take(&self, worker: &str, wait: Duration) -> Result<Option<Box<dyn Lease>>, BrokerError>;

    /// Adds an entry to the log of a batch behind the entry of this number, 0 before the first. Gives its own number, which is
    /// larger, or nothing if another entry is there.
    fn append(&self, batch: u64, after: u64, message: &[u8]) -> Result<Option<u64>, BrokerError>;

    /// The log of a batch so far.
    fn log(&self, batch: u64) -> Result<Vec<LogEntry>, BrokerError>;

    /// Entries of all logs, each once, those of one batch in their order; who has just started gets all that were not forgotten.
    /// Waits for one at most so long.
    fn listen(&self, wait: Duration) -> Result<Vec<LogEntry>, BrokerError>;

    /// Nobody needs a batch and its log any more.
    fn forget(&self, batch: u64) -> Result<(), BrokerError>;

    /// What all workers are to obey from now on, also those that come later.
    fn order(&self, message: &[u8]) -> Result<(), BrokerError>;

    /// The last of the orders; nothing if there never were any, or if it is known that nobody will give any more.
    fn orders(&self) -> Result<Option<Vec<u8>>, BrokerError>;

    /// Tells whoever watches how a worker is. It may be lost.
    fn report(&self, worker: &str, message: &[u8]) -> Result<(), BrokerError>;

    /// Reports that have come since the last time somebody asked, the last of each worker.
    fn reports(&self) -> Result<Vec<Vec<u8>>, BrokerError>;
}

/// An entry in the log of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The batch.
    pub batch: u64,
    /// Larger than that of the entry before.
    pub number: u64,
    /// What it says.
    pub message: Vec<u8>,
}

/// A batch that was lent to a worker.
pub trait Lease: Send + Sync {
    /// Its number.
    fn batch(&self) -> u64;

    /// What was offered.
    fn message(&self) -> &[u8];

    /// For how long it is lent from the moment on at which the last [`Lease::keep`] began that came back with true; nothing if
    /// for as long as the worker lives.
    fn duration(&self) -> Option<Duration>;

    /// Asks for more time. False if it is lent to somebody else.
    fn keep(&self) -> Result<bool, BrokerError>;

    /// All of it was done: nobody else needs to take it.
    fn done(self: Box<Self>) -> Result<(), BrokerError>;
}

/// Keeps what is too large for messages, under names with slashes.
pub trait Depot: Send + Sync {
    /// Keeps something under a name. What is put there twice is the same.
    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), BrokerError>;

    /// Brings it back; nothing if it is not there, refused if it is longer than so much.
    fn get(&self, name: &str, limit_bytes: u64) -> Result<Option<Vec<u8>>, BrokerError>;

    /// Nobody needs it any more; it need not be there.
    fn remove(&self, name: &str) -> Result<(), BrokerError>;

    /// Nobody needs anything any more that has this name and a slash before its own.
    fn remove_all(&self, folder: &str) -> Result<(), BrokerError>;
}

const OBJECT_NAME_LIMIT_BYTES: usize = 512;

/// Names in a depot have slashes between words that mean nothing to a file system.
pub fn check_object_name(name: &str) -> Result<(), BrokerError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let word = |word: &str| !word.is_empty() && !word.starts_with('.') && word.bytes().all(fits);
    if name.len() > OBJECT_NAME_LIMIT_BYTES || !name.split('/').all(word) {
        return Err(BrokerError::Refused(format!("`{name}` is no name for a depot")));
    }
    Ok(())
}

/// What a depot says of something longer than it may bring.
pub fn too_long(name: &str, limit_bytes: u64) -> BrokerError {
    BrokerError::Refused(format!("`{name}` in the depot is longer than {limit_bytes} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_depot() {
        for name in ["", "/", "a/", "/a", "a//b", "..", "a/../b", "a/.hidden", "a b", "a\\b", "a\0"] {
            assert!(check_object_name(name).is_err(), "{name}");
        }
        assert!(check_object_name("harvest/7-a.b_c/0.zst").is_ok());
    }
}
