//! `weir status`: size and progress of a collection, as of its last commit.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use crawl::read_budgets;
use harvest::Budgets;
use inspect::CollectionStatus;
use model::Reason;
use serde::Serialize;
use store::Snapshot;

use crate::human::{self, plural, timestamp};
use crate::output::{Printer, TextStyle};
use crate::settings::SetArgs;
use crate::system::now_ms;

const EXAMPLES: &str = "\
Examples:
  weir status crawl
  weir status crawl --json | jq .pages_fetched

Reads one commit; safe to run during a crawl.";

/// Show the size and progress of a collection.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    /// Snapshot name or generation (default: last commit).
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,

    #[command(flatten)]
    set: SetArgs,
}

/// JSON output.
#[derive(Serialize)]
struct StatusOutput {
    #[serde(flatten)]
    status: CollectionStatus,
    budgets: Budgets,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let snapshot = Snapshot::open(&args.dir, args.snapshot.as_deref())?;
    let status = CollectionStatus::load(&snapshot, now_ms())
        .with_context(|| format!("cannot read the status of {}", args.dir.display()))?;
    let rules = args.set.load(&args.dir)?.crawl_settings(&args.dir)?;
    let budgets = read_budgets(&snapshot, &rules, now_ms())?;
    if printer.json() {
        printer.object(&StatusOutput { status, budgets })?;
        return Ok(ExitCode::SUCCESS);
    }
    printer.line(&args.dir.display().to_string())?;
    for (name, value) in lines(&status).into_iter().chain(budget_line(&budgets).map(|line| ("budget", line)))
    {
        let name = printer.style(TextStyle::Dim, &format!("{name:8}"));
        printer.line(&format!("  {name}  {value}"))?;
    }
    for item in &status.quarantine {
        let name = printer.style(TextStyle::Bad, "quarantine");
        printer.line(&format!("  {name}  {}: {}", item.path, item.cause))?;
    }
    if !status.pages_by_reason.is_empty() {
        printer.line("pages not fetched, by reason")?;
    }
    let mut reasons: Vec<(&&str, &u64)> = status.pages_by_reason.iter().collect();
    reasons.sort_by_key(|(_, pages)| std::cmp::Reverse(**pages));
    for (name, pages) in reasons {
        let text = Reason::all().find(|reason| reason.as_str() == *name).map(|reason| reason.to_string());
        let remark = printer.style(TextStyle::Dim, &format!("{name:24}{}", text.unwrap_or_default()));
        printer.line(&format!("  {:>11}  {remark}", human::number(*pages)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn lines(status: &CollectionStatus) -> Vec<(&'static str, String)> {
    let mut pages = format!("{} known: {}", human::number(status.pages_known), parts(status));
    if status.pages_truncated > 0 {
        pages.push_str(&format!("; {} of the fetched truncated", human::number(status.pages_truncated)));
    }
    let states = &status.site_states;
    let sites = format!(
        "{} known, {} with queued pages, {} in back-off, {} aliases",
        human::number(status.sites_known),
        human::number(states.with_queued_pages),
        human::number(states.in_back_off),
        human::number(states.aliases),
    );
    let robots = format!(
        "{} with rules, {} missing, {} unreachable, {} not fetched",
        human::number(states.robots_rules),
        human::number(states.robots_missing),
        human::number(states.robots_unreachable),
        human::number(states.robots_not_fetched),
    );
    let disk = format!("{} (WARC {})", human::bytes(status.disk_bytes), human::bytes(status.warc_bytes));
    let commit = match status.generation {
        0 => "none yet".to_owned(),
        generation => format!("generation {generation}, {}", timestamp(status.committed_ms)),
    };
    vec![
        ("pages", pages),
        ("sites", sites),
        ("robots", robots),
        ("links", human::number(status.links)),
        ("disk", disk),
        ("commit", commit),
    ]
}

/// Use of the budgets; `None` if no limit is set or reached.
fn budget_line(budgets: &Budgets) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(limit) = budgets.max_requests_per_day {
        parts.push(format!(
            "{} of {} requests today",
            human::number(budgets.requests_today),
            human::number(limit)
        ));
    }
    if budgets.sites_at_daily_limit > 0 {
        parts.push(format!("{} at the daily limit", plural(budgets.sites_at_daily_limit, "site")));
    }
    if !parts.is_empty() {
        parts.push(format!("until {}", timestamp(budgets.day_end_ms as i64)));
    }
    if budgets.sites_at_domain_budget > 0 {
        let sites = plural(budgets.sites_at_domain_budget, "site");
        parts.push(format!("{sites} at their domain budget"));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Known pages by stage; the numbers add up.
pub(crate) fn parts(status: &CollectionStatus) -> String {
    format!(
        "{} fetched, {} queued, {} discovered, {} failed, {} rejected",
        human::number(status.pages_fetched),
        human::number(status.pages_queued),
        human::number(status.pages_discovered),
        human::number(status.pages_failed),
        human::number(status.pages_rejected),
    )
}
