//! Who fetches for a collection? Workers, in other processes or on other machines, in place of a [crew](crate::crew) of its own.
//!
//! The collection's thread offers them batches, and forgets them when all that was told of them is committed; what they tell comes by
//! way of a [listener](crate::log_listener), in the same pieces that a crew would bring.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use store::Collection;
use tokio::sync::mpsc::{Receiver, channel};

use crate::batch::Batch;
use crate::broker::{self, Broker, BrokerError, Depot};
use crate::error::Error;
use crate::forgetter::{self, Forgetter, Over};
use crate::harvester::Piece;
use crate::helm::Helm;
use crate::log_listener::LogListener;
use crate::mark::{self, Mark};
use crate::messages::{self, LogLine};
use crate::places::Place;
use crate::recovery;
use crate::running::Running;
use crate::stop::Stop;

/// What carries everything between a collection and its workers.
#[derive(Clone)]
pub struct Carriers {
    /// Carries messages.
    pub broker: Arc<dyn Broker>,
    /// Carries the rest.
    pub depot: Arc<dyn Depot>,
    /// The settings of the moment, as workers will read them.
    pub settings: Arc<dyn Fn() -> String + Send + Sync>,
    /// At the end, workers of which nothing is heard for so long are not waited for.
    pub patience: Duration,
}

/// Blocks that wait to be taken in.
const BLOCKS: usize = 4;

/// The workers, as the thread sees them that owns the collection.
pub(crate) struct Workers {
    pub(crate) pieces: Receiver<(usize, Vec<Piece>)>,
    carriers: Carriers,
    running: Running,
    open: OpenLogs,
    count: Arc<AtomicUsize>,
    listener: Option<JoinHandle<Result<(), Error>>>,
    /// What will not be needed once what was taken in is committed.
    over: Vec<Over>,
    forgetter: Option<Forgetter>,
}

/// The logs that are listened to, and how far.
#[derive(Clone, Default)]
pub(crate) struct OpenLogs(Arc<Mutex<BTreeMap<u64, u64>>>);

/// What the listener shares with the thread that owns the collection.
pub(crate) struct SharedLogs {
    pub(crate) open: OpenLogs,
    /// How many workers have reported of late.
    pub(crate) count: Arc<AtomicUsize>,
}

impl OpenLogs {
    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workers {
    /// Begins to listen, and tells which batches workers had when the last process ended, without sites that have come back.
    pub(crate) fn begin(
        collection: &mut Collection,
        carriers: &Carriers,
        running: &Running,
        helm: &Helm,
    ) -> Result<(Workers, Vec<Batch>), Error> {
        check_carrier(collection, carriers)?;
        // Who puts segments elsewhere would work for nothing.
        let run = running.clock.now_us();
        insist(running, || carriers.depot.put(messages::STORE_MARK, run.to_string().into_bytes()))?;
        let open = OpenLogs::default();
        let recovered = recover(collection, carriers, &open, running)?;
        let (sender, pieces) = channel(BLOCKS);
        let count = Arc::new(AtomicUsize::new(0));
        let (shared, folder) =
            (SharedLogs { open: open.clone(), count: Arc::clone(&count) }, collection.folder());
        let listener = LogListener::new(carriers, running, helm, shared, sender, folder, run);
        let listener = thread::Builder::new()
            .name("workers".to_owned())
            .spawn(move || listener.run())
            .map_err(Error::Thread)?;
        let workers = Workers {
            pieces,
            carriers: carriers.clone(),
            running: running.clone(),
            open,
            count,
            listener: Some(listener),
            over: Vec::new(),
            forgetter: Some(Forgetter::start(carriers, folder)?),
        };
        Ok((workers, recovered))
    }

    /// Lends a batch; it is noted, and committed.
    pub(crate) fn offer(&mut self, collection: &Collection, batch: &Batch) -> Result<(), Error> {
        // Another collection of the same name may have had a batch of this number.
        insist(&self.running, || self.carriers.broker.forget(batch.number))?;
        batch.write(&Place::Lent.of(collection.folder(), batch.number))?;
        // From now on, so that nothing of it goes unheard.
        self.open.lock().insert(batch.number, 0);
        offer(&self.carriers, batch, &self.running)
    }

    /// An entry of a log was taken in.
    pub(crate) fn mark(&mut self, mark: Mark) {
        self.over.extend(mark.segment.map(Over::Segment));
        self.over.extend(mark.end.map(|_| Over::Batch(mark.batch)));
    }

    /// What was taken in is committed: nobody needs it any more.
    pub(crate) fn committed(&mut self, collection: &mut Collection) {
        let Some(forgetter) = &self.forgetter else { return };
        self.over.drain(..).for_each(|over| forgetter.forget(over));
        forgetter.gone().for_each(|batch| mark::forget(&mut collection.notes, batch));
    }

    /// Everything is committed: waits until nothing is left of what is over.
    pub(crate) fn clear(&mut self) -> Result<(), Error> {
        self.forgetter.take().map_or(Ok(()), Forgetter::end)
    }

    /// How many have reported of late.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    pub(crate) fn is_thread_gone(&self) -> bool {
        self.listener.as_ref().is_some_and(JoinHandle::is_finished)
            || self.forgetter.as_ref().is_some_and(Forgetter::has_failed)
    }

