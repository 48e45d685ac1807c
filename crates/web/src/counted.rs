//! How much is there? Pages are counted beside those who look: a count of a large commit takes seconds, and what is shown again and
//! again need not be newer than a few of them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crawl::Status;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::desk::Desk;
use crate::failure::Failure;
use crate::sites::now_ms;

/// Counts for those who look begin no more often.
const COUNT_EVERY: Duration = Duration::from_secs(10);

/// A count, or why there is none.
type Count = Result<Arc<Status>, Failure>;

/// The last count.
pub(crate) struct Counted {
    last: watch::Sender<Option<Count>>,
    /// When the last count for somebody who looks began.
    began: Mutex<Option<Instant>>,
    /// One counts at a time.
    counting: Mutex<()>,
}

impl Counted {
    pub(crate) fn new() -> Counted {
        Counted { last: watch::Sender::new(None), began: Mutex::new(None), counting: Mutex::new(()) }
    }

    /// What the last count found. A newer one begins meanwhile, if it is time; only where there was none yet it is waited for, and
    /// no longer than this.
    pub(crate) async fn last(desk: &Arc<Desk>, patience: Duration) -> Result<Option<Arc<Status>>, Failure> {
        if desk.counted.is_due() {
            let desk = Arc::clone(desk);
            // What comes of it is told by the channel.
            drop(spawn_blocking(move || desk.counted.newest(&desk)));
        }
        let mut last = desk.counted.last.subscribe();
        let found = match timeout(patience, last.wait_for(Option::is_some)).await {
            Ok(Ok(count)) => Option::clone(&count),
            _ => None,
        };
        found.transpose()
    }

    /// What the newest commit holds; it is counted if that was not done yet.
    pub(crate) fn newest(&self, desk: &Desk) -> Count {
        // Who waits here gets what the one before has found.
        let _counting = self.counting.lock().unwrap_or_else(PoisonError::into_inner);
        let count = self.count(desk);
        self.last.send_replace(Some(count.clone()));
        count
    }

    fn count(&self, desk: &Desk) -> Count {
        let snapshot = desk.snapshot()?;
        let generation = snapshot.manifest.generation;
        match &*self.last.borrow() {
            Some(Ok(status)) if status.generation == generation => return Ok(Arc::clone(status)),
            _ => {}
        }
        Ok(Arc::new(Status::of(&snapshot, now_ms())?))
    }

    fn is_due(&self) -> bool {
        let mut began = self.began.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = began.is_none_or(|began| began.elapsed() >= COUNT_EVERY);
        if is_due {
            *began = Some(Instant::now());
        }
        is_due
    }
}
