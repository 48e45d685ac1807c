//! `weir check`: verification of checksums and references of a collection.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;

use serde::Serialize;
use store::{CheckEvent, CheckReport, Corruption, CorruptionScope};

use crate::commands::query::{analyze, index};
use crate::human::{self, plural};
use crate::output::{Printer, TextStyle};
use crate::progress_line::ProgressLine;
use crate::settings::SetArgs;

const EXAMPLES: &str = "\
Examples:
  weir check crawl
  weir check crawl --snapshot before-the-move --json
  weir check crawl --repair

Changes nothing without --repair. The exit code is 0 without errors and 1 otherwise. Files are compared with the
checksums of their commit, records with their digests, and pages with their URLs, states and
records; files of the analysis and of the text index with the lists of their checksums. With
--repair, a damaged analysis or text index is deleted and made again, and checked.";

/// Verify checksums and references; list damaged files and what they affect.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    /// Snapshot name or generation (default: last commit).
    #[arg(long, value_name = "NAME", conflicts_with = "repair")]
    snapshot: Option<String>,

    /// Make a damaged analysis or text index again; pages and tables of commits cannot be repaired.
    #[arg(long)]
    repair: bool,
}

/// JSON object of a finding.
#[derive(Serialize)]
struct FindingOutput<'d> {
    file: &'d str,
    location: &'d str,
    error: &'d str,
    affects: String,
    url: Option<&'d str>,
    generation: u64,
}

