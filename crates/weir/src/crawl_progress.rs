//! Progress display of a crawl on stderr: one line of a terminal that is overwritten, otherwise a line every ten seconds;
//! and a line that stays for finished batches.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use harvest::{Progress, memory_bytes};

use crate::human::{self, duration, plural, rate, timestamp};
use crate::output::printable;
use crate::system;

/// Kind of progress display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgressMode {
    /// No display.
    Silent,
    /// One line every ten seconds.
    Lines,
    /// One line that is overwritten.
    Live,
}

impl ProgressMode {
    /// Chooses the mode by whether stderr is a terminal; silent with `--json` unless `--progress` is given.
    pub(crate) fn choose(json: bool, is_requested: bool) -> ProgressMode {
        match (json && !is_requested, io::stderr().is_terminal()) {
            (true, _) => ProgressMode::Silent,
            (false, true) => ProgressMode::Live,
            (false, false) => ProgressMode::Lines,
        }
    }

    /// Time between two updates.
    pub(crate) fn interval(self) -> Duration {
        match self {
            ProgressMode::Silent | ProgressMode::Lines => Duration::from_secs(10),
            ProgressMode::Live => Duration::from_millis(500),
        }
    }
}

/// Time over which rates are averaged.
const RATE_WINDOW: Duration = Duration::from_secs(10);

/// Minimum time between two lines about batches.
const BATCH_LINE_INTERVAL: Duration = Duration::from_secs(60);

/// Progress display of a crawl.
pub(crate) struct ProgressDisplay {
    mode: ProgressMode,
    start: Instant,
    /// Samples of the rate window, oldest first, and the newest one before it.
    window: VecDeque<(Instant, Progress)>,
    /// Time and counters of the last line about batches.
    last_batch_line: (Instant, Progress),
    /// Whether the live line is on the screen.
    is_open: bool,
}

impl ProgressDisplay {
    pub(crate) fn new(mode: ProgressMode) -> ProgressDisplay {
        let now = Instant::now();
        let none = Progress::default();
        ProgressDisplay {
            mode,
            start: now,
            window: VecDeque::from([(now, none)]),
            last_batch_line: (now, none),
            is_open: false,
        }
    }

    /// Shows the progress of the crawl.
    pub(crate) fn show(&mut self, now: Instant, progress: Progress) -> io::Result<()> {
        self.window.push_back((now, progress));
        while self.window.get(1).is_some_and(|(then, _)| now - *then >= RATE_WINDOW) {
            self.window.pop_front();
        }
        // Batches get short at the end of a crawl; several of them then share a line.
        let (last, before) = self.last_batch_line;
        if progress.batches > before.batches && now - last >= BATCH_LINE_INTERVAL {
            self.print_line(&batch_line((last, before), (now, progress)))?;
            self.last_batch_line = (now, progress);
        }
        let oldest = self.window.front().copied().unwrap_or((now, progress));
        let parts = parts(oldest, (now, progress), memory_bytes());
        match self.mode {
            ProgressMode::Silent => Ok(()),
            ProgressMode::Lines => {
                writeln!(io::stderr(), "{} {}", duration((now - self.start).as_secs()), parts.join(", "))
            }
            ProgressMode::Live => {
                let columns = system::terminal_columns(io::stderr()).unwrap_or(80);
                self.is_open = true;
                write!(io::stderr(), "\r\x1b[K{}", printable(&fit_to_width(&parts, columns)))?;
                io::stderr().flush()
            }
        }
    }

    /// Writes a line that stays, unless the display is silent.
    pub(crate) fn print_line(&mut self, text: &str) -> io::Result<()> {
        if self.mode == ProgressMode::Silent {
            return Ok(());
        }
        self.clear()?;
        writeln!(io::stderr(), "{}", printable(text))
    }

    /// Writes a warning, also if the display is silent.
    pub(crate) fn warn(&mut self, message: &str) -> io::Result<()> {
        self.clear()?;
        writeln!(io::stderr(), "weir: {}", printable(message))
    }

    /// Removes the live line from the screen.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.is_open) {
            return Ok(());
        }
        write!(io::stderr(), "\r\x1b[K")?;
        io::stderr().flush()
    }

    /// Writes the line about the last batches, unless it would be the only one: then the summary of the crawl contains the same numbers.
    pub(crate) fn finish(&mut self, now: Instant, progress: Progress) -> io::Result<()> {
        self.clear()?;
        let before = self.last_batch_line.1;
        if before.batches > 0 && progress.batches > before.batches {
            self.print_line(&batch_line(self.last_batch_line, (now, progress)))?;
        }
        Ok(())
    }
}

