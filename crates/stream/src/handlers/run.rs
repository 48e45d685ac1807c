//! Run of several handlers over one stream, with each page parsed once.
//!
//! The slowest handler sets the pace. Each handler has its own cursor, so that a stopped handler resumes in a later run at the
//! page that stopped it, independently of the others.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use store::{Error, PageStream, PageStreamItem, PageStreamRequest, Result, Snapshot, StreamCursor};

use crate::handlers::handler::{Handler, HandlerError};
use crate::page_view::PageViewer;
use crate::query::output::OutputColumn;

/// Run of handlers over a stream.
pub struct HandlerRun<'h> {
    handlers: Vec<ActiveHandler<'h>>,
    /// Maximum number of retries after a recoverable error; the next error stops the handler.
    pub retries: u32,
    /// Delay before the first retry; doubled for each further one.
    pub initial_back_off: Duration,
    /// File with the cursors from which a later run resumes.
    pub checkpoint: Option<PathBuf>,
    /// Number of pages between two checkpoints.
    pub checkpoint_pages: u64,
}

/// Result of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HandlerRunSummary {
    /// Pages processed.
    pub pages: u64,
    /// Pages with a corrupt record.
    pub corrupt_pages: u64,
    /// Handlers stopped by an error.
    pub stopped_handlers: Vec<StoppedHandler>,
}

/// Handler stopped by an error.
#[derive(Debug, PartialEq, Eq)]
pub struct StoppedHandler {
    /// Name of the handler.
    pub name: String,
    /// Cursor after the last page processed; `None` before the first.
    pub cursor: Option<StreamCursor>,
    /// The error.
    pub error: String,
}

struct ActiveHandler<'h> {
    name: String,
    handler: &'h mut dyn Handler,
    cursor: Option<StreamCursor>,
    error: Option<String>,
}

