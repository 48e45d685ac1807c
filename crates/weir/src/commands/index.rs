//! `weir index`: makes the text of a collection searchable, as far as it is not yet.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use search::{DamagedPage, IndexSummary, Indexed};
use serde::Serialize;
use store::Snapshot;

use crate::interrupt::Interrupt;
use crate::printer::{Printer, printable};
use crate::settings::Settings;
use crate::steering;
use crate::words::{count, counted, rate, size};

const EXAMPLES: &str = "\
Examples:
  weir index crawl
  weir index crawl --json

It follows the last commit, and may be run while a crawl or searches go on. Only pages that are new
or have changed since the last time are read; pages that are gone, or ask not to be found, leave the
index. After `weir analyze` the words by which others link to a page count as well. What becomes of
words and how much memory it takes is set in [search] of weir.toml. The index is in `text` of the
collection; it can be deleted and made again. Ctrl-C ends it, and the next run goes on; the exit code
is 130 then.";

/// Make the text of a collection searchable.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,
}

#[derive(Serialize)]
struct Answer {
    generation: u64,
    pages: u64,
    added: u64,
    changed: u64,
    removed: u64,
    left_out: LeftOut,
    pages_read: u64,
    bytes_read: u64,
    body_bytes: u64,
    index_bytes: u64,
    seconds: f64,
}

#[derive(Serialize)]
struct LeftOut {
    noindex: u64,
    not_text: u64,
    duplicate: u64,
    no_content: u64,
    damaged: u64,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let settings = Settings::load(&args.dir)?.index_settings()?;
    let snapshot = Snapshot::open(&args.dir, None)?;
    let interrupt = Interrupt::listen()?;
    let mut progress = Progress::new();
    let mut shown = Ok(());
    let indexed = search::index(&snapshot, &settings, &mut |indexed| {
        if shown.is_ok() {
            shown = progress.show(indexed);
        }
        if interrupt.is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    shown?;
    progress.clear()?;
    if matches!(indexed, Err(search::Error::Stopped)) {
        let dir = args.dir.display();
        printer
            .complain(&format!("stopped; what was read is in the index, and `weir index {dir}` goes on"))?;
        return Ok(steering::exit_code(true));
    }
    let summary = indexed?;
    tell_damage(&summary, &args.dir, printer)?;
    if printer.json() {
        printer.object(&answer(&summary))?;
    } else {
        print(&summary, printer)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Pages that cannot be read, by name.
fn tell_damage(summary: &IndexSummary, dir: &Path, printer: &mut Printer) -> anyhow::Result<()> {
    for DamagedPage { url, why } in &summary.damaged {
        printer.complain(&format!("left out: {}: {why}", printable(url)))?;
    }
    let more = summary.left_out.damaged.saturating_sub(summary.damaged.len() as u64);
    if more > 0 {
        let dir = dir.display();
        printer.complain(&format!(
            "left out: {more} more that cannot be read; `weir check {dir}` tells of them"
        ))?;
    }
    Ok(())
}

fn answer(summary: &IndexSummary) -> Answer {
    let left_out = summary.left_out;
    Answer {
        generation: summary.generation,
        pages: summary.pages,
        added: summary.added,
        changed: summary.changed,
        removed: summary.removed,
        left_out: LeftOut {
            noindex: left_out.noindex,
            not_text: left_out.not_text,
            duplicate: left_out.duplicate,
            no_content: left_out.no_content,
            damaged: left_out.damaged,
        },
        pages_read: summary.read,
        bytes_read: summary.read_bytes,
        body_bytes: summary.body_bytes,
        index_bytes: summary.index_bytes,
        seconds: summary.duration.as_secs_f64(),
    }
}

fn print(summary: &IndexSummary, printer: &mut Printer) -> anyhow::Result<()> {
    let IndexSummary { pages, added, changed, removed, left_out, .. } = *summary;
    printer.line(&format!(
        "{} in the index: {} added, {} changed, {} removed",
        counted(pages, "page"),
        count(added),
        count(changed),
        count(removed)
    ))?;
    let reasons = [
        (left_out.duplicate, "with the content of another"),
        (left_out.no_content, "without content"),
        (left_out.not_text, "no text"),
        (left_out.noindex, "ask not to be found"),
        (left_out.damaged, "cannot be read"),
    ];
    let reasons = reasons.iter().filter(|(pages, _)| *pages > 0);
    let reasons: Vec<String> = reasons.map(|(pages, why)| format!("{} {why}", count(*pages))).collect();
    if !reasons.is_empty() {
        printer.line(&format!("left out: {}", reasons.join(", ")))?;
    }
    let share = 100.0 * summary.index_bytes as f64 / summary.body_bytes.max(1) as f64;
    printer.line(&format!(
        "{}, {share:.1} % of the {} that these pages have",
        size(summary.index_bytes),
        size(summary.body_bytes)
    ))?;
    let seconds = summary.duration.as_secs_f64();
    printer.line(&match summary.read {
        0 => format!("nothing to read, {seconds:.1} s"),
        read => format!(
            "{} read in {seconds:.1} s: {} pages/s, {}/s",
            size(summary.read_bytes),
            rate(read as f64 / seconds.max(0.001)),
            size((summary.read_bytes as f64 / seconds.max(0.001)) as u64)
        ),
    })?;
    Ok(())
}

/// One line on a terminal that is written over.
struct Progress {
    is_watched: bool,
    is_open: bool,
    start: Instant,
    last: Option<Instant>,
}

const INTERVAL: Duration = Duration::from_millis(200);

impl Progress {
    fn new() -> Progress {
        Progress { is_watched: io::stderr().is_terminal(), is_open: false, start: Instant::now(), last: None }
    }

    fn show(&mut self, indexed: Indexed) -> io::Result<()> {
        if !self.is_watched || self.last.is_some_and(|last| last.elapsed() < INTERVAL) {
            return Ok(());
        }
        self.last = Some(Instant::now());
        self.is_open = true;
        let seconds = self.start.elapsed().as_secs_f64().max(0.001);
        write!(
            io::stderr(),
            "\r\x1b[K{:.0} % looked at, {} read, {}/s",
            100.0 * indexed.looked_at as f64 / indexed.known.max(1) as f64,
            counted(indexed.read, "page"),
            size((indexed.read_bytes as f64 / seconds) as u64)
        )?;
        io::stderr().flush()
    }

    fn clear(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_open) {
            write!(io::stderr(), "\r\x1b[K")?;
        }
        Ok(())
    }
}