/// Facts of the progress line, the most important first.
fn parts(oldest: (Instant, Progress), newest: (Instant, Progress), memory_bytes: Option<u64>) -> Vec<String> {
    let ((then, before), (now, progress)) = (oldest, newest);
    let seconds = (now - then).as_secs_f64().max(0.001);
    let per_second = |new: u64, old: u64| new.saturating_sub(old) as f64 / seconds;
    let pages = per_second(progress.pages_fetched, before.pages_fetched);
    let bytes = per_second(progress.bytes_received, before.bytes_received);
    let processed =
        |progress: &Progress| progress.pages_fetched + progress.failed_fetches + progress.pages_skipped;
    let processing_rate = per_second(processed(&progress), processed(&before));
    let mut parts = vec![
        plural(progress.pages_fetched, "page"),
        format!("{}/s", rate(pages)),
        format!("{}/s", human::bytes(bytes as u64)),
        format!("{} active", plural(progress.active_sites, "site")),
        format!("{} queued", human::number(progress.pages_queued)),
        plural(progress.failed_fetches, "failed fetch"),
    ];
    if progress.rejected_items > 0 {
        parts.push(plural(progress.rejected_items, "rejected item"));
    }
    if processing_rate > 0.0 && progress.pages_queued > 0 {
        parts
            .push(format!("batch ETA {}", duration((progress.pages_queued as f64 / processing_rate) as u64)));
    }
    if progress.idle_until_ms > 0 {
        let state = if progress.daily_limit_reached { "daily limit reached" } else { "idle" };
        parts.insert(1, format!("{state} until {}", timestamp(progress.idle_until_ms as i64)));
    }
    if let Some(status) = progress.local_fault {
        parts.insert(1, format!("waiting: {}", status.fault));
    }
    if progress.paused {
        parts.insert(1, "paused".to_owned());
    }
    parts.extend(memory_bytes.map(|bytes| format!("{} memory", human::bytes(bytes))));
    // `weir harvester` does not open the collection and knows only its batches.
    if progress.pages_known > 0 {
        parts.push(format!("{} known", human::number(progress.pages_known)));
        parts.push(format!("batch {}", progress.batches));
    }
    parts
}

/// Joins the parts that fit on a line of the terminal. The last column stays free, where some terminals wrap.
fn fit_to_width(parts: &[String], columns: usize) -> String {
    let mut line = String::new();
    for part in parts {
        let gap = if line.is_empty() { "" } else { "  " };
        if line.len() + gap.len() + part.len() >= columns {
            break;
        }
        line.push_str(gap);
        line.push_str(part);
    }
    line
}

fn batch_line(from: (Instant, Progress), to: (Instant, Progress)) -> String {
    let ((then, before), (now, after)) = (from, to);
    let seconds = (now - then).as_secs_f64();
    let pages = after.pages_fetched - before.pages_fetched;
    let batches = match (before.batches + 1, after.batches) {
        (first, last) if first >= last => format!("batch {last}"),
        (first, last) => format!("batches {first} to {last}"),
    };
    format!(
        "{batches}: {}, {}, {}, {} in {} ({} pages/s)",
        plural(pages, "page"),
        human::bytes(after.bytes_received - before.bytes_received),
        plural(after.links - before.links, "link"),
        plural(after.failed_fetches - before.failed_fetches, "failed fetch"),
        duration(seconds.round() as u64),
        rate(pages as f64 / seconds.max(0.001)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn before() -> Progress {
        Progress {
            pages_fetched: 1_000,
            bytes_received: 1_000_000,
            failed_fetches: 2,
            links: 10,
            batches: 2,
            ..Progress::default()
        }
    }

    fn after() -> Progress {
        Progress {
            pages_fetched: 2_234,
            bytes_received: 21_000_000,
            failed_fetches: 18,
            active_sites: 321,
            pages_queued: 25_000,
            pages_known: 123_456,
            links: 40_010,
            batches: 3,
            ..before()
        }
    }

    #[test]
    fn the_progress_line_has_rates_and_the_eta_of_the_batch() {
        let now = Instant::now();
        let later = now + Duration::from_secs(10);
        let parts = parts((now, before()), (later, after()), Some(345_000_000));
        assert_eq!(
            parts.join(", "),
            "2,234 pages, 123/s, 2.00 MB/s, 321 sites active, 25,000 queued, 18 failed fetches, batch ETA 3m 20s, \
             345 MB memory, 123,456 known, batch 3"
        );
        let paused = Progress { paused: true, ..after() };
        let paused = super::parts((now, before()), (later, paused), None);
        assert_eq!(paused[..2], ["2,234 pages", "paused"]);
        assert_eq!(fit_to_width(&parts, 40), "2,234 pages  123/s  2.00 MB/s");
        assert_eq!(fit_to_width(&parts, 10), "");
        for columns in 0..200 {
            assert!(fit_to_width(&parts, columns).len() < columns.max(1));
        }
    }

    #[test]
    fn the_batch_line_has_the_counts_since_the_line_before() {
        let now = Instant::now();
        let later = now + Duration::from_secs(20);
        let line = batch_line((now, before()), (later, after()));
        assert_eq!(
            line,
            "batch 3: 1,234 pages, 20.0 MB, 40,000 links, 16 failed fetches in 20s (61.7 pages/s)"
        );
        let line = batch_line((now, before()), (later, Progress { batches: 9, ..after() }));
        assert!(line.starts_with("batches 3 to 9: 1,234 pages"), "{line}");
    }
}
