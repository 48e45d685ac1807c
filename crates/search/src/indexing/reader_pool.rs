//! Pool of reader threads. Each takes the next few tasks in the order of the files, reads and parses the pages, and passes them to
//! the index writer, whose own threads tokenize the text and write segments.
//!
//! The text on its way to the writer is bounded by a [`MemoryBudget`]: readers wait when the writer falls behind.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use model::PageId;
use store::{PageStream, PageStreamItem, Snapshot, VerifyLevel};
use tantivy::IndexWriter;

use crate::error::{Result, is_damage};
use crate::index::schema::Fields;
use crate::indexing::document_builder::{Content, DocumentBuilder};
use crate::indexing::index_document::IndexDocument;
use crate::indexing::memory_budget::MemoryBudget;
use crate::indexing::page_state::{IndexedState, PageStatus, earliest_expiry};
use crate::indexing::plan::{ReadKind, ReadTask};
use crate::indexing::summary::IndexSettings;

/// Context shared by the reader threads.
pub(crate) struct ReaderPool<'c> {
    snapshot: &'c Snapshot,
    fields: Fields,
    settings: &'c IndexSettings,
    now_s: i64,
    budget: Arc<MemoryBudget>,
}

/// Outcome of reading a page.
pub(crate) struct ReadOutcome {
    pub(crate) page: PageId,
    pub(crate) kind: ReadKind,
    /// New state of the page.
    pub(crate) state: IndexedState,
    /// Size of the body.
    pub(crate) body_bytes: u64,
    /// URL and error of a damaged page.
    pub(crate) damage: Option<(String, String)>,
}

/// Capacity of the channel of outcomes.
const MAX_PENDING_OUTCOMES: usize = 256;

/// Number of tasks a reader takes at a time, so that one read covers several adjacent pages.
const TASKS_PER_READER: usize = 64;

type Queue = Mutex<std::vec::IntoIter<ReadTask>>;

impl<'c> ReaderPool<'c> {
    pub(crate) fn new(
        snapshot: &'c Snapshot,
        fields: Fields,
        settings: &'c IndexSettings,
        now_s: i64,
        text_bytes: usize,
    ) -> ReaderPool<'c> {
        ReaderPool { snapshot, fields, settings, now_s, budget: MemoryBudget::new(text_bytes) }
    }

    pub(crate) fn snapshot(&self) -> &'c Snapshot {
        self.snapshot
    }

    /// Time for comparisons with `unavailable_after`, in Unix seconds.
    pub(crate) fn now_s(&self) -> i64 {
        self.now_s
    }

    /// Runs the tasks and calls `on_outcome` for each. Stops at the first error, or when the callback breaks; the callback still gets
    /// the outcomes of reads in progress, so that every indexed page is recorded.
    pub(crate) fn read(
        &self,
        tasks: Vec<ReadTask>,
        writer: &IndexWriter<IndexDocument>,
        on_outcome: &mut dyn FnMut(ReadOutcome) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let threads = self.settings.threads.clamp(1, tasks.len().div_ceil(TASKS_PER_READER).max(1));
        let queue = Mutex::new(tasks.into_iter());
        let stopped = AtomicBool::new(false);
        let (outcomes, received) = mpsc::sync_channel(MAX_PENDING_OUTCOMES);
        thread::scope(|scope| {
            for _ in 0..threads {
                let (queue, stopped, outcomes) = (&queue, &stopped, outcomes.clone());
                scope.spawn(move || ReaderThread { pool: self, writer, stopped, outcomes }.run(queue));
            }
            drop(outcomes);
            let mut flow = ControlFlow::Continue(());
            for outcome in received {
                // Returning an error drops the receiver; readers then fail to send and stop.
                if on_outcome(outcome?).is_break() {
                    stopped.store(true, Ordering::Relaxed);
                    flow = ControlFlow::Break(());
                }
            }
            Ok(flow)
        })
    }
}

/// State of one reader thread.
struct ReaderThread<'w> {
    pool: &'w ReaderPool<'w>,
    writer: &'w IndexWriter<IndexDocument>,
    stopped: &'w AtomicBool,
    outcomes: SyncSender<Result<ReadOutcome>>,
}

