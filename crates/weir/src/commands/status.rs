//! `weir status`: how far a crawl has come, by its last commit.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use crawl::Status;
use model::Reason;
use store::Snapshot;

use crate::printer::{Meaning, Printer};
use crate::process::now_ms;
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

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let snapshot = Snapshot::open(&args.dir, args.snapshot.as_deref())?;
    let answer = Status::of(&snapshot, now_ms())
        .with_context(|| format!("cannot tell the status of {}", args.dir.display()))?;
    if printer.json() {
        printer.object(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    printer.line(&args.dir.display().to_string())?;
    for (name, value) in lines(&answer) {
        let name = printer.paint(Meaning::Aside, &format!("{name:8}"));
        printer.line(&format!("  {name}  {value}"))?;
    }
    if !answer.reasons.is_empty() {
        printer.line("pages that were not fetched, or not with success")?;
    }
    let mut reasons: Vec<(&&str, &u64)> = answer.reasons.iter().collect();
    reasons.sort_by_key(|(_, pages)| std::cmp::Reverse(**pages));
    for (name, pages) in reasons {
        let sentence = Reason::all().find(|reason| reason.as_str() == *name).map(|reason| reason.to_string());
        let aside = printer.paint(Meaning::Aside, &format!("{name:24}{}", sentence.unwrap_or_default()));
        printer.line(&format!("  {:>11}  {aside}", count(*pages)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn lines(answer: &Status) -> Vec<(&'static str, String)> {
    let pages = format!("{} known: {}", count(answer.pages_known), parts(answer));
    let states = &answer.states;
    let sites = format!(
        "{}, {} with queued pages, {} left alone after failures, {} only other names",
        count(answer.sites),
        count(states.queued),
        count(states.backed_off),
        count(states.aliases),
    );
    let robots = format!(
        "{} with rules, {} without, {} out of reach, {} not asked for",
        count(states.robots_rules),
        count(states.robots_none),
        count(states.robots_unreachable),
        count(states.robots_unknown),
    );
    let disk = format!("{}, of which {} are pages", size(answer.disk_bytes), size(answer.bytes));
    let commit = match answer.generation {
        0 => "none yet".to_owned(),
        generation => format!("number {generation}, of {}", time(answer.committed_ms)),
    };
    vec![
        ("pages", pages),
        ("sites", sites),
        ("robots", robots),
        ("links", count(answer.links)),
        ("disk", disk),
        ("commit", commit),
    ]
}

/// What has become of all pages that are known; the numbers add up.
pub(crate) fn parts(status: &Status) -> String {
    format!(
        "{} fetched, {} queued, {} wait, {} failed, {} rejected",
        count(status.pages_fetched),
        count(status.pages_queued),
        count(status.pages_new),
        count(status.errors),
        count(status.pages_rejected),
    )
}
