//! `weir simulate`: strategies compared on a Web that is wholly known, in virtual time.

mod figures;
mod files;
mod html;
mod sheet;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crawl::CrawlSettings;
use frontier::{Aim, Profit, Waits};
use simulate::{CrawlRules, Entry, Experiment, Guide, Laboratory, RefreshRules, Synthetic, Web, stored_web};
use store::Snapshot;

use crate::failure::WrongUse;
use crate::printer::Printer;
use crate::settings::{self, Settings};
use crate::words::{count, duration};

const EXAMPLES: &str = "\
Examples:
  weir simulate --synthetic                                  all strategies on a made-up Web
  weir simulate web --out comparison                         all, and its own settings, on the links of a collection
  weir simulate web --strategy own,wire,opic                 some of them
  weir simulate --synthetic --pages 1000000 --sites 20000 --strategy wire,omniscient
  weir simulate --synthetic --strategy estimated,uniform --json | jq .freshness

Orders: wire, breadth-first, larger-sites-first, bfs-larger-sites, backlinks, opic, batch-pagerank,
partial-pagerank, random, and the oracle omniscient, which knows the final PageRank of what it meets.
Revisits: every order by its own quality and estimated change rates; and alone: uniform, proportional,
estimated, and the oracle optimal-refresh, which knows all change rates.

A collection is crawled as its settings say: waits, batches, aim, minimum periods. What they make of the quality of pages (strategy,
weights, exponents) is tried as own; change them, and try again.

Nothing is fetched. Pages come as fast as politeness, connections and the speed of sites allow.";

