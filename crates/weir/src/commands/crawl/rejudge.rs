//! `weir rejudge`: judges pages again under changed settings, or shows what this would change.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use crawl::{RejudgeEffect, RejudgeSummary, preview_rejudge, rejudge};
use serde::Serialize;
use store::{Collection, Snapshot};

use crate::human::{number, plural};
use crate::output::Printer;
use crate::settings::SetArgs;
use crate::system;

const EXAMPLES: &str = "\
Examples:
  weir rejudge web --dry-run                                      after a change of weir.toml
  weir rejudge web --dry-run --set limits.max_depth_static=20     without changing it
  weir rejudge web

A crawl does the same when it starts and when it reloads weir.toml: pages that were rejected or
blocked because of a setting that has changed since the last crawl are judged again, and pages that
the new settings exclude are rejected. Fetched pages keep their content. docs/crawling.md lists the
settings on which each reason depends.";

/// Maximum number of sites in the text output.
const DEFAULT_LIMIT: usize = 50;

/// Judge rejected and blocked pages again after a change of the settings.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    /// Show what would change, by reason and site, and change nothing.
    #[arg(long)]
    dry_run: bool,

    /// Maximum number of sites to show.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT)]
    limit: usize,

    #[command(flatten)]
    set: SetArgs,
}

/// JSON output.
#[derive(Serialize)]
struct RejudgeOutput<'s> {
    dry_run: bool,
    changed_settings: &'s [String],
    pages_freed: u64,
    pages_rejected: u64,
    effects: Vec<EffectOutput<'s>>,
}

/// JSON output: pages of a site.
#[derive(Serialize)]
struct EffectOutput<'s> {
    effect: &'static str,
    reason: &'static str,
    site: &'s str,
    pages: u64,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let snapshot = Snapshot::open(&args.dir, None)?;
    let mut settings = args.set.load(&args.dir)?;
    settings.accept_seed_hosts(&snapshot)?;
    let typed = settings.crawl_settings(&args.dir)?;
    let summary = if args.dry_run {
        preview_rejudge(&snapshot, &typed)?
    } else {
        drop(snapshot);
        let mut collection = Collection::open(&args.dir, settings.store_settings())?;
        let summary = rejudge(&mut collection, &typed, system::now_ms())?;
        collection.commit(system::now_ms() as i64)?;
        summary
    };
    if printer.json() {
        let (pages_freed, pages_rejected) = summary.pages();
        printer.object(&RejudgeOutput {
            dry_run: args.dry_run,
            changed_settings: &summary.changed_settings,
            pages_freed,
            pages_rejected,
            effects: summary.effects.iter().map(effect_output).collect(),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&summary, args, printer)?;
    Ok(ExitCode::SUCCESS)
}

fn effect_output(effect: &RejudgeEffect) -> EffectOutput<'_> {
    let RejudgeEffect { is_rejection, reason, site, pages } = effect;
    let effect = if *is_rejection { "rejected" } else { "freed" };
    EffectOutput { effect, reason: reason.as_str(), site, pages: *pages }
}

fn print(summary: &RejudgeSummary, args: &Args, printer: &mut Printer) -> anyhow::Result<()> {
    if summary.changed_settings.is_empty() {
        return printer.line("no setting has changed on which decisions depend");
    }
    let (freed, rejected) = summary.pages();
    let would = if args.dry_run { "would be " } else { "" };
    printer.line(&format!(
        "{} {would}freed, {} {would}rejected",
        plural(freed, "page"),
        plural(rejected, "page")
    ))?;
    let mut by_reason: BTreeMap<(bool, &str), u64> = BTreeMap::new();
    for effect in &summary.effects {
        *by_reason.entry((effect.is_rejection, effect.reason.as_str())).or_default() += effect.pages;
    }
    let word = |is_rejection: bool| if is_rejection { "rejected" } else { "freed" };
    for ((is_rejection, reason), pages) in by_reason {
        printer.line(&format!("  {:8}  {:>10}  {reason}", word(is_rejection), number(pages)))?;
    }
    let mut effects: Vec<&RejudgeEffect> = summary.effects.iter().collect();
    effects.sort_by_key(|effect| std::cmp::Reverse(effect.pages));
    if !effects.is_empty() {
        printer.line("by site:")?;
    }
    for effect in effects.iter().take(args.limit) {
        let RejudgeEffect { is_rejection, reason, site, pages } = effect;
        let reason = reason.as_str();
        printer.line(&format!("  {:8}  {:>10}  {reason:20}  {site}", word(*is_rejection), number(*pages)))?;
    }
    if effects.len() > args.limit {
        printer.line(&format!("  and {}", plural((effects.len() - args.limit) as u64, "more line")))?;
    }
    Ok(())
}
