//! `weir import`: pages from the WARC files of others.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crawl::{ImportEvent, ImportSummary, import};
use serde::Serialize;
use store::{Collection, Error};

use crate::failure::WrongUse;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::words::{counted, size};

const EXAMPLES: &str = "\
Examples:
  weir import web/ crawl-00000.warc.gz crawl-00001.warc.gz
  wget --recursive --warc-file=site https://example.com/ && weir import web/ site.warc.gz";

/// Import pages from WARC files, as if they had just been fetched.
///
/// Files may be plain, compressed by gzip or by zstd. Responses and resources of http and https are taken, and revisits
/// of the same URL count as visits that found the page unchanged. All of them: the settings of where a crawl may go do
/// not apply. Visits that the collection has already (same URL, same second, same body) are left out, so that a file can
/// be imported again. A file that is broken is imported up to the break, and the others go on (exit code 1).
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,

    /// The files.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// What was imported, as JSON. Scripts rely on the names.
#[derive(Serialize)]
struct Answer {
    files: u64,
    broken_files: u64,
    records: u64,
    pages: u64,
    links: u64,
    known: u64,
    skipped: u64,
    bytes: u64,
    seconds: f64,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    for file in &args.files {
        let wrong = |error: io::Error| WrongUse(format!("cannot open {}: {error}", file.display()));
        if File::open(file).and_then(|file| file.metadata()).map_err(wrong)?.is_dir() {
            return Err(WrongUse(format!("{} is a folder; name the files in it", file.display())).into());
        }
    }
    let start = Instant::now();
    let settings = Settings::load(&args.dir)?;
    let mut collection = Collection::open(&args.dir, settings.store_settings()).map_err(wrong_use)?;
    let gathering = settings.gathering()?;
    let mut progress = Progress { start, shown: false };
    let summary = import(&mut collection, &args.files, &gathering, now_ms, |event| match event {
        ImportEvent::Progress(summary) => progress.show(summary),
        ImportEvent::Broken(error) => progress.complain(&error.to_string()),
    })?;
    progress.clear();
    answer(&summary, start.elapsed().as_secs_f64(), printer)?;
    Ok(if summary.broken_files > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn answer(summary: &ImportSummary, seconds: f64, printer: &mut Printer) -> anyhow::Result<()> {
    let ImportSummary { files, broken_files, records, pages, links, known, skipped, bytes } = *summary;
    if printer.json() {
        return printer.object(&Answer {
            files,
            broken_files,
            records,
            pages,
            links,
            known,
            skipped,
            bytes,
            seconds,
        });
    }
    printer.line(&format!(
        "imported {} with {} ({}) from {} in {seconds:.1} s",
        counted(pages, "page"),
        counted(links, "link"),
        size(bytes),
        counted(files, "file"),
    ))?;
    if known > 0 {
        printer.line(&format!("left out {} that the collection has already", counted(known, "visit")))?;
    }
    if skipped > 0 {
        printer.line(&format!(
            "skipped {skipped} of {}: no page of the Web, or a copy whose body is that of another URL",
            counted(records, "record")
        ))?;
    }
    Ok(())
}

/// One line on a terminal, written again and again.
struct Progress {
    start: Instant,
    shown: bool,
}

impl Progress {
    fn show(&mut self, summary: &ImportSummary) {
        if !io::stderr().is_terminal() {
            return;
        }
        self.shown = true;
        let per_second = summary.pages as f64 / self.start.elapsed().as_secs_f64().max(0.001);
        let ImportSummary { files, pages, links, .. } = summary;
        say(&format!("\r\x1b[K{files} files, {pages} pages, {links} links, {per_second:.0} pages/s"));
    }

    fn complain(&mut self, sentence: &str) {
        self.clear();
        say(&format!("weir: {sentence}\n"));
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            say("\r\x1b[K");
        }
    }
}

/// An import goes on when nobody listens.
fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as i64)
}

/// Who names a folder that is no collection has to do something else first.
fn wrong_use(error: Error) -> anyhow::Error {
    match error {
        Error::NotACollection { .. } => WrongUse(error.to_string()).into(),
        _ => error.into(),
    }
}
