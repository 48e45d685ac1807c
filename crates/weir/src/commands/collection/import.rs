//! `weir import`: import of pages from WARC, ARC and WACZ files.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use crawl::{ImportEvent, ImportSummary, import};
use serde::Serialize;
use store::{Collection, Error};

use crate::exit::UsageError;
use crate::human::{self, plural};
use crate::output::Printer;
use crate::progress_line::ProgressLine;
use crate::settings::SetArgs;
use crate::system;

const EXAMPLES: &str = "\
Examples:
  weir import web/ crawl-00000.warc.gz crawl-00001.warc.gz
  weir import web/ site.wacz old.arc.gz
  wget --recursive --warc-file=site https://example.com/ && weir import web/ site.warc.gz";

/// Import pages from WARC, ARC and WACZ files.
///
/// Files may be uncompressed or compressed with gzip or zstd. All response and resource records of http and https are
/// imported, regardless of `[scope]`. The body of a revisit record is looked up by its digest, in all files and in the
/// collection; without it, a revisit record of the same URL is a fetch that found the page unchanged, and others are
/// skipped. Fetches that the collection already has (same URL, body and time in seconds) are skipped, so that a file can be imported
/// again. Records above 256 MiB are skipped. A malformed record is skipped with a message, a file that cannot be read to its
/// end is imported up to the damage, and the exit code is 1 then.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    /// WARC, ARC or WACZ files.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    set: SetArgs,
}

/// JSON output.
#[derive(Serialize)]
struct ImportOutput {
    files: u64,
    damaged_files: u64,
    records: u64,
    pages: u64,
    links: u64,
    already_stored: u64,
    records_skipped: u64,
    body_bytes: u64,
    seconds: f64,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    for file in &args.files {
        let wrong = |error: io::Error| UsageError(format!("cannot open {}: {error}", file.display()));
        if File::open(file).and_then(|file| file.metadata()).map_err(wrong)?.is_dir() {
            return Err(UsageError(format!("{} is a directory; name the files in it", file.display())).into());
        }
    }
    let start = Instant::now();
    let settings = args.set.load(&args.dir)?;
    let mut collection = Collection::open(&args.dir, settings.store_settings()).map_err(usage_error)?;
    let gather_settings = settings.gather_settings()?;
    let mut progress = ProgressLine::new();
    let summary = import(&mut collection, &args.files, &gather_settings, now_ms, |event| match event {
        ImportEvent::Progress(summary) => show_progress(&mut progress, start, summary),
        ImportEvent::FileError(error) => {
            // A closed stderr must not end the import.
            let _ = progress.warn(&error.to_string());
        }
    })?;
    let _ = progress.clear();
    print_summary(&summary, start.elapsed().as_secs_f64(), printer)?;
    Ok(if summary.damaged_files > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn show_progress(progress: &mut ProgressLine, start: Instant, summary: &ImportSummary) {
    let per_second = summary.pages as f64 / start.elapsed().as_secs_f64().max(0.001);
    let ImportSummary { files, pages, links, .. } = summary;
    // A closed stderr must not end the import.
    let _ =
        progress.update(|| format!("{files} files, {pages} pages, {links} links, {per_second:.0} pages/s"));
}

fn print_summary(summary: &ImportSummary, seconds: f64, printer: &mut Printer) -> anyhow::Result<()> {
    let ImportSummary {
        files,
        damaged_files: broken_files,
        records,
        pages,
        links,
        already_stored: known,
        records_skipped: skipped,
        body_bytes: bytes,
    } = *summary;
    if printer.json() {
        return printer.object(&ImportOutput {
            files,
            damaged_files: broken_files,
            records,
            pages,
            links,
            already_stored: known,
            records_skipped: skipped,
            body_bytes: bytes,
            seconds,
        });
    }
    printer.line(&format!(
        "imported {} with {} ({}) from {} in {seconds:.1} s",
        plural(pages, "page"),
        plural(links, "link"),
        human::bytes(bytes),
        plural(files, "file"),
    ))?;
    if known > 0 {
        printer.line(&format!("{} already stored", plural(known, "fetch")))?;
    }
    if skipped > 0 {
        printer.line(&format!(
            "skipped {skipped} of {} (not http(s) pages, revisits without their body, or above 256 MiB)",
            plural(records, "record")
        ))?;
    }
    Ok(())
}

fn now_ms() -> i64 {
    system::now_ms() as i64
}

/// Makes a missing collection a usage error.
fn usage_error(error: Error) -> anyhow::Error {
    match error {
        Error::NotACollection { .. } => UsageError(error.to_string()).into(),
        _ => error.into(),
    }
}
