//! Who reads the pages? Several threads, each of which takes the next page in the order of the files, reads and parses it and
//! hands its words to the index. Meanwhile tantivy's threads make terms of words and write segments.
//!
//! Text that the index has not taken yet is bounded ([`Budget`]): when it is behind, nobody reads on.

use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use model::PageId;
use store::Snapshot;
use tantivy::IndexWriter;

use crate::budget::Budget;
use crate::entry::Entry;
use crate::entry_reader::{EntryReader, ReadPage};
use crate::error::Result;
use crate::index::IndexSettings;
use crate::plan::{Task, Work};
use crate::schema::Fields;
use crate::seen::{Seen, State};

/// Those who read.
pub(crate) struct Crew<'c> {
    snapshot: &'c Snapshot,
    fields: Fields,
    settings: &'c IndexSettings,
    budget: Arc<Budget>,
}

/// What came of reading a page.
pub(crate) struct Outcome {
    pub(crate) page: PageId,
    pub(crate) work: Work,
    pub(crate) seen: Seen,
    pub(crate) state: State,
    /// Bytes of its body.
    pub(crate) bytes: u64,
}

/// Outcomes that may wait to be noted.
const WAITING_OUTCOMES: usize = 256;

impl<'c> Crew<'c> {
    /// Reads pages of a snapshot, with so much text under way.
    pub(crate) fn new(
        snapshot: &'c Snapshot,
        fields: Fields,
        settings: &'c IndexSettings,
        text_bytes: usize,
    ) -> Crew<'c> {
        Crew { snapshot, fields, settings, budget: Budget::new(text_bytes) }
    }

    pub(crate) fn snapshot(&self) -> &'c Snapshot {
        self.snapshot
    }

    /// Does the tasks; shows `each` what came of every one. The first error ends it.
    pub(crate) fn read(
        &self,
        tasks: Vec<Task>,
        writer: &IndexWriter<Entry>,
        each: &mut dyn FnMut(Outcome),
    ) -> Result<()> {
        let workers = self.settings.threads.clamp(1, tasks.len().max(1));
        let queue = Mutex::new(tasks.into_iter());
        let (outcomes, received) = mpsc::sync_channel(WAITING_OUTCOMES);
        thread::scope(|scope| {
            for _ in 0..workers {
                let (queue, outcomes) = (&queue, outcomes.clone());
                scope.spawn(move || self.work(queue, writer, &outcomes));
            }
            drop(outcomes);
            // Who cannot tell any more ends, so that nothing is read in vain.
            received.into_iter().try_for_each(|outcome| outcome.map(&mut *each))
        })
    }

    fn work(
        &self,
        queue: &Mutex<std::vec::IntoIter<Task>>,
        writer: &IndexWriter<Entry>,
        outcomes: &SyncSender<Result<Outcome>>,
    ) {
        let mut reader = EntryReader::new(self.snapshot, self.fields, self.settings.options.clone());
        loop {
            let task = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(task) = task else { return };
            if outcomes.send(self.do_task(&mut reader, &task, writer)).is_err() {
                return;
            }
        }
    }

    fn do_task(
        &self,
        reader: &mut EntryReader<'_>,
        task: &Task,
        writer: &IndexWriter<Entry>,
    ) -> Result<Outcome> {
        let outcome =
            |state, bytes| Outcome { page: task.page, work: task.work, seen: task.seen, state, bytes };
        if task.work == Work::LookAtHead {
            let is_unwanted = reader.is_unwanted_by_head(task)?;
            return Ok(outcome(if is_unwanted { State::Noindex } else { State::Indexed }, 0));
        }
        match reader.read(task)? {
            (ReadPage::Entry(mut entry), bytes) => {
                entry.hold(self.budget.take(entry.bytes()));
                writer.add_document(entry)?;
                Ok(outcome(State::Indexed, bytes))
            }
            (ReadPage::Noindex, bytes) => Ok(outcome(State::Noindex, bytes)),
            (ReadPage::NotText, bytes) => Ok(outcome(State::NotText, bytes)),
        }
    }
}