impl ReaderThread<'_> {
    fn run(&self, queue: &Queue) {
        let options = self.pool.settings.parse_options.clone();
        let mut builder = DocumentBuilder::new(self.pool.fields, options, self.pool.now_s);
        loop {
            let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
            let tasks: Vec<ReadTask> = queue.by_ref().take(TASKS_PER_READER).collect();
            drop(queue);
            if tasks.is_empty() {
                return;
            }
            let done =
                self.check_headers(&builder, &tasks).and_then(|()| self.read_pages(&mut builder, tasks));
            match done {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => return,
                Err(error) => {
                    // A closed channel means that another error came first.
                    let _ = self.outcomes.send(Err(error));
                    return;
                }
            }
        }
    }

    /// Checks the response headers of pages with unchanged content.
    fn check_headers(&self, builder: &DocumentBuilder, tasks: &[ReadTask]) -> Result<()> {
        for task in tasks.iter().filter(|task| task.kind == ReadKind::CheckHeaders) {
            if self.stopped.load(Ordering::Relaxed) {
                return Ok(());
            }
            let outcome =
                match self.pool.snapshot.page_store.read_record(&task.location, VerifyLevel::Checksum) {
                    Err(error) if is_damage(&error) => damaged(task, &error),
                    record => {
                        let (is_noindex, expires_s) = builder.check_headers(&record?);
                        let status = if is_noindex { PageStatus::Noindex } else { PageStatus::Indexed };
                        // The expiry in the page itself is already part of the state.
                        let expires_s = earliest_expiry(task.state.expires_s, expires_s);
                        outcome(task, IndexedState { status, expires_s, ..task.state }, 0)
                    }
                };
            if self.send(outcome).is_break() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads pages that are new or changed.
    fn read_pages(&self, builder: &mut DocumentBuilder, mut tasks: Vec<ReadTask>) -> Result<ControlFlow<()>> {
        tasks.retain(|task| task.kind != ReadKind::CheckHeaders);
        tasks.sort_unstable_by_key(|task| task.page);
        let pages: Vec<PageId> = tasks.iter().map(|task| task.page).collect();
        let mut stream = PageStream::from_pages(self.pool.snapshot, &pages)?;
        while !self.stopped.load(Ordering::Relaxed) {
            let Some(streamed) = stream.next_page()? else { return Ok(ControlFlow::Continue(())) };
            let (PageStreamItem::Page(location, _) | PageStreamItem::Corrupt(location, _)) = &streamed;
            let Ok(at) = pages.binary_search(&location.page) else { continue };
            let task = &tasks[at];
            let outcome = match streamed {
                PageStreamItem::Corrupt(_, error) => damaged(task, &error),
                PageStreamItem::Page(_, stored) => {
                    let read = builder.build(task, &stored);
                    let status = match read.content {
                        Content::Noindex => PageStatus::Noindex,
                        Content::NotText => PageStatus::NotText,
                        Content::Document(mut document) => {
                            document.attach_permit(self.pool.budget.acquire(document.bytes()));
                            self.writer.add_document(document)?;
                            PageStatus::Indexed
                        }
                    };
                    outcome(
                        task,
                        IndexedState { status, expires_s: read.expires_s, ..task.state },
                        read.body_bytes,
                    )
                }
            };
            if self.send(outcome).is_break() {
                break;
            }
        }
        Ok(ControlFlow::Break(()))
    }

    fn send(&self, outcome: ReadOutcome) -> ControlFlow<()> {
        match self.outcomes.send(Ok(outcome)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

fn outcome(task: &ReadTask, state: IndexedState, body_bytes: u64) -> ReadOutcome {
    ReadOutcome { page: task.page, kind: task.kind, state, body_bytes, damage: None }
}

fn damaged(task: &ReadTask, error: &store::Error) -> ReadOutcome {
    let state = IndexedState { status: PageStatus::Damaged, ..task.state };
    let damage = Some((task.url.clone(), error.to_string()));
    ReadOutcome { damage, ..outcome(task, state, 0) }
}