/// Compare strategies on a Web that is wholly known, without fetching anything.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A collection: its links, sites, change rates and answer times are the Web.
    #[arg(required_unless_present = "synthetic", conflicts_with = "synthetic")]
    dir: Option<PathBuf>,

    /// A made-up Web with power laws, as `weir simweb` has them.
    #[arg(long)]
    synthetic: bool,

    /// About how many pages the made-up Web has.
    #[arg(long, value_name = "N", default_value_t = 20_000, conflicts_with = "dir",
          value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pages: u64,

    /// How many sites it has; a fiftieth of the pages, if nothing is said.
    #[arg(long, value_name = "N", conflicts_with = "dir", value_parser = clap::value_parser!(u64).range(1..=8_000_000))]
    sites: Option<u64>,

    /// What all chance is derived from.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// What is compared, by name; everything, if nothing is said. The settings of the collection are `own`.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    strategy: Vec<String>,

    /// What revisits are to achieve: profit, freshness, age or every-change; what the settings say, if nothing is said.
    #[arg(long, value_name = "AIM")]
    aim: Option<Aim>,

    /// Revisits for each change that happens.
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    requests_per_change: f64,

    /// How long a site is left alone between two requests.
    #[arg(long, value_name = "TIME", value_parser = settings::word::<Duration>)]
    wait: Option<Duration>,

    /// The same for a site with many pages.
    #[arg(long, value_name = "TIME", value_parser = settings::word::<Duration>)]
    large_site_wait: Option<Duration>,

    /// Requests under way at once.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    connections: Option<u32>,

    /// Pages of a batch; what the settings say, or a hundredth of a made-up Web, if nothing is said.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch: Option<u32>,

    /// A folder for the tables (CSV), the pictures (SVG) and the comparison (HTML).
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// A snapshot by its name or generation, instead of the last commit.
    #[arg(long, value_name = "NAME", requires = "dir")]
    snapshot: Option<String>,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let usual = match &args.dir {
        Some(dir) => Settings::load(dir)?.crawl_settings(dir)?,
        None => CrawlSettings::default(),
    };
    if let Some(file) = args.out.as_ref().filter(|out| out.exists() && !out.is_dir()) {
        return Err(WrongUse(format!("--out: {} is a file; give a folder", file.display())).into());
    }
    let aim = args.aim.unwrap_or(usual.profit.aim);
    let experiments = experiments(args, &usual, aim, printer)?;
    let started = Instant::now();
    let mut watch = Watch::new(printer.json());
    watch.say("the Web")?;
    let web = web(args)?;
    let what = what(args, &web);
    let (crawl, refresh) = rules(args, &usual, &web)?;
    watch.say("the omniscient order")?;
    let pages = web.pages.len();
    let laboratory = Laboratory::new(&web, crawl, refresh, aim, |done| watch.show(done, pages));
    let mut entries: Vec<Entry> = Vec::new();
    for (number, experiment) in experiments.iter().enumerate() {
        watch.say(&format!("{} ({} of {})", experiment.as_str(), number + 1, experiments.len()))?;
        let entry = laboratory.run(*experiment, |done| watch.show(done, pages));
        if printer.json() {
            printer.object(&sheet::answer(&entry))?;
            printer.finish()?;
        }
        entries.push(entry);
    }
    watch.clear()?;
    let comparison = laboratory.compare(entries);
    if !printer.json() {
        sheet::print(&comparison, &what, printer)?;
    }
    if let Some(folder) = &args.out {
        let page = html::page(&comparison, &what, &conditions(&laboratory));
        files::write(folder, &comparison, &page)?;
    }
    if !printer.json() {
        let took = duration(started.elapsed().as_secs());
        let place = args.out.as_ref().map(|folder| format!("; see {}", folder.join(files::PAGE).display()));
        printer.line(&format!("\nDone in {took}{}", place.unwrap_or_default()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Those that are asked for; else all that can be tried, and a word about what cannot.
fn experiments(
    args: &Args,
    usual: &CrawlSettings,
    aim: Aim,
    printer: &mut Printer,
) -> anyhow::Result<Vec<Experiment>> {
    let wrong = |error: simulate::Error| WrongUse(error.to_string());
    if args.strategy.is_empty() {
        let own = args.dir.as_ref().map(|_| own(usual, aim)).transpose();
        if let Err(error) = &own {
            printer.complain(&format!("{error}; it is left out"))?;
        }
        return Ok(own.ok().flatten().into_iter().chain(Experiment::all()).collect());
    }
    let mut experiments = Vec::new();
    for name in &args.strategy {
        let experiment = match (name.trim(), &args.dir) {
            (Experiment::OWN, Some(_)) => own(usual, aim).map_err(wrong)?,
            (Experiment::OWN, None) => {
                return Err(WrongUse("`own` are the settings of a collection; name one".to_owned()).into());
            }
            (name, _) => name.parse().map_err(wrong)?,
        };
        if !experiments.contains(&experiment) {
            experiments.push(experiment);
        }
    }
    Ok(experiments)
}

/// What a collection's settings make of the quality of pages.
fn own(usual: &CrawlSettings, aim: Aim) -> Result<Experiment, simulate::Error> {
    let weights = usual.own_weights.unwrap_or_else(|| usual.strategy.weights());
    Guide::own(usual.strategy, weights, Profit { aim, ..usual.profit }).map(Experiment::Own)
}

fn web(args: &Args) -> anyhow::Result<Web> {
    let wrong = |error: simulate::Error| match error {
        simulate::Error::Store(error) => anyhow::Error::from(error),
        error => WrongUse(error.to_string()).into(),
    };
    match &args.dir {
        Some(dir) => {
            let snapshot = Snapshot::open(dir, args.snapshot.as_deref())?;
            stored_web(&snapshot, args.seed).map_err(wrong)
        }
        None => {
            let sites = args.sites.unwrap_or(args.pages / 50).max(1);
            Synthetic { pages: args.pages, sites, seed: args.seed }.web().map_err(wrong)
        }
    }
}

/// How the Web is called in tables and pictures.
fn what(args: &Args, web: &Web) -> String {
    let (pages, sites) = (count(web.pages.len() as u64), count(web.sites.len() as u64));
    let size = format!("{pages} pages, {sites} sites, {} links", count(web.link_count() as u64));
    match &args.dir {
        Some(dir) => format!("the Web of {} ({size})", dir.display()),
        None => format!("a made-up Web ({size}, seed {})", args.seed),
    }
}

/// The conditions: those of the collection, or of a new one, unless others are asked for.
fn rules(args: &Args, usual: &CrawlSettings, web: &Web) -> anyhow::Result<(CrawlRules, RefreshRules)> {
    if !(args.requests_per_change > 0.0 && args.requests_per_change <= 100.0) {
        return Err(WrongUse("--requests-per-change must be above 0 and at most 100".to_owned()).into());
    }
    let ms = |time: Option<Duration>| time.map(|time| time.as_millis() as u64);
    let wait_ms = ms(args.wait).unwrap_or(usual.waits.wait_ms);
    let waits = Waits {
        wait_ms,
        large_site_wait_ms: ms(args.large_site_wait).unwrap_or(usual.waits.large_site_wait_ms.min(wait_ms)),
        ..usual.waits.clone()
    };
    let connections = args.connections.map_or(usual.connections, |connections| connections as usize);
    let (batch_pages, minimum_period_days) = match &args.dir {
        Some(_) => (usual.batch_pages, f64::from(usual.revisits.ok_s) / 86_400.0),
        // Of a made-up Web nobody has said how large a batch is, and who would be spared by a period.
        None => (web.pages.len().div_ceil(100), 0.0),
    };
    let batch_pages = args.batch.map_or(batch_pages, |pages| pages as usize);
    let crawl = CrawlRules {
        waits: waits.clone(),
        batch_pages,
        batch_pages_per_site: usual.batch_pages_per_site,
        connections,
    };
    let refresh = RefreshRules {
        waits,
        connections,
        requests_per_change: args.requests_per_change,
        minimum_period_days,
        seed: args.seed,
        ..RefreshRules::default()
    };
    Ok((crawl, refresh))
}

/// The conditions in words, for whoever finds the comparison later.
fn conditions(laboratory: &Laboratory<'_>) -> Vec<String> {
    let (crawl, refresh) = (&laboratory.crawl, &laboratory.refresh);
    let seconds = |ms: u64| format!("{} s", ms as f64 / 1_000.0);
    vec![
        format!(
            "Politeness: a site waits {} between two requests, {} if it has more than {} pages; one request at a time \
             for each site and each address.",
            seconds(crawl.waits.wait_ms),
            seconds(crawl.waits.large_site_wait_ms),
            crawl.waits.large_site_pages
        ),
        format!(
            "Batches of {} pages, at most {} of a site; {} connections.",
            count(crawl.batch_pages as u64),
            count(crawl.batch_pages_per_site as u64),
            count(crawl.connections as u64)
        ),
        format!(
            "Revisits: up to {} pages chosen by chance, {} requests for each change, {} days between two visits at least, \
             {} days to learn and {} days measured, aim {}.",
            count(refresh.most_pages as u64),
            refresh.requests_per_change,
            refresh.minimum_period_days,
            refresh.learning_days,
            refresh.measured_days,
            laboratory.aim
        ),
    ]
}

/// Tells on stderr what is going on: on a terminal in one line, elsewhere in a line for each step.
struct Watch {
    is_silent: bool,
    is_live: bool,
    step: String,
}

impl Watch {
    fn new(json: bool) -> Watch {
        let is_live = io::stderr().is_terminal();
        Watch { is_silent: json && !is_live, is_live, step: String::new() }
    }

    fn say(&mut self, step: &str) -> anyhow::Result<()> {
        step.clone_into(&mut self.step);
        match (self.is_silent, self.is_live) {
            (true, _) => {}
            (false, true) => write!(io::stderr(), "\r\x1b[K{step}")?,
            (false, false) => writeln!(io::stderr(), "{step}")?,
        }
        Ok(())
    }

    fn show(&self, done: usize, all: usize) {
        if self.is_live && !self.is_silent {
            // Who cannot be shown is not worth an end of the work.
            let _ = write!(io::stderr(), "\r\x1b[K{}: {} %", self.step, 100 * done / all.max(1));
        }
    }

    fn clear(&self) -> anyhow::Result<()> {
        if self.is_live && !self.is_silent {
            write!(io::stderr(), "\r\x1b[K")?;
        }
        Ok(())
    }
}
