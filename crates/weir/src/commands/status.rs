//! `weir status`: how far a crawl has come, by its last commit.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use crawl::{Budgets, Status};
use model::Reason;
use serde::Serialize;
use store::Snapshot;

use crate::printer::{Meaning, Printer};
use crate::process::now_ms;
use crate::settings::Settings;
use crate::words::{count, counted, size, time};

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
#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    status: Status,
    budgets: Budgets,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let snapshot = Snapshot::open(&args.dir, args.snapshot.as_deref())?;
    let status = Status::of(&snapshot, now_ms())
        .with_context(|| format!("cannot tell the status of {}", args.dir.display()))?;
    let rules = Settings::load(&args.dir)?.crawl_settings(&args.dir)?;
    let budgets = Budgets::of(&snapshot, &rules, now_ms())?;
    if printer.json() {
        printer.object(&Answer { status, budgets })?;
        return Ok(ExitCode::SUCCESS);
    }
    let answer = status;
    printer.line(&args.dir.display().to_string())?;
    for (name, value) in lines(&answer).into_iter().chain(budget_line(&budgets).map(|line| ("budget", line)))
    {
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

/// Nothing without a limit that somebody is held to.
fn budget_line(budgets: &Budgets) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(most) = budgets.requests_per_day {
        parts.push(format!("{} of {} requests today", count(budgets.requests_today), count(most)));
    }
    if budgets.sites_done_today > 0 {
        parts.push(format!("{} had all of theirs", counted(budgets.sites_done_today, "site")));
    }
    if !parts.is_empty() {
        parts.push(format!("until {}", time(budgets.day_ends_ms as i64)));
    }
    if budgets.sites_over_domain_budget > 0 {
        let sites = counted(budgets.sites_over_domain_budget, "site");
        parts.push(format!("{sites} of domains with as many pages as they have earned"));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
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