    /// Waits for the end of the listener, once everything is stopped and nothing comes any more.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        if let Some(listener) = self.listener.take() {
            listener.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        self.forgetter.take_if(|forgetter| forgetter.has_failed()).map_or(Ok(()), Forgetter::end)
    }
}

fn offer(carriers: &Carriers, batch: &Batch, running: &Running) -> Result<(), Error> {
    insist(running, || {
        let message = messages::write_offer(batch, &*carriers.depot)?;
        carriers.broker.offer(batch.number, &message)
    })
}

/// Asks until there is an answer, or the crawl is to end: the next one offers what this one could not.
fn insist(running: &Running, ask: impl FnMut() -> Result<(), BrokerError>) -> Result<(), Error> {
    broker::insist(|| running.stop() != Stop::No, ask)?;
    Ok(())
}

/// Batches that workers of another broker have cannot be taken back from here: they would go on asking.
fn check_carrier(collection: &mut Collection, carriers: &Carriers) -> Result<(), Error> {
    let folder = collection.folder().to_owned();
    let is_away = |batch: u64| Place::Lent.of(&folder, batch).exists();
    let is_other = mark::change_carrier(&mut collection.notes, &carriers.broker.name());
    if is_other && mark::all(&collection.notes).any(is_away) {
        let what = format!(
            "workers of another crawl of this collection may still have batches: go on with --workers or --broker as before; if all of \
             them are gone, remove {} and start again",
            folder.join("lent").display()
        );
        return Err(BrokerError::Refused(what).into());
    }
    Ok(())
}

/// Finds the batches that workers had, and offers them again in case that nobody got them.
fn recover(
    collection: &mut Collection,
    carriers: &Carriers,
    open: &OpenLogs,
    running: &Running,
) -> Result<Vec<Batch>, Error> {
    let folder = collection.folder().to_owned();
    if mark::all(&collection.notes).next().is_some() && !folder.join("lent").exists() {
        // Somebody has taken them back by hand; when their sites were last asked, nobody knows.
        recovery::let_rest(collection, &running.settings(), running.clock.now_ms())?;
    }
    let mut recovered = Vec::new();
    for number in mark::all(&collection.notes).collect::<Vec<u64>>() {
        let path = Place::Lent.of(&folder, number);
        let taken = mark::taken(&collection.notes, number).unwrap_or(0);
        let log = if path.exists() { carriers.broker.log(number)? } else { Vec::new() };
        let (mut done, mut closed) = (HashSet::new(), false);
        for entry in log.iter().filter(|entry| entry.number <= taken) {
            match LogLine::read(&entry.message) {
                Ok(LogLine::Segment { sites, .. }) => done.extend(sites),
                Ok(LogLine::Closed { .. }) => closed = true,
                Ok(LogLine::Taken { .. } | LogLine::Told { .. }) | Err(_) => {}
            }
        }
        // A log that does not reach where we were is another's, or was lost: whatever was asked for, nobody will tell it.
        let is_lost = path.exists() && log.last().map_or(0, |entry| entry.number) < taken;
        if is_lost {
            recovery::let_rest(collection, &running.settings(), running.clock.now_ms())?;
        }
        if closed || is_lost || !path.exists() {
            if forgetter::forget(&folder, carriers, number)? {
                mark::forget(&mut collection.notes, number);
            }
            continue;
        }
        let mut batch = Batch::read(&path)?;
        open.lock().insert(number, taken);
        if log.is_empty() {
            // It may never have been offered.
            offer(carriers, &batch, running)?;
        }
        batch.sites.retain(|site| !done.contains(&site.site));
        recovered.push(batch);
    }
    Ok(recovered)
}
