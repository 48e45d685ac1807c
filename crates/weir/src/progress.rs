//! How is a crawl shown while it goes on? On a terminal one line that is written over, elsewhere a line now and then; and
//! for each cycle that ended, a line that stays.
//!
//! Everything goes to stderr: the answer of the command is on stdout.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crawl::{Progress, memory_bytes};

use crate::process;
use crate::words::{count, counted, duration, rate, size, time};

/// How a crawl is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Not at all.
    Silent,
    /// A line every ten seconds.
    Lines,
    /// One line that is written over.
    Live,
}

impl Style {
    /// What suits where stderr leads; nothing if the answer is for a program, unless somebody asks for it.
    pub(crate) fn choose(json: bool, asked: bool) -> Style {
        match (json && !asked, io::stderr().is_terminal()) {
            (true, _) => Style::Silent,
            (false, true) => Style::Live,
            (false, false) => Style::Lines,
        }
    }

    /// How often something new is shown.
    pub(crate) fn interval(self) -> Duration {
        match self {
            Style::Silent | Style::Lines => Duration::from_secs(10),
            Style::Live => Duration::from_millis(500),
        }
    }
}

/// The time over which rates are taken.
const WINDOW: Duration = Duration::from_secs(10);

/// Lines about cycles are no closer than this.
const CYCLE_LINE: Duration = Duration::from_secs(60);

/// Shows a crawl.
pub(crate) struct Display {
    style: Style,
    start: Instant,
    /// Moments of the window, oldest first, and the newest from before it.
    window: VecDeque<(Instant, Progress)>,
    /// When the cycles began that were not told yet, and with which counters.
    cycle: (Instant, Progress),
    /// Whether a live line stands on the screen.
    is_open: bool,
}

impl Display {
    pub(crate) fn new(style: Style) -> Display {
        let now = Instant::now();
        let none = Progress::default();
        Display {
            style,
            start: now,
            window: VecDeque::from([(now, none)]),
            cycle: (now, none),
            is_open: false,
        }
    }

    /// Shows how far the crawl has come.
    pub(crate) fn show(&mut self, now: Instant, progress: Progress) -> io::Result<()> {
        self.window.push_back((now, progress));
        while self.window.get(1).is_some_and(|(then, _)| now - *then >= WINDOW) {
            self.window.pop_front();
        }
        // At the end of a crawl cycles are short: several of them share a line then.
        if progress.cycles > self.cycle.1.cycles && now - self.cycle.0 >= CYCLE_LINE {
            self.say(&cycle_line(self.cycle, (now, progress)))?;
            self.cycle = (now, progress);
        }
        let oldest = self.window.front().copied().unwrap_or((now, progress));
        let parts = parts(oldest, (now, progress), memory_bytes());
        match self.style {
            Style::Silent => Ok(()),
            Style::Lines => {
                writeln!(io::stderr(), "{} {}", duration((now - self.start).as_secs()), parts.join(", "))
            }
            Style::Live => {
                let columns = process::terminal_columns(io::stderr()).unwrap_or(80);
                self.is_open = true;
                write!(io::stderr(), "\r\x1b[K{}", fitting(&parts, columns))?;
                io::stderr().flush()
            }
        }
    }

    /// Writes a line that stays.
    pub(crate) fn say(&mut self, sentence: &str) -> io::Result<()> {
        if self.style == Style::Silent {
            return Ok(());
        }
        self.clear()?;
        writeln!(io::stderr(), "{sentence}")
    }

    /// Tells of something that is not as it should be, however quiet it is to be.
    pub(crate) fn complain(&mut self, sentence: &str) -> io::Result<()> {
        self.clear()?;
        writeln!(io::stderr(), "weir: {sentence}")
    }

    /// Takes the live line away.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.is_open) {
            return Ok(());
        }
        write!(io::stderr(), "\r\x1b[K")?;
        io::stderr().flush()
    }

    /// Tells of the last cycles, when the crawl is over; if there were no others, its summary says the same.
    pub(crate) fn finish(&mut self, now: Instant, progress: Progress) -> io::Result<()> {
        self.clear()?;
        if self.cycle.1.cycles > 0 && progress.cycles > self.cycle.1.cycles {
            self.say(&cycle_line(self.cycle, (now, progress)))?;
        }
        Ok(())
    }
}