/// JSON object of the summary.
#[derive(Serialize)]
struct SummaryOutput<'r> {
    ok: bool,
    errors: u64,
    generation: u64,
    files: u64,
    bytes: u64,
    pages: u32,
    records: u64,
    unreferenced_files: &'r [String],
    remarks: &'r [String],
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let (mut report, damaged) = check(args, printer)?;
    if args.repair && repair(&args.dir, &damaged, printer)? {
        (report, _) = check(args, printer)?;
    }
    if !printer.json() {
        for item in crawl::list_quarantine(&args.dir)? {
            let line = format!("{} cannot be ingested: {}", item.path, item.cause);
            printer.line(&printer.style(TextStyle::Dim, &line))?;
        }
    }
    Ok(if report.corruptions == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Checks the collection and prints the result; returns it with the scope of each corruption.
fn check(args: &Args, printer: &mut Printer) -> anyhow::Result<(CheckReport, Vec<CorruptionScope>)> {
    let (sender, events) = mpsc::channel();
    let (report, damaged) = thread::scope(|scope| {
        let check = scope.spawn(|| {
            // The receiver is gone only after a failed print, which ends the command.
            store::check(&args.dir, args.snapshot.as_deref(), move |event| drop(sender.send(event)))
        });
        let printed = print_events(&events, printer);
        let report = check.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        anyhow::Ok((report?, printed?))
    })?;
    print_summary(&report, printer)?;
    Ok((report, damaged))
}

/// Makes damaged derived data again; returns whether there was any.
fn repair(dir: &Path, damaged: &[CorruptionScope], printer: &mut Printer) -> anyhow::Result<bool> {
    let is_analysis = damaged.iter().any(CorruptionScope::is_of_analysis);
    let is_index = damaged.contains(&CorruptionScope::TextIndex);
    if is_analysis {
        printer.warn("repairing the analysis: all steps run again")?;
        analysis::discard_analysis(dir)?;
        analyze::analyze(dir, &SetArgs::default(), &mut |_| Ok(()))?;
    }
    if is_index {
        printer.warn("repairing the text index: it is built again")?;
        search::discard_index(dir)?;
        index::run(&index::Args { dir: dir.to_owned(), set: SetArgs::default() }, printer)?;
    }
    let others =
        damaged.iter().filter(|scope| !scope.is_of_analysis() && **scope != CorruptionScope::TextIndex);
    match others.count() {
        0 => {}
        count => printer.warn(&format!(
            "cannot repair {}: stored data has no other source; restore a backup",
            plural(count as u64, "error")
        ))?,
    }
    Ok(is_analysis || is_index)
}

/// Prints errors as they are found, and progress on a terminal; returns what they affect.
fn print_events(
    events: &mpsc::Receiver<CheckEvent>,
    printer: &mut Printer,
) -> anyhow::Result<Vec<CorruptionScope>> {
    let mut progress = ProgressLine::new();
    let mut damaged = Vec::new();
    let (mut files, mut bytes) = (0, 0);
    for event in events {
        match event {
            CheckEvent::Corruption(corruption) => {
                progress.clear()?;
                print_corruption(&corruption, printer)?;
                damaged.push(corruption.scope);
            }
            CheckEvent::FileRead(length) => {
                files += 1;
                bytes += length;
                progress.update(|| format!("{} read, {}", plural(files, "file"), human::bytes(bytes)))?;
            }
        }
    }
    progress.clear()?;
    Ok(damaged)
}

fn print_corruption(corruption: &Corruption, printer: &mut Printer) -> anyhow::Result<()> {
    let Corruption { file, location, cause, scope, generation } = corruption;
    if printer.json() {
        let url = match scope {
            CorruptionScope::StoredPage(url) => url.as_deref(),
            _ => None,
        };
        let affects = affected(scope);
        let generation = *generation;
        return printer.object(&FindingOutput { file, location, error: cause, affects, url, generation });
    }
    let space = if location.is_empty() { "" } else { " " };
    printer
        .line(&format!("{} {file}{space}{location}: {cause}", printer.style(TextStyle::Bad, "damaged")))?;
    printer.line(&format!("  affects {}", affected(scope)))?;
    printer.finish()
}

/// Objects affected by a corruption.
fn affected(scope: &CorruptionScope) -> String {
    match scope {
        CorruptionScope::Commit => "the whole commit".to_owned(),
        CorruptionScope::Urls(pages) => format!("the URLs of {}", ids("page", pages.as_ref())),
        CorruptionScope::UrlLookup => "the URL table".to_owned(),
        CorruptionScope::PageState(pages) => format!("the state of {}", ids("page", pages.as_ref())),
        CorruptionScope::SiteState(sites) => format!("the state of {}", ids("site", sites.as_ref())),
        CorruptionScope::RobotsTexts => "the robots.txt of some sites".to_owned(),
        CorruptionScope::StoredPage(Some(url)) => format!("the stored page {url}"),
        CorruptionScope::StoredPage(None) => "pages stored in it".to_owned(),
        CorruptionScope::PageIndex => "the CDXJ index".to_owned(),
        CorruptionScope::Links => "the links of some pages".to_owned(),
        CorruptionScope::Table(name) => format!("rows of the table {name}"),
        CorruptionScope::SnapshotName => "the name of a snapshot".to_owned(),
        CorruptionScope::LinkGraph => "the link graph of the last analysis".to_owned(),
        CorruptionScope::Ranks(column) => format!("the ranks {column} of the last analysis"),
        CorruptionScope::Statistics => "statistics for reports".to_owned(),
        CorruptionScope::TextIndex => "the text index".to_owned(),
        _ => "an unknown component".to_owned(),
    }
}

fn ids(thing: &str, range: Option<&Range<u32>>) -> String {
    match range {
        None => format!("some {thing}s"),
        Some(range) if range.len() == 1 => format!("{thing} {}", range.start),
        Some(range) => format!("{thing}s {} to {}", range.start, range.end.saturating_sub(1)),
    }
}

fn print_summary(report: &CheckReport, printer: &mut Printer) -> anyhow::Result<()> {
    let CheckReport { generation, files, bytes, pages, records, corruptions, unreferenced_files, remarks } =
        report;
    if printer.json() {
        let (generation, files, bytes) = (*generation, *files, *bytes);
        let (pages, records, corruptions) = (*pages, *records, *corruptions);
        return printer.object(&SummaryOutput {
            ok: corruptions == 0,
            errors: corruptions,
            generation,
            files,
            bytes,
            pages,
            records,
            unreferenced_files,
            remarks,
        });
    }
    let unreferenced =
        unreferenced_files.iter().map(|name| format!("{name} is not referenced by any commit"));
    for remark in unreferenced.chain(remarks.iter().cloned()) {
        printer.line(&printer.style(TextStyle::Dim, &remark))?;
    }
    let read = format!(
        "{} of {}, {}, {}",
        plural(*files, "file"),
        human::bytes(*bytes),
        plural(u64::from(*pages), "page"),
        plural(*records, "record")
    );
    if *corruptions == 0 {
        return printer.line(&format!("{}: {read}", printer.style(TextStyle::Good, "ok")));
    }
    let found = plural(*corruptions, "error");
    printer.line(&format!("{}: {read}", printer.style(TextStyle::Bad, &found)))
}
