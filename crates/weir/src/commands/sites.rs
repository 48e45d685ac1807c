//! `weir sites`: what is known of each site, as a table or as one object per line.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use crawl::{SiteEntry, SiteOrder, SiteQuery};
use store::Snapshot;

use crate::printer::{Meaning, Printer, printable};
use crate::process::now_ms;
use crate::settings::Settings;
use crate::words::{count, duration, size};

const EXAMPLES: &str = "\
Examples:
  weir sites web --top 20
  weir sites web --sort errors --top 20
  weir sites web --filter .edu --json | jq -r .site";

/// List the sites of a collection.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,

    /// What comes first.
    #[arg(long, value_name = "COLUMN", default_value = "fetched")]
    sort: Sort,

    /// Only so many of them.
    #[arg(long, value_name = "N")]
    top: Option<usize>,

    /// Only sites with this text in their name.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// A snapshot by its name or generation, instead of the last commit.
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Sort {
    /// Most pages known.
    Known,
    /// Most pages fetched.
    Fetched,
    /// Most pages queued.
    Queued,
    /// Most requests failed.
    Errors,
    /// Most bytes sent.
    Bytes,
    /// Most links from other sites.
    Links,
    /// By name.
    Name,
}

impl Sort {
    fn order(self) -> SiteOrder {
        match self {
            Sort::Known => SiteOrder::Known,
            Sort::Fetched => SiteOrder::Fetched,
            Sort::Queued => SiteOrder::Queued,
            Sort::Errors => SiteOrder::Errors,
            Sort::Bytes => SiteOrder::Bytes,
            Sort::Links => SiteOrder::Links,
            Sort::Name => SiteOrder::Name,
        }
    }
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let snapshot = Snapshot::open(&args.dir, args.snapshot.as_deref())?;
    let rules = Settings::load(&args.dir)?.crawl_settings(&args.dir)?;
    let query =
        SiteQuery { sort: args.sort.order(), filter: args.filter.as_deref(), from: 0, most: args.top };
    let (sites, _) = crawl::list_sites(&snapshot, &rules, &query, now_ms())?;
    if let (Some(text), true, false) = (&args.filter, sites.is_empty(), printer.json()) {
        printer.line(&format!("no site of {} has `{}` in its name", args.dir.display(), printable(text)))?;
    }
    if !printer.json() && !sites.is_empty() {
        let heading = row(["known", "fetched", "queued", "errors", "sent", "wait", "robots", "site"]);
        printer.line(&printer.paint(Meaning::Aside, &heading))?;
    }
    for site in &sites {
        if printer.json() { printer.object(site)? } else { printer.line(&line(site, printer))? }
    }
    Ok(ExitCode::SUCCESS)
}

fn line(site: &SiteEntry, printer: &Printer) -> String {
    let number = |number: u32| count(u64::from(number));
    let mut line = row([
        &number(site.pages_known),
        &number(site.pages_fetched),
        &number(site.pages_queued),
        &number(site.errors),
        &size(site.bytes),
        &format!("{} s", site.wait_ms as f64 / 1_000.0),
        site.robots.as_str(),
        &printable(&site.site),
    ]);
    if let Some(other) = &site.alias_of {
        line += &printer.paint(Meaning::Aside, &format!("  (another name of {})", printable(other)));
    }
    if site.sites_at_address > 1 && site.alias_of.is_none() {
        let others = count(site.sites_at_address - 1);
        line += &printer.paint(Meaning::Aside, &format!("  (takes turns with {others} more at its address)"));
    }
    if let Some(until_ms) = site.back_off_until_ms {
        let left = duration(until_ms.saturating_sub(now_ms()) / 1_000);
        line += &printer.paint(Meaning::Bad, &format!("  (left alone for {left})"));
    }
    line
}

fn row(cells: [&str; 8]) -> String {
    let [known, fetched, queued, errors, sent, wait, robots, site] = cells;
    format!("{known:>9}  {fetched:>9}  {queued:>9}  {errors:>9}  {sent:>9}  {wait:>6}  {robots:11}  {site}")
}
