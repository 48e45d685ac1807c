//! `weir status`: how far a crawl has come, by its last commit.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;
use store::{Column, Snapshot, Stage};

use crate::printer::{Meaning, Printer};
use crate::words::{count, size, time};

const EXAMPLES: &str = "\
Examples:
  weir status crawl
  weir status crawl --json | jq .pages_fetched

It reads the last commit, and may be asked while a crawl goes on.";

/// Tell how much a collection holds.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,

    /// A snapshot by its name or generation, instead of the last commit.
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,
}

/// Scripts rely on the names.
#[derive(Serialize, Default)]
pub(crate) struct Answer {
    /// Whose URL is known.
    pub(crate) pages_known: u64,
    /// Whose last visit brought content.
    pub(crate) pages_fetched: u64,
    /// In a batch that is not finished.
    pages_queued: u64,
    pub(crate) sites: u64,
    /// Of the page files.
    bytes: u64,
    /// Rows of the table of links.
    links: u64,
    /// Pages whose last visit brought nothing.
    errors: u64,
    /// Pages that are not to be visited.
    pages_rejected: u64,
    /// Of the crawl; there was none yet.
    pub(crate) cycle: u64,
    generation: u64,
    committed_ms: i64,
    /// Of all files of the commit.
    disk_bytes: u64,
    files: u64,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let snapshot = Snapshot::open(&args.dir, args.snapshot.as_deref())?;
    let answer =
        look(&snapshot).with_context(|| format!("cannot tell the status of {}", args.dir.display()))?;
    if printer.json() {
        printer.object(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    printer.line(&args.dir.display().to_string())?;
    let pages = format!(
        "{} known, {} fetched, {} queued",
        count(answer.pages_known),
        count(answer.pages_fetched),
        count(answer.pages_queued)
    );
    let disk = format!("{}, of which {} are pages", size(answer.disk_bytes), size(answer.bytes));
    let commit = match answer.generation {
        0 => "none yet".to_owned(),
        generation => format!("number {generation}, of {}", time(answer.committed_ms)),
    };
    let lines = [
        ("pages", pages),
        ("sites", count(answer.sites)),
        ("links", count(answer.links)),
        ("errors", count(answer.errors)),
        ("disk", disk),
        ("commit", commit),
    ];
    for (name, value) in lines {
        let name = printer.paint(Meaning::Aside, &format!("{name:8}"));
        printer.line(&format!("  {name}  {value}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn look(snapshot: &Snapshot) -> store::Result<Answer> {
    let manifest = &snapshot.manifest;
    let stages = snapshot.pages.scan(&[Column::Marks], |counts: &mut [u64; 5], row| {
        counts[row.stage as usize] += 1;
    })?;
    let at = |stage: Stage| stages.iter().map(|counts| counts[stage as usize]).sum();
    let lengths = |wanted: fn(&str) -> bool| {
        manifest.files.iter().filter(|file| wanted(&file.name)).map(store::FileEntry::length).sum()
    };
    Ok(Answer {
        pages_known: u64::from(snapshot.pages.pages()),
        pages_fetched: at(Stage::Fetched),
        pages_queued: at(Stage::Queued),
        sites: u64::from(snapshot.sites.sites()),
        bytes: lengths(|name| name.ends_with(".warc.gz")),
        links: store::count_rows(snapshot.folder(), manifest, "links")?,
        errors: at(Stage::Failed),
        pages_rejected: at(Stage::Rejected),
        cycle: 0,
        generation: manifest.generation,
        committed_ms: manifest.committed_ms,
        disk_bytes: lengths(|_| true),
        files: manifest.files.len() as u64,
    })
}