/// What is told, the most important first.
fn parts(oldest: (Instant, Progress), newest: (Instant, Progress), memory_bytes: Option<u64>) -> Vec<String> {
    let ((then, before), (now, progress)) = (oldest, newest);
    let seconds = (now - then).as_secs_f64().max(0.001);
    let per_second = |new: u64, old: u64| new.saturating_sub(old) as f64 / seconds;
    let pages = per_second(progress.pages, before.pages);
    let bytes = per_second(progress.bytes, before.bytes);
    let visits = |progress: &Progress| progress.pages + progress.errors + progress.left_out;
    let visited = per_second(visits(&progress), visits(&before));
    let mut parts = vec![
        counted(progress.pages, "page"),
        format!("{}/s", rate(pages)),
        format!("{}/s", size(bytes as u64)),
        format!("{} active", counted(progress.active_sites, "site")),
        format!("{} queued", count(progress.waiting_pages)),
        counted(progress.errors, "error"),
    ];
    if visited > 0.0 && progress.waiting_pages > 0 {
        parts.push(format!("batch ends in {}", duration((progress.waiting_pages as f64 / visited) as u64)));
    }
    if progress.paused_until_ms > 0 {
        let what =
            if progress.paused_by_budget { "the day's requests are used up" } else { "nothing is due" };
        parts.insert(1, format!("{what} until {}", time(progress.paused_until_ms as i64)));
    }
    if progress.paused {
        parts.insert(1, "paused".to_owned());
    }
    parts.extend(memory_bytes.map(|bytes| format!("{} of memory", size(bytes))));
    // A harvester that works alone knows of its batches only.
    if progress.pages_known > 0 {
        parts.push(format!("{} known", count(progress.pages_known)));
        parts.push(format!("cycle {}", progress.cycles));
    }
    parts
}

/// As many parts as a line of the terminal holds; the last column stays free, since some terminals begin a new line there.
fn fitting(parts: &[String], columns: usize) -> String {
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

fn cycle_line(from: (Instant, Progress), to: (Instant, Progress)) -> String {
    let ((then, before), (now, after)) = (from, to);
    let seconds = (now - then).as_secs_f64();
    let pages = after.pages - before.pages;
    let cycles = match (before.cycles + 1, after.cycles) {
        (first, last) if first >= last => format!("cycle {last}"),
        (first, last) => format!("cycles {first} to {last}"),
    };
    format!(
        "{cycles}: {}, {}, {}, {} in {} ({} pages/s)",
        counted(pages, "page"),
        size(after.bytes - before.bytes),
        counted(after.links - before.links, "link"),
        counted(after.errors - before.errors, "error"),
        duration(seconds.round() as u64),
        rate(pages as f64 / seconds.max(0.001)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn before() -> Progress {
        Progress { pages: 1_000, bytes: 1_000_000, errors: 2, links: 10, cycles: 2, ..Progress::default() }
    }

    fn after() -> Progress {
        Progress {
            pages: 2_234,
            bytes: 21_000_000,
            errors: 18,
            active_sites: 321,
            waiting_pages: 25_000,
            pages_known: 123_456,
            links: 40_010,
            cycles: 3,
            ..before()
        }
    }

    #[test]
    fn a_line_tells_rates_and_when_the_batch_ends() {
        let now = Instant::now();
        let later = now + Duration::from_secs(10);
        let parts = parts((now, before()), (later, after()), Some(345_000_000));
        assert_eq!(
            parts.join(", "),
            "2,234 pages, 123/s, 2.00 MB/s, 321 sites active, 25,000 queued, 18 errors, batch ends in 3m 20s, \
             345 MB of memory, 123,456 known, cycle 3"
        );
        let paused = Progress { paused: true, ..after() };
        let paused = super::parts((now, before()), (later, paused), None);
        assert_eq!(paused[..2], ["2,234 pages", "paused"]);
        assert_eq!(fitting(&parts, 40), "2,234 pages  123/s  2.00 MB/s");
        assert_eq!(fitting(&parts, 10), "");
        for columns in 0..200 {
            assert!(fitting(&parts, columns).len() < columns.max(1));
        }
    }

    #[test]
    fn a_cycle_is_told_by_what_came_in_it() {
        let now = Instant::now();
        let later = now + Duration::from_secs(20);
        let line = cycle_line((now, before()), (later, after()));
        assert_eq!(line, "cycle 3: 1,234 pages, 20.0 MB, 40,000 links, 16 errors in 20s (61.7 pages/s)");
        let line = cycle_line((now, before()), (later, Progress { cycles: 9, ..after() }));
        assert!(line.starts_with("cycles 3 to 9: 1,234 pages"), "{line}");
    }
}
