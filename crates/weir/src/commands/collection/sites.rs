//! `weir sites`: list of the sites of a collection.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use inspect::{SiteQuery, SiteSort, SiteSummary};
use store::Snapshot;

use crate::human::{self, duration};
use crate::output::{Printer, TextStyle, printable};
use crate::settings::SetArgs;
use crate::system::now_ms;

const EXAMPLES: &str = "\
Examples:
  weir sites web --limit 20
  weir sites web --sort failed --limit 20
  weir sites web --filter .edu --json | jq -r .site";

/// List the sites of a collection.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    /// Sort order.
    #[arg(long, value_name = "COLUMN", default_value = "fetched")]
    sort: Sort,

    /// Maximum number of results.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Only sites whose name contains TEXT.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// Snapshot name or generation (default: last commit).
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,

    #[command(flatten)]
    set: SetArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum Sort {
    /// Most known pages.
    Known,
    /// Most fetched pages.
    Fetched,
    /// Most queued pages.
    Queued,
    /// Most failed fetches.
    Failed,
    /// Most bytes received.
    Bytes,
    /// Most inlinks from other sites.
    Inlinks,
    /// Alphabetical.
    Name,
}

impl Sort {
    fn order(self) -> SiteSort {
        match self {
            Sort::Known => SiteSort::Known,
            Sort::Fetched => SiteSort::Fetched,
            Sort::Queued => SiteSort::Queued,
            Sort::Failed => SiteSort::Failed,
            Sort::Bytes => SiteSort::Bytes,
            Sort::Inlinks => SiteSort::Inlinks,
            Sort::Name => SiteSort::Name,
        }
    }
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let snapshot = Snapshot::open(&args.dir, args.snapshot.as_deref())?;
    let rules = args.set.load(&args.dir)?.crawl_settings(&args.dir)?;
    let query =
        SiteQuery { sort: args.sort.order(), filter: args.filter.as_deref(), offset: 0, limit: args.limit };
    let (sites, _) = inspect::list_sites(&snapshot, &rules, &query, now_ms())?;
    if let (Some(text), true, false) = (&args.filter, sites.is_empty(), printer.json()) {
        printer.line(&format!("no site name of {} contains `{}`", args.dir.display(), printable(text)))?;
    }
    if !printer.json() && !sites.is_empty() {
        let heading = row(["known", "fetched", "queued", "failed", "received", "delay", "robots", "site"]);
        printer.line(&printer.style(TextStyle::Dim, &heading))?;
    }
    for site in &sites {
        if printer.json() { printer.object(site)? } else { printer.line(&line(site, printer))? }
    }
    Ok(ExitCode::SUCCESS)
}

fn line(site: &SiteSummary, printer: &Printer) -> String {
    let mut line = row([
        &human::number(u64::from(site.pages_known)),
        &human::number(u64::from(site.pages_fetched)),
        &human::number(u64::from(site.pages_queued)),
        &human::number(u64::from(site.failed_fetches)),
        &human::bytes(site.bytes_received),
        &format!("{} s", site.delay_ms as f64 / 1_000.0),
        site.robots.as_str(),
        &printable(&site.site),
    ]);
    if let Some(other) = &site.alias_of {
        line += &printer.style(TextStyle::Dim, &format!("  (alias of {})", printable(other)));
    }
    if site.sites_at_ip > 1 && site.alias_of.is_none() {
        let others = human::plural(site.sites_at_ip - 1, "site");
        line += &printer.style(TextStyle::Dim, &format!("  (shares its IP with {others})"));
    }
    if let Some(until_ms) = site.back_off_until_ms {
        let left = duration(until_ms.saturating_sub(now_ms()) / 1_000);
        line += &printer.style(TextStyle::Bad, &format!("  (in back-off for {left})"));
    }
    line
}

fn row(cells: [&str; 8]) -> String {
    let [known, fetched, queued, failed, received, delay, robots, site] = cells;
    format!(
        "{known:>9}  {fetched:>9}  {queued:>9}  {failed:>9}  {received:>9}  {delay:>6}  {robots:11}  {site}"
    )
}
