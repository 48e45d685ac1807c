//! How do handlers get to see the pages? One stream for all of them, each page parsed once.
//!
//! The slowest handler sets the pace. Every handler has a position of its own, so that one that had to stop can go on later
//! with the page that stopped it, while the others have long been past it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use store::{Error, PageStream, Position, Result, Snapshot, StreamRequest, Streamed};

use crate::form::Column;
use crate::handler::{Handler, HandlerError};
use crate::page_view::Viewer;

/// A run of handlers over a stream.
pub struct HandlerRun<'h> {
    handlers: Vec<Running<'h>>,
    /// How often a handler gets a page again after a recoverable error; the next is fatal.
    pub retries: u32,
    /// How long it waits before the first of them; twice as long before each that follows.
    pub first_pause: Duration,
    /// Where the positions are kept from which a later run goes on.
    pub checkpoint: Option<PathBuf>,
    /// After so many pages each time.
    pub checkpoint_pages: u64,
}

/// What came of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RunSummary {
    /// Pages that were shown.
    pub pages: u64,
    /// Pages whose records are damaged.
    pub damaged: u64,
    /// Handlers that had to stop.
    pub stopped: Vec<Stopped>,
}

/// A handler that had to stop.
#[derive(Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Its name.
    pub name: String,
    /// It has done its work up to here; from the beginning if there is none.
    pub position: Option<Position>,
    /// Why it stopped.
    pub why: String,
}

struct Running<'h> {
    name: String,
    handler: &'h mut dyn Handler,
    position: Option<Position>,
    stopped: Option<String>,
}

impl<'h> HandlerRun<'h> {
    /// A run of nobody.
    pub fn new() -> HandlerRun<'h> {
        HandlerRun {
            handlers: Vec::new(),
            retries: 5,
            first_pause: Duration::from_millis(100),
            checkpoint: None,
            checkpoint_pages: 10_000,
        }
    }

    /// Adds a handler, under a name by which a later run knows it again.
    pub fn add(&mut self, name: &str, handler: &'h mut dyn Handler) {
        // The file of positions has a line for each.
        let name = name.replace(['\t', '\n', '\r'], " ");
        self.handlers.push(Running { name, handler, position: None, stopped: None });
    }

    /// Shows the pages to all handlers; those that have been here before go on where they were.
    pub fn run(&mut self, snapshot: &Snapshot, request: &StreamRequest) -> Result<RunSummary> {
        self.take_up(request.from)?;
        let from = self.handlers.iter().map(|running| running.position).min().flatten();
        let mut stream = PageStream::open(snapshot, &StreamRequest { from, ..request.clone() })?;
        let columns: Vec<Column> =
            self.handlers.iter().flat_map(|running| running.handler.columns().to_vec()).collect();
        let mut viewer = Viewer::new(&columns);
        let mut summary = RunSummary::default();
        for running in &mut self.handlers {
            running.attempt(self.retries, self.first_pause, |handler| handler.init());
        }
        while self.handlers.iter().any(Running::works)
            && let Some(streamed) = stream.next_page()?
        {
            let (place, stored) = match streamed {
                Streamed::Page(place, stored) => (place, stored),
                Streamed::Damaged(..) => {
                    summary.damaged += 1;
                    continue;
                }
            };
            let position = stream.position_behind(&place);
            let page = viewer.view(place, position, &stored);
            for running in &mut self.handlers {
                if running.works() && running.position < Some(position) {
                    running.attempt(self.retries, self.first_pause, |handler| handler.process(&page));
                    if running.works() {
                        running.position = Some(position);
                    }
                }
            }
            summary.pages += 1;
            if summary.pages.is_multiple_of(self.checkpoint_pages.max(1)) {
                self.save()?;
            }
        }
        self.end(summary)
    }

    fn end(&mut self, mut summary: RunSummary) -> Result<RunSummary> {
        self.save()?;
        for running in &mut self.handlers {
            running.attempt(self.retries, self.first_pause, |handler| handler.finish());
        }
        let stopped = self.handlers.iter().filter_map(|running| {
            let why = running.stopped.clone()?;
            Some(Stopped { name: running.name.clone(), position: running.position, why })
        });
        summary.stopped = stopped.collect();
        if let (true, Some(path)) = (summary.stopped.is_empty(), &self.checkpoint) {
            remove(path)?;
        }
        Ok(summary)
    }

    /// Gives every handler its position: that of a run before, or that of the request.
    fn take_up(&mut self, from: Option<Position>) -> Result<()> {
        let saved = self.checkpoint.as_deref().map_or(Ok(BTreeMap::new()), read)?;
        for running in &mut self.handlers {
            running.position = saved.get(&running.name).copied().unwrap_or(from);
        }
        Ok(())
    }

    /// Lets handlers make their work safe, then writes how far they are.
    fn save(&mut self) -> Result<()> {
        let Some(path) = &self.checkpoint else { return Ok(()) };
        let mut lines = String::new();
        for running in &mut self.handlers {
            running.attempt(self.retries, self.first_pause, |handler| handler.checkpoint());
            let position = running.position.map_or_else(|| "-".to_owned(), |position| position.to_string());
            lines.push_str(&format!("{}\t{position}\n", running.name));
        }
        let next = path.with_extension("next");
        let failed = |source| Error::Io { operation: "write", path: path.clone(), source };
        fs::write(&next, lines).and_then(|()| fs::rename(&next, path)).map_err(failed)
    }
}

impl Default for HandlerRun<'_> {
    fn default() -> Self {
        HandlerRun::new()
    }
}

impl Running<'_> {
    fn works(&self) -> bool {
        self.stopped.is_none()
    }

    /// Does something, again and again if that may help; stops the handler if it does not.
    fn attempt(
        &mut self,
        retries: u32,
        first_pause: Duration,
        mut work: impl FnMut(&mut dyn Handler) -> std::result::Result<(), HandlerError>,
    ) {
        if !self.works() {
            return;
        }
        for retry in 0..=retries {
            match work(self.handler) {
                Ok(()) => return,
                Err(HandlerError::Recoverable(_)) if retry < retries => {
                    std::thread::sleep(first_pause.saturating_mul(1 << retry.min(16)));
                }
                Err(error) => {
                    self.stopped = Some(error.to_string());
                    return;
                }
            }
        }
    }
}

/// The positions of a run before; none without such a file.
fn read(path: &Path) -> Result<BTreeMap<String, Option<Position>>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(source) => return Err(Error::Io { operation: "read", path: path.to_owned(), source }),
    };
    let mut positions = BTreeMap::new();
    for line in text.lines() {
        let (name, position) = line.rsplit_once('\t').unwrap_or((line, "-"));
        let position = (position != "-").then(|| position.parse()).transpose()?;
        positions.insert(name.to_owned(), position);
    }
    Ok(positions)
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(Error::Io { operation: "remove", path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}
