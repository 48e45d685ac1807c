//! `weir check`: reads a collection back, and says what is damaged and what that affects.

use std::io::{self, IsTerminal, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;

use serde::Serialize;
use store::{Affects, CheckEvent, CheckReport, Damage};

use crate::printer::{Meaning, Printer};
use crate::words::{counted, size};

const EXAMPLES: &str = "\
Examples:
  weir check crawl
  weir check crawl --snapshot before-the-move --json

Nothing is changed. The exit code is 0 if all is sound and 1 if something is damaged. Files are
compared with the checksums of their commit, records with their digests, and pages with their URLs,
states and records.";

/// Read everything back: find damaged files and what they affect.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,

    /// Only this snapshot, by its name or generation.
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,
}

/// One damage, as JSON.
#[derive(Serialize)]
struct DamageAnswer<'d> {
    damaged: &'d str,
    at: &'d str,
    what: &'d str,
    affects: String,
    url: Option<&'d str>,
    generation: u64,
}

/// The end, as JSON.
#[derive(Serialize)]
struct Summary<'r> {
    sound: bool,
    damages: u64,
    generation: u64,
    files: u64,
    bytes: u64,
    pages: u32,
    records: u64,
    unnamed: &'r [String],
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let (sender, events) = mpsc::channel();
    let report = thread::scope(|scope| {
        let check = scope.spawn(|| {
            // Whoever listens has gone only if it could not print, which ends the command anyway.
            store::check(&args.dir, args.snapshot.as_deref(), move |event| drop(sender.send(event)))
        });
        let told = tell(&events, printer);
        let report = check.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        told.and(report.map_err(anyhow::Error::from))
    })?;
    conclude(&report, printer)?;
    Ok(if report.damages == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints damages as they are found, and progress for whoever watches.
fn tell(events: &mpsc::Receiver<CheckEvent>, printer: &mut Printer) -> anyhow::Result<()> {
    let watched = io::stderr().is_terminal();
    let (mut files, mut bytes) = (0, 0);
    for event in events {
        match event {
            CheckEvent::Damage(damage) => print_damage(&damage, printer)?,
            CheckEvent::FileRead(length) => {
                files += 1;
                bytes += length;
                if watched {
                    write!(io::stderr(), "\r{} read, {} ", counted(files, "file"), size(bytes))?;
                }
            }
        }
    }
    if watched && files > 0 {
        writeln!(io::stderr())?;
    }
    Ok(())
}

fn print_damage(damage: &Damage, printer: &mut Printer) -> anyhow::Result<()> {
    let Damage { file, at, what, affects, generation } = damage;
    if printer.json() {
        let url = match affects {
            Affects::StoredPage(url) => url.as_deref(),
            _ => None,
        };
        let affects = affected(affects);
        let generation = *generation;
        return printer.object(&DamageAnswer { damaged: file, at, what, affects, url, generation });
    }
    let space = if at.is_empty() { "" } else { " " };
    printer.line(&format!("{} {file}{space}{at}: {what}", printer.paint(Meaning::Bad, "damaged")))?;
    printer.line(&format!("  affects {}", affected(affects)))?;
    printer.finish()
}

fn affected(affects: &Affects) -> String {
    match affects {
        Affects::Commit => "the whole commit".to_owned(),
        Affects::Urls(pages) => format!("the URLs of {}", ids("page", pages.as_ref())),
        Affects::UrlLookUp => "which URLs are known, and as which pages".to_owned(),
        Affects::PageState(pages) => format!("the state of {}", ids("page", pages.as_ref())),
        Affects::SiteState(sites) => format!("the state of {}", ids("site", sites.as_ref())),
        Affects::RobotsTexts => "the robots.txt of some sites".to_owned(),
        Affects::StoredPage(Some(url)) => format!("the stored page {url}"),
        Affects::StoredPage(None) => "pages stored in it".to_owned(),
        Affects::PageIndex => "finding stored pages by their URLs".to_owned(),
        Affects::Links => "the links of some pages".to_owned(),
        Affects::Table(name) => format!("rows of the table {name}"),
        _ => "something that this program does not know".to_owned(),
    }
}

fn ids(thing: &str, range: Option<&Range<u32>>) -> String {
    match range {
        None => format!("some {thing}s"),
        Some(range) if range.len() == 1 => format!("{thing} {}", range.start),
        Some(range) => format!("{thing}s {} to {}", range.start, range.end.saturating_sub(1)),
    }
}

fn conclude(report: &CheckReport, printer: &mut Printer) -> anyhow::Result<()> {
    let CheckReport { generation, files, bytes, pages, records, damages, unnamed } = report;
    if printer.json() {
        let (generation, files, bytes) = (*generation, *files, *bytes);
        let (pages, records, damages) = (*pages, *records, *damages);
        let sound = damages == 0;
        return printer.object(&Summary {
            sound,
            damages,
            generation,
            files,
            bytes,
            pages,
            records,
            unnamed,
        });
    }
    for name in unnamed {
        let remark = format!("{name} belongs to no commit: it is left over, or about to be committed");
        printer.line(&printer.paint(Meaning::Aside, &remark))?;
    }
    let read = format!(
        "{} of {}, {}, {}",
        counted(*files, "file"),
        size(*bytes),
        counted(u64::from(*pages), "page"),
        counted(*records, "record")
    );
    if *damages == 0 {
        return printer.line(&format!("{}: {read}", printer.paint(Meaning::Good, "sound")));
    }
    let found = format!("{} found", counted(*damages, "damage"));
    printer.line(&format!("{}: {read}", printer.paint(Meaning::Bad, &found)))
}
