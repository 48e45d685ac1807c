//! `weir index`: full-text index of a collection, built or updated.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use search::{DamagedPage, IndexProgress, IndexSummary};
use serde::Serialize;
use store::Snapshot;

use crate::exit;
use crate::human::{self, plural, rate};
use crate::output::{Printer, printable};
use crate::progress_line::ProgressLine;
use crate::settings::SetArgs;
use crate::signals::CancelFlag;

const EXAMPLES: &str = "\
Examples:
  weir index crawl
  weir index crawl --json

Reads one commit; safe to run during a crawl or a search. Only new and changed pages are read;
deleted and noindex pages are removed. Anchor texts are indexed after `weir analyze`. Memory and
ranking are set in [search] of weir.toml. The index is in `text` of the collection and can be
rebuilt at any time. Ctrl-C stops with exit code 130, and the next run continues.";

/// Build or update the full-text index.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    pub(crate) dir: PathBuf,

    #[command(flatten)]
    pub(crate) set: SetArgs,
}

/// JSON output.
#[derive(Serialize)]
struct IndexOutput {
    generation: u64,
    pages: u64,
    added: u64,
    changed: u64,
    removed: u64,
    excluded: ExcludedOutput,
    pages_read: u64,
    record_bytes_read: u64,
    body_bytes: u64,
    index_bytes: u64,
    seconds: f64,
}

#[derive(Serialize)]
struct ExcludedOutput {
    noindex: u64,
    not_text: u64,
    duplicate: u64,
    no_content: u64,
    damaged: u64,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let settings = args.set.load(&args.dir)?.index_settings()?;
    let snapshot = Snapshot::open(&args.dir, None)?;
    let cancel = CancelFlag::listen()?;
    let (mut progress, start) = (ProgressLine::new(), Instant::now());
    let mut shown = Ok(());
    let indexed = search::index(&snapshot, &settings, &mut |indexed| {
        if shown.is_ok() {
            shown = progress.update(|| progress_text(&indexed, start));
        }
        if cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    shown?;
    progress.clear()?;
    if matches!(indexed, Err(search::Error::Stopped)) {
        let dir = args.dir.display();
        printer.warn(&format!("stopped; resume with `weir index {dir}`"))?;
        return Ok(exit::completion_code(true));
    }
    let summary = indexed?;
    warn_of_damage(&summary, &args.dir, printer)?;
    if printer.json() {
        printer.object(&output(&summary))?;
    } else {
        print(&summary, printer)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Warns of damaged pages.
fn warn_of_damage(summary: &IndexSummary, dir: &Path, printer: &mut Printer) -> anyhow::Result<()> {
    for DamagedPage { url, error } in &summary.damaged {
        printer.warn(&format!("skipped {}: {error}", printable(url)))?;
    }
    let more = summary.excluded.damaged.saturating_sub(summary.damaged.len() as u64);
    if more > 0 {
        let dir = dir.display();
        printer.warn(&format!("{more} more damaged pages; run `weir check {dir}`"))?;
    }
    Ok(())
}

fn output(summary: &IndexSummary) -> IndexOutput {
    let excluded = summary.excluded;
    IndexOutput {
        generation: summary.generation,
        pages: summary.pages,
        added: summary.added,
        changed: summary.updated,
        removed: summary.removed,
        excluded: ExcludedOutput {
            noindex: excluded.noindex,
            not_text: excluded.not_text,
            duplicate: excluded.duplicate,
            no_content: excluded.no_content,
            damaged: excluded.damaged,
        },
        pages_read: summary.pages_read,
        record_bytes_read: summary.read_bytes,
        body_bytes: summary.body_bytes,
        index_bytes: summary.index_bytes,
        seconds: summary.duration.as_secs_f64(),
    }
}

fn print(summary: &IndexSummary, printer: &mut Printer) -> anyhow::Result<()> {
    let IndexSummary { pages, added, updated: changed, removed, excluded, .. } = *summary;
    printer.line(&format!(
        "{} in the index: {} added, {} changed, {} removed",
        plural(pages, "page"),
        human::number(added),
        human::number(changed),
        human::number(removed)
    ))?;
    let reasons = [
        (excluded.duplicate, "duplicates"),
        (excluded.no_content, "without content"),
        (excluded.not_text, "not text"),
        (excluded.noindex, "noindex"),
        (excluded.damaged, "damaged"),
    ];
    let reasons = reasons.iter().filter(|(pages, _)| *pages > 0);
    let reasons: Vec<String> =
        reasons.map(|(pages, reason)| format!("{} {reason}", human::number(*pages))).collect();
    if !reasons.is_empty() {
        printer.line(&format!("excluded: {}", reasons.join(", ")))?;
    }
    let share = 100.0 * summary.index_bytes as f64 / summary.body_bytes.max(1) as f64;
    printer.line(&format!(
        "index {} ({share:.1} % of {} page bodies)",
        human::bytes(summary.index_bytes),
        human::bytes(summary.body_bytes)
    ))?;
    let seconds = summary.duration.as_secs_f64();
    printer.line(&match summary.pages_read {
        0 => format!("up to date, {seconds:.1} s"),
        read => format!(
            "{} read in {seconds:.1} s: {} pages/s, {}/s",
            human::bytes(summary.read_bytes),
            rate(read as f64 / seconds.max(0.001)),
            human::bytes((summary.read_bytes as f64 / seconds.max(0.001)) as u64)
        ),
    })?;
    Ok(())
}

fn progress_text(indexed: &IndexProgress, start: Instant) -> String {
    let seconds = start.elapsed().as_secs_f64().max(0.001);
    format!(
        "{:.0} % scanned, {} read, {}/s",
        100.0 * indexed.pages_scanned as f64 / indexed.pages_known.max(1) as f64,
        plural(indexed.pages_read, "page"),
        human::bytes((indexed.read_bytes as f64 / seconds) as u64)
    )
}
