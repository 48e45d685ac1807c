//! `weir sites`: what is known of each site, as a table or as one object per line.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::ValueEnum;
use crawl::SiteStatus;
use model::SiteId;
use store::{SiteRecord, Snapshot};

use crate::printer::{Meaning, Printer, printable};
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

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let snapshot = Snapshot::open(&args.dir, args.snapshot.as_deref())?;
    let rules = Settings::load(&args.dir)?.crawl_settings(&args.dir)?;
    let sites = chosen(args, &snapshot)?;
    if let (Some(text), true, false) = (&args.filter, sites.is_empty(), printer.json()) {
        printer.line(&format!("no site of {} has `{}` in its name", args.dir.display(), printable(text)))?;
    }
    let at_address = at_address(&snapshot)?;
    if !printer.json() && !sites.is_empty() {
        let heading = row(["known", "fetched", "queued", "errors", "sent", "wait", "robots", "site"]);
        printer.line(&printer.paint(Meaning::Aside, &heading))?;
    }
    for site in sites {
        let Some(record) = snapshot.sites.get(site)? else { continue };
        let mut answer = SiteStatus::of(&snapshot, &rules, site, &record, now_ms());
        answer.sites_at_address = record.address.and_then(|at| at_address.get(&at).copied()).unwrap_or(0);
        if printer.json() { printer.object(&answer)? } else { printer.line(&line(&answer, printer))? }
    }
    Ok(ExitCode::SUCCESS)
}

/// How many sites have each address.
fn at_address(snapshot: &Snapshot) -> store::Result<HashMap<IpAddr, u64>> {
    let parts = snapshot.sites.scan(|counts: &mut HashMap<IpAddr, u64>, _, record| {
        if let Some(address) = record.address {
            *counts.entry(address).or_default() += 1;
        }
    })?;
    let mut all = HashMap::new();
    for (address, sites) in parts.into_iter().flatten() {
        *all.entry(address).or_default() += sites;
    }
    Ok(all)
}

/// The wanted sites in the wanted order.
fn chosen(args: &Args, snapshot: &Snapshot) -> store::Result<Vec<SiteId>> {
    let name = |site: SiteId| snapshot.urls.site_name(site).unwrap_or_default();
    let wanted = |site: SiteId| args.filter.as_ref().is_none_or(|text| name(site).contains(text.as_str()));
    let parts = snapshot.sites.scan(|found: &mut Vec<(u64, SiteId)>, site, record| {
        if wanted(site) {
            found.push((key(args.sort, record), site));
        }
    })?;
    let mut sites = parts.concat();
    match args.sort {
        Sort::Name => sites.sort_unstable_by_key(|(_, site)| name(*site)),
        _ => sites.sort_unstable_by_key(|(key, site)| (std::cmp::Reverse(*key), *site)),
    }
    sites.truncate(args.top.unwrap_or(usize::MAX));
    Ok(sites.into_iter().map(|(_, site)| site).collect())
}

fn key(sort: Sort, record: &SiteRecord) -> u64 {
    match sort {
        Sort::Known => u64::from(record.pages_known),
        Sort::Fetched => u64::from(record.pages_fetched),
        Sort::Queued => u64::from(record.pages_queued),
        Sort::Errors => u64::from(record.errors),
        Sort::Bytes => record.bytes,
        Sort::Links => u64::from(record.in_links),
        Sort::Name => 0,
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

fn line(site: &SiteStatus, printer: &Printer) -> String {
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
