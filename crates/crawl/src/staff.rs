//! Who fetches for a crawl? A crew of threads in this process, or workers elsewhere. What comes back are the same pieces.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use store::Collection;
use tokio::sync::mpsc::Receiver;

use crate::crew::{self, Crew, CrewPlan};
use crate::error::Error;
use crate::harvester::Piece;
use crate::journal::{self, Journal};
use crate::mark::Mark;
use crate::places;
use crate::recovery::{self, Lent};
use crate::running::Running;
use crate::seeder::release_queued;
use crate::territory::Territory;
use crate::workers::Workers;

/// Those who fetch.
pub(crate) enum Staff {
    Own(OwnCrew),
    Workers(Workers),
}

/// The crew of this process, and what it must know of commits.
pub(crate) struct OwnCrew {
    pub(crate) crew: Crew,
    pub(crate) journal: PathBuf,
    /// How many pieces of each harvester were taken in, and how many of those are committed.
    pub(crate) taken: Vec<u64>,
    pub(crate) committed: Vec<Arc<AtomicU64>>,
    /// What harvesters have left at the end.
    pub(crate) journals: Vec<Journal>,
}

impl OwnCrew {
    /// Starts the harvesters of this process.
    pub(crate) fn begin(
        collection: &mut Collection,
        running: &Running,
        began_unknown: bool,
    ) -> Result<(Staff, Lent), Error> {
        let lent = Lent::of(collection)?;
        release_queued(collection, &lent.sites)?;
        let settings = running.settings();
        let threads = crew::threads(&settings);
        let committed: Vec<Arc<AtomicU64>> = (0..threads).map(|_| Arc::default()).collect();
        let journal = places::journal(collection.folder());
        journal::start(&journal, &[]).map_err(|source| crew::journal_error(&journal, source))?;
        let crew = Crew::start(CrewPlan {
            running,
            journal: Some(&journal),
            committed: &committed,
            began_unknown,
            clocks: recovery::address_clocks(collection, &settings, running.clock.now_ms(), began_unknown)?,
            rests: recovery::rests(collection, running.clock.now_ms())?,
            territory: Territory::Without { addresses: lent.addresses.clone(), names: lent.names.clone() },
            reads: true,
        })?;
        let own = OwnCrew { crew, journal, taken: vec![0; threads], committed, journals: Vec::new() };
        Ok((Staff::Own(own), lent))
    }
}

impl Staff {
    /// Blocks of pieces, each with the number of who brought it.
    pub(crate) fn pieces(&mut self) -> &mut Receiver<(usize, Vec<Piece>)> {
        match self {
            Staff::Own(own) => &mut own.crew.pieces,
            Staff::Workers(workers) => &mut workers.pieces,
        }
    }

    pub(crate) fn is_quiet(&self) -> bool {
        match self {
            Staff::Own(own) => own.crew.pieces.is_empty(),
            Staff::Workers(workers) => workers.pieces.is_empty(),
        }
    }

    /// How many processes fetch.
    pub(crate) fn count(&self) -> usize {
        match self {
            Staff::Own(_) => 1,
            Staff::Workers(workers) => workers.count().max(1),
        }
    }

    pub(crate) fn are_elsewhere(&self) -> bool {
        matches!(self, Staff::Workers(_))
    }

    /// Whether somebody has failed.
    pub(crate) fn is_thread_gone(&self) -> bool {
        match self {
            Staff::Own(own) => own.crew.is_thread_gone(),
            Staff::Workers(workers) => workers.is_thread_gone(),
        }
    }

    /// A block of so many pieces was taken in.
    pub(crate) fn took(&mut self, number: usize, pieces: usize) {
        if let Staff::Own(own) = self
            && let Some(taken) = own.taken.get_mut(number)
        {
            *taken += pieces as u64;
        }
    }

    /// An entry of a log was taken in.
    pub(crate) fn mark(&mut self, mark: Mark) {
        if let Staff::Workers(workers) = self {
            workers.mark(mark);
        }
    }

    /// What was taken in is committed.
    pub(crate) fn committed(&mut self, collection: &mut Collection) {
        match self {
            Staff::Own(own) => {
                for (committed, taken) in own.committed.iter().zip(&own.taken) {
                    committed.store(*taken, Ordering::Release);
                }
            }
            Staff::Workers(workers) => workers.committed(collection),
        }
    }

    /// Waits for the end of all, once they have been stopped and nothing comes any more.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        match self {
            Staff::Own(own) => {
                own.journals = own.crew.end()?;
                Ok(())
            }
            Staff::Workers(workers) => workers.end(),
        }
    }

    /// Everything is committed: nothing has to be remembered for the next start.
    pub(crate) fn clear(&mut self) -> Result<(), Error> {
        match self {
            Staff::Own(own) => {
                own.journals.clear();
                journal::clear(&own.journal).map_err(|source| crew::journal_error(&own.journal, source))
            }
            Staff::Workers(workers) => workers.clear(),
        }
    }
}
