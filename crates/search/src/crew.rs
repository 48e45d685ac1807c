//! Who reads the pages? Several threads, each of which takes the next few in the order of the files, reads and parses them and
//! hands their words to the index. Meanwhile tantivy's threads make terms of words and write segments.
//!
//! Text that the index has not taken yet is bounded ([`Budget`]): when it is behind, nobody reads on.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use model::PageId;
use store::{PageStream, Snapshot, Streamed, Verify};
use tantivy::IndexWriter;

use crate::budget::Budget;
use crate::entry::Entry;
use crate::entry_reader::{Content, EntryReader};
use crate::error::{Result, is_damage};
use crate::index::IndexSettings;
use crate::plan::{Task, Work};
use crate::schema::Fields;
use crate::seen::{Seen, State, earlier};

/// Those who read.
pub(crate) struct Crew<'c> {
    snapshot: &'c Snapshot,
    fields: Fields,
    settings: &'c IndexSettings,
    now_s: i64,
    budget: Arc<Budget>,
}

/// What came of reading a page.
pub(crate) struct Outcome {
    pub(crate) page: PageId,
    pub(crate) work: Work,
    /// What is noted of it.
    pub(crate) seen: Seen,
    /// Bytes of its body.
    pub(crate) bytes: u64,
    /// Of a page that cannot be read, its URL and why.
    pub(crate) damage: Option<(String, String)>,
}

/// Outcomes that may wait to be noted.
const WAITING_OUTCOMES: usize = 256;

/// So many pages a thread takes at a time: few reads fetch those that lie near to each other.
const TAKEN_TASKS: usize = 64;

type Queue = Mutex<std::vec::IntoIter<Task>>;

impl<'c> Crew<'c> {
    /// Reads pages of a snapshot at a moment, with so much text under way.
    pub(crate) fn new(
        snapshot: &'c Snapshot,
        fields: Fields,
        settings: &'c IndexSettings,
        now_s: i64,
        text_bytes: usize,
    ) -> Crew<'c> {
        Crew { snapshot, fields, settings, now_s, budget: Budget::new(text_bytes) }
    }

    pub(crate) fn snapshot(&self) -> &'c Snapshot {
        self.snapshot
    }

    /// The moment by which pages are judged.
    pub(crate) fn now_s(&self) -> i64 {
        self.now_s
    }

    /// Does the tasks; shows `each` what came of every one. The first error ends it. Who breaks ends it, too, but is shown what
    /// is under way: nothing goes to the index that nobody was shown.
    pub(crate) fn read(
        &self,
        tasks: Vec<Task>,
        writer: &IndexWriter<Entry>,
        each: &mut dyn FnMut(Outcome) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let workers = self.settings.threads.clamp(1, tasks.len().div_ceil(TAKEN_TASKS).max(1));
        let queue = Mutex::new(tasks.into_iter());
        let stopped = AtomicBool::new(false);
        let (outcomes, received) = mpsc::sync_channel(WAITING_OUTCOMES);
        thread::scope(|scope| {
            for _ in 0..workers {
                let (queue, stopped, outcomes) = (&queue, &stopped, outcomes.clone());
                scope.spawn(move || Worker { crew: self, writer, stopped, outcomes }.work(queue));
            }
            drop(outcomes);
            let mut flow = ControlFlow::Continue(());
            for outcome in received {
                // Who cannot tell any more ends, so that nothing is read in vain.
                if each(outcome?).is_break() {
                    stopped.store(true, Ordering::Relaxed);
                    flow = ControlFlow::Break(());
                }
            }
            Ok(flow)
        })
    }
}

/// One of those who read.
struct Worker<'w> {
    crew: &'w Crew<'w>,
    writer: &'w IndexWriter<Entry>,
    stopped: &'w AtomicBool,
    outcomes: SyncSender<Result<Outcome>>,
}

impl Worker<'_> {
    fn work(&self, queue: &Queue) {
        let options = self.crew.settings.options.clone();
        let mut reader = EntryReader::new(self.crew.fields, options, self.crew.now_s);
        loop {
            let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
            let tasks: Vec<Task> = queue.by_ref().take(TAKEN_TASKS).collect();
            drop(queue);
            if tasks.is_empty() {
                return;
            }
            let done = self.read_heads(&reader, &tasks).and_then(|()| self.read_pages(&mut reader, tasks));
            match done {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => return,
                Err(error) => {
                    // If nobody listens any more, another error came first.
                    let _ = self.outcomes.send(Err(error));
                    return;
                }
            }
        }
    }

    /// The pages whose content is as before.
    fn read_heads(&self, reader: &EntryReader, tasks: &[Task]) -> Result<()> {
        for task in tasks.iter().filter(|task| task.work == Work::LookAtHead) {
            if self.stopped.load(Ordering::Relaxed) {
                return Ok(());
            }
            let outcome = match self.crew.snapshot.bodies.read_record(&task.location, Verify::Checksum) {
                Err(error) if is_damage(&error) => damaged(task, &error),
                record => {
                    let (is_unwanted, until_s) = reader.read_head(&record?);
                    let state = if is_unwanted { State::Noindex } else { State::Indexed };
                    // What the page itself says is noted already.
                    let until_s = earlier(task.seen.until_s, until_s);
                    outcome(task, Seen { state, until_s, ..task.seen }, 0)
                }
            };
            if self.tell(outcome).is_break() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The pages that are new or have changed.
    fn read_pages(&self, reader: &mut EntryReader, mut tasks: Vec<Task>) -> Result<ControlFlow<()>> {
        tasks.retain(|task| task.work != Work::LookAtHead);
        tasks.sort_unstable_by_key(|task| task.page);
        let pages: Vec<PageId> = tasks.iter().map(|task| task.page).collect();
        let mut stream = PageStream::of_pages(self.crew.snapshot, &pages)?;
        while !self.stopped.load(Ordering::Relaxed) {
            let Some(streamed) = stream.next_page()? else { return Ok(ControlFlow::Continue(())) };
            let (Streamed::Page(place, _) | Streamed::Damaged(place, _)) = &streamed;
            let Ok(at) = pages.binary_search(&place.page) else { continue };
            let task = &tasks[at];
            let outcome = match streamed {
                Streamed::Damaged(_, error) => damaged(task, &error),
                Streamed::Page(_, stored) => {
                    let read = reader.read(task, &stored);
                    let state = match read.content {
                        Content::Noindex => State::Noindex,
                        Content::NotText => State::NotText,
                        Content::Entry(mut entry) => {
                            entry.hold(self.crew.budget.take(entry.bytes()));
                            self.writer.add_document(entry)?;
                            State::Indexed
                        }
                    };
                    outcome(task, Seen { state, until_s: read.until_s, ..task.seen }, read.bytes)
                }
            };
            if self.tell(outcome).is_break() {
                break;
            }
        }
        Ok(ControlFlow::Break(()))
    }

    fn tell(&self, outcome: Outcome) -> ControlFlow<()> {
        match self.outcomes.send(Ok(outcome)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

fn outcome(task: &Task, seen: Seen, bytes: u64) -> Outcome {
    Outcome { page: task.page, work: task.work, seen, bytes, damage: None }
}

fn damaged(task: &Task, error: &store::Error) -> Outcome {
    let seen = Seen { state: State::Damaged, ..task.seen };
    let damage = Some((task.url.clone(), error.to_string()));
    Outcome { damage, ..outcome(task, seen, 0) }
}
