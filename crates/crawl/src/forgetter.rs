//! What happens to segments that are committed, and to batches that are over? They are taken away, by a thread of its own: servers take
//! their time, and the thread of the collection has none. The notes of the collection lose a batch last, so that the next start
//! finishes what this one has not.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};

use crate::broker::{TRY_AGAIN, or_later};
use crate::error::Error;
use crate::messages;
use crate::places::Place;
use crate::workers::Carriers;

/// What nobody needs any more.
#[derive(Debug)]
pub(crate) enum Over {
    /// Its name in the depot.
    Segment(String),
    /// Its folder, its log, and all that lies in the depot for it.
    Batch(u64),
}

/// The thread, as the collection sees it.
pub(crate) struct Forgetter {
    over: Sender<Over>,
    gone: Receiver<u64>,
    thread: JoinHandle<Result<(), Error>>,
}

impl Forgetter {
    pub(crate) fn start(carriers: &Carriers, folder: &Path) -> Result<Forgetter, Error> {
        let ((over, waiting), (sender, gone)) = (channel(), channel());
        let work = Work { carriers: carriers.clone(), folder: folder.to_owned(), waiting, gone: sender };
        let thread = thread::Builder::new().name("forgetter".to_owned());
        let thread = thread.spawn(move || work.run()).map_err(Error::Thread)?;
        Ok(Forgetter { over, gone, thread })
    }

    /// Something is over, and that is committed.
    pub(crate) fn forget(&self, over: Over) {
        // A thread that is gone has failed, and says so at the end.
        let _ = self.over.send(over);
    }

    /// The batches that nothing is left of.
    pub(crate) fn gone(&self) -> impl Iterator<Item = u64> {
        self.gone.try_iter()
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits until everything is taken away that can be now.
    pub(crate) fn end(self) -> Result<(), Error> {
        drop(self.over);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// The thread's side.
struct Work {
    carriers: Carriers,
    folder: PathBuf,
    waiting: Receiver<Over>,
    gone: Sender<u64>,
}

impl Work {
    /// A batch that cannot be forgotten now is tried again and again, and once more at the end.
    fn run(self) -> Result<(), Error> {
        let mut left = Vec::new();
        loop {
            let next = match left.is_empty() {
                true => self.waiting.recv().map_err(|_| RecvTimeoutError::Disconnected),
                false => self.waiting.recv_timeout(TRY_AGAIN),
            };
            let is_end = matches!(next, Err(RecvTimeoutError::Disconnected));
            for over in next.ok().into_iter().chain(self.waiting.try_iter()) {
                match over {
                    // One that cannot be removed now is with its batch.
                    Over::Segment(name) => drop(self.carriers.depot.remove(&name)),
                    Over::Batch(batch) => left.push(batch),
                }
            }
            let mut later = Vec::new();
            for batch in left {
                match forget(&self.folder, &self.carriers, batch)? {
                    // Who does not listen any more will find out at the next start.
                    true => drop(self.gone.send(batch)),
                    false => later.push(batch),
                }
            }
            left = later;
            if is_end {
                return Ok(());
            }
        }
    }
}

/// The folder goes first: without its log it would be lent again. False if somebody has to be asked again.
pub(crate) fn forget(folder: &Path, carriers: &Carriers, batch: u64) -> Result<bool, Error> {
    Place::Lent.remove(folder, batch)?;
    Ok(or_later(carriers.broker.forget(batch))?.is_some()
        && or_later(carriers.depot.remove_all(&messages::depot_folder(batch)))?.is_some())
}
