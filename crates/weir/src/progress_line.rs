//! Progress line on stderr of the commands that work for minutes: one line of a terminal that is overwritten.
//!
//! A crawl has its own display (`crawl_progress.rs`).

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::output::printable;

/// Minimum time between two updates.
const UPDATE_INTERVAL: Duration = Duration::from_millis(200);

/// Line of a terminal that is overwritten.
pub(crate) struct ProgressLine {
    is_terminal: bool,
    /// Whether steps are printed without a terminal.
    prints_steps: bool,
    /// Whether the line is on the screen.
    is_open: bool,
    last_update: Option<Instant>,
}

impl ProgressLine {
    pub(crate) fn new() -> ProgressLine {
        let is_terminal = io::stderr().is_terminal();
        ProgressLine { is_terminal, prints_steps: false, is_open: false, last_update: None }
    }

    /// Like [`ProgressLine::new`], and prints the steps without a terminal, unless `json` is set.
    pub(crate) fn with_steps(json: bool) -> ProgressLine {
        ProgressLine { prints_steps: !json, ..ProgressLine::new() }
    }

    /// Overwrites the line, unless the last update was just before. Does nothing without a terminal.
    pub(crate) fn update(&mut self, text: impl FnOnce() -> String) -> io::Result<()> {
        if !self.is_terminal || self.last_update.is_some_and(|last| last.elapsed() < UPDATE_INTERVAL) {
            return Ok(());
        }
        self.last_update = Some(Instant::now());
        self.is_open = true;
        write!(io::stderr(), "\r\x1b[K{}", printable(&text()))?;
        io::stderr().flush()
    }

    /// Announces the next step: overwrites the line, or, without a terminal, writes a new line.
    pub(crate) fn begin_step(&mut self, text: &str) -> io::Result<()> {
        if !self.is_terminal {
            return if self.prints_steps { writeln!(io::stderr(), "{}", printable(text)) } else { Ok(()) };
        }
        self.last_update = None;
        self.update(|| text.to_owned())
    }

    /// Writes a warning in place of the line.
    pub(crate) fn warn(&mut self, message: &str) -> io::Result<()> {
        self.clear()?;
        writeln!(io::stderr(), "weir: {}", printable(message))
    }

    /// Removes the line from the screen.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_open) {
            write!(io::stderr(), "\r\x1b[K")?;
        }
        Ok(())
    }
}