impl<'h> HandlerRun<'h> {
    /// Creates a run without handlers.
    pub fn new() -> HandlerRun<'h> {
        HandlerRun {
            handlers: Vec::new(),
            retries: 5,
            initial_back_off: Duration::from_millis(100),
            checkpoint: None,
            checkpoint_pages: 10_000,
        }
    }

    /// Adds a handler; a later run finds its cursor by this name.
    pub fn add(&mut self, name: &str, handler: &'h mut dyn Handler) {
        // The checkpoint file has one line per handler, with tabs between the fields.
        let name = name.replace(['\t', '\n', '\r'], " ");
        self.handlers.push(ActiveHandler { name, handler, cursor: None, error: None });
    }

    /// Passes the pages to all handlers; handlers with a saved cursor resume there.
    pub fn run(&mut self, snapshot: &Snapshot, request: &PageStreamRequest) -> Result<HandlerRunSummary> {
        self.load_cursors(request.after)?;
        let from = self.handlers.iter().map(|active| active.cursor).min().flatten();
        let mut stream = PageStream::open(snapshot, &PageStreamRequest { after: from, ..request.clone() })?;
        let columns: Vec<OutputColumn> =
            self.handlers.iter().flat_map(|active| active.handler.columns().to_vec()).collect();
        let mut viewer = PageViewer::new(&columns);
        let mut summary = HandlerRunSummary::default();
        for active in &mut self.handlers {
            active.call_with_retry(self.retries, self.initial_back_off, |handler| handler.init());
        }
        while self.handlers.iter().any(ActiveHandler::is_active)
            && let Some(streamed) = stream.next_page()?
        {
            let (place, stored) = match streamed {
                PageStreamItem::Page(place, stored) => (place, stored),
                PageStreamItem::Corrupt(..) => {
                    summary.corrupt_pages += 1;
                    continue;
                }
            };
            let cursor = stream.cursor_after(&place);
            let page = viewer.view(place, cursor, &stored);
            for active in &mut self.handlers {
                if active.is_active() && active.cursor < Some(cursor) {
                    active.call_with_retry(self.retries, self.initial_back_off, |handler| {
                        handler.process(&page)
                    });
                    if active.is_active() {
                        active.cursor = Some(cursor);
                    }
                }
            }
            summary.pages += 1;
            if summary.pages.is_multiple_of(self.checkpoint_pages.max(1)) {
                self.save_checkpoint()?;
            }
        }
        self.finish(summary)
    }

    fn finish(&mut self, mut summary: HandlerRunSummary) -> Result<HandlerRunSummary> {
        self.save_checkpoint()?;
        for active in &mut self.handlers {
            active.call_with_retry(self.retries, self.initial_back_off, |handler| handler.finish());
        }
        let stopped = self.handlers.iter().filter_map(|active| {
            let why = active.error.clone()?;
            Some(StoppedHandler { name: active.name.clone(), cursor: active.cursor, error: why })
        });
        summary.stopped_handlers = stopped.collect();
        if let (true, Some(path)) = (summary.stopped_handlers.is_empty(), &self.checkpoint) {
            remove(path)?;
        }
        Ok(summary)
    }

    /// Sets the cursor of each handler: the saved one, or that of the request.
    fn load_cursors(&mut self, from: Option<StreamCursor>) -> Result<()> {
        let saved = self.checkpoint.as_deref().map_or(Ok(BTreeMap::new()), read_cursors)?;
        for active in &mut self.handlers {
            active.cursor = saved.get(&active.name).copied().unwrap_or(from);
        }
        Ok(())
    }

    /// Calls the checkpoint of each handler, then saves the cursors.
    fn save_checkpoint(&mut self) -> Result<()> {
        let Some(path) = &self.checkpoint else { return Ok(()) };
        let mut lines = String::new();
        for active in &mut self.handlers {
            active.call_with_retry(self.retries, self.initial_back_off, |handler| handler.checkpoint());
            let cursor = active.cursor.map_or_else(|| "-".to_owned(), |cursor| cursor.to_string());
            lines.push_str(&format!("{}\t{cursor}\n", active.name));
        }
        // Not `with_extension`: the name must not be that of another file of the user.
        let mut next = path.as_os_str().to_owned();
        next.push(".weir-unfinished");
        let next = PathBuf::from(next);
        let failed = |source| Error::Io { operation: "write", path: path.clone(), source };
        fs::write(&next, lines).and_then(|()| fs::rename(&next, path)).map_err(failed)
    }
}

impl Default for HandlerRun<'_> {
    fn default() -> Self {
        HandlerRun::new()
    }
}

impl ActiveHandler<'_> {
    fn is_active(&self) -> bool {
        self.error.is_none()
    }

    /// Calls the handler, with retries after recoverable errors; stops it otherwise.
    fn call_with_retry(
        &mut self,
        retries: u32,
        initial_back_off: Duration,
        mut work: impl FnMut(&mut dyn Handler) -> std::result::Result<(), HandlerError>,
    ) {
        if !self.is_active() {
            return;
        }
        for retry in 0..=retries {
            match work(self.handler) {
                Ok(()) => return,
                Err(HandlerError::Recoverable(_)) if retry < retries => {
                    std::thread::sleep(initial_back_off.saturating_mul(1 << retry.min(16)));
                }
                Err(error) => {
                    self.error = Some(error.to_string());
                    return;
                }
            }
        }
    }
}

/// Cursors saved by an earlier run; empty without a checkpoint file.
fn read_cursors(path: &Path) -> Result<BTreeMap<String, Option<StreamCursor>>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(source) => return Err(Error::Io { operation: "read", path: path.to_owned(), source }),
    };
    let mut cursors = BTreeMap::new();
    for line in text.lines() {
        // Without this, any text file would be taken for a checkpoint, and replaced.
        let Some((name, cursor)) = line.rsplit_once('\t') else {
            let source = io::Error::new(io::ErrorKind::InvalidData, "it is not a checkpoint of handlers");
            return Err(Error::Io { operation: "read", path: path.to_owned(), source });
        };
        let cursor = (cursor != "-").then(|| cursor.parse()).transpose()?;
        cursors.insert(name.to_owned(), cursor);
    }
    Ok(cursors)
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(Error::Io { operation: "remove", path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}
