//! `weir simulate`: comparison of crawl strategies on a known link graph, in virtual time.

mod figures;
mod files;
mod html;
mod summary;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use frontier::{Objective, Politeness, PriorityModel};
use harvest::CrawlSettings;
use simulate::{
    CrawlParams, Experiment, ExperimentResult, ExperimentRunner, OrderPolicy, RefreshParams, Synthetic,
    WebModel, web_from_snapshot,
};
use store::Snapshot;

use crate::exit::UsageError;
use crate::human::{self, duration};
use crate::output::Printer;
use crate::output_dir;
use crate::progress_line::ProgressLine;
use crate::settings::{self, SetArgs};

const EXAMPLES: &str = "\
Examples:
  weir simulate --synthetic                                  all strategies on a synthetic graph
  weir simulate web --out comparison                         all strategies and `configured`
  weir simulate web --strategy configured,wire,opic          some strategies
  weir simulate --synthetic --pages 1000000 --sites 20000 --strategy wire,omniscient
  weir simulate --synthetic --strategy estimated,uniform --json | jq .freshness

Orders: wire, breadth-first, larger-sites-first, bfs-larger-sites, backlinks, opic,
batch-pagerank, partial-pagerank, random, and the oracle omniscient, which knows the final
PageRank of discovered pages. Revisits: each order with its own quality and estimated change
rates; and the refresh policies uniform, proportional, estimated, and the oracle optimal-refresh,
which knows all change rates.

With a collection, its settings apply: delays, batches, objective, minimum revisit intervals. The
strategy `configured` uses its crawl.strategy and [quality]; change them and run again.

Nothing is fetched. Pages arrive as fast as politeness, connections and response times allow.";

/// Compare crawl strategies on a known link graph, without network access.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Use the link graph, change rates and response times of this collection.
    #[arg(required_unless_present = "synthetic", conflicts_with = "synthetic")]
    dir: Option<PathBuf>,

    /// Generate a synthetic graph instead.
    #[arg(long)]
    synthetic: bool,

    /// Approximate number of pages.
    #[arg(long, value_name = "N", default_value_t = 20_000, conflicts_with = "dir",
          value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pages: u64,

    /// Number of sites (default: pages / 50).
    #[arg(long, value_name = "N", conflicts_with = "dir", value_parser = clap::value_parser!(u64).range(1..=8_000_000))]
    sites: Option<u64>,

    /// Random seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Comma-separated strategies (default: all); `configured` is the strategy of the collection.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    strategy: Vec<String>,

    /// Revisit objective: freshness, age, every-change or profit (default: quality.objective).
    #[arg(long, value_name = "OBJECTIVE")]
    objective: Option<Objective>,

    /// Revisit budget as requests per page change.
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    requests_per_change: f64,

    /// Delay between two requests to a site.
    #[arg(long, value_name = "TIME", value_parser = settings::parse_value::<Duration>)]
    delay: Option<Duration>,

    /// Delay between two requests to a large site.
    #[arg(long, value_name = "TIME", value_parser = settings::parse_value::<Duration>)]
    large_site_delay: Option<Duration>,

    /// Concurrent requests.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: Option<u32>,

    /// Pages per batch (default: crawl.max_batch_pages, or 1 % of a synthetic graph).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch_pages: Option<u32>,

    /// Directory for CSV, SVG and HTML.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Snapshot name or generation (default: last commit).
    #[arg(long, value_name = "NAME", requires = "dir")]
    snapshot: Option<String>,

    #[command(flatten)]
    set: SetArgs,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let settings = match &args.dir {
        Some(dir) => args.set.load(dir)?.crawl_settings(dir)?,
        None => CrawlSettings::default(),
    };
    if let Some(out) = &args.out {
        output_dir::check(out, files::PAGE, html::GENERATOR)?;
    }
    let objective = args.objective.unwrap_or(settings.priority.objective);
    let experiments = experiments(args, &settings, objective, printer)?;
    let started = Instant::now();
    let mut progress = ProgressLine::with_steps(printer.json());
    progress.begin_step("building the graph")?;
    let web = web(args)?;
    let title = title(args, &web);
    let (crawl, refresh) = params(args, &settings, &web)?;
    progress.begin_step("omniscient order")?;
    let pages = web.pages.len();
    let runner = ExperimentRunner::new(&web, crawl, refresh, objective, |done| {
        show_progress(&mut progress, "omniscient order", done, pages);
    });
    let mut results: Vec<ExperimentResult> = Vec::new();
    for (index, experiment) in experiments.iter().enumerate() {
        let step = format!("{} ({} of {})", experiment.as_str(), index + 1, experiments.len());
        progress.begin_step(&step)?;
        let result = runner.run(*experiment, |done| show_progress(&mut progress, &step, done, pages));
        if printer.json() {
            printer.object(&summary::output(&result))?;
            printer.finish()?;
        }
        results.push(result);
    }
    progress.clear()?;
    let comparison = runner.compare(results);
    if !printer.json() {
        summary::print(&comparison, &title, printer)?;
    }
    if let Some(dir) = &args.out {
        let page = html::page(&comparison, &title, &conditions(&runner));
        files::write(dir, &comparison, &page)?;
    }
    if !printer.json() {
        let elapsed = duration(started.elapsed().as_secs());
        let page = args.out.as_ref().map(|dir| format!("; report: {}", dir.join(files::PAGE).display()));
        printer.line(&format!("\nfinished in {elapsed}{}", page.unwrap_or_default()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The experiments of the command line; by default all, with a warning about those that are impossible.
fn experiments(
    args: &Args,
    settings: &CrawlSettings,
    objective: Objective,
    printer: &mut Printer,
) -> anyhow::Result<Vec<Experiment>> {
    let wrong = |error: simulate::Error| UsageError(error.to_string());
    if args.strategy.is_empty() {
        let configured = args.dir.as_ref().map(|_| configured(settings, objective)).transpose();
        if let Err(error) = &configured {
            printer.warn(&format!("skipped `configured`: {error}"))?;
        }
        return Ok(configured.ok().flatten().into_iter().chain(Experiment::all()).collect());
    }
    let mut experiments = Vec::new();
    for name in &args.strategy {
        let experiment = match (name.trim(), &args.dir) {
            (Experiment::CONFIGURED, Some(_)) => configured(settings, objective).map_err(wrong)?,
            (Experiment::CONFIGURED, None) => {
                return Err(UsageError("the strategy `configured` needs a collection".to_owned()).into());
            }
            (name, _) => name.parse().map_err(wrong)?,
        };
        if !experiments.contains(&experiment) {
            experiments.push(experiment);
        }
    }
    Ok(experiments)
}

/// The strategy of the settings of a collection.
fn configured(settings: &CrawlSettings, objective: Objective) -> Result<Experiment, simulate::Error> {
    let weights = settings.weight_overrides.unwrap_or_else(|| settings.strategy.weights());
    OrderPolicy::configured(settings.strategy, weights, PriorityModel { objective, ..settings.priority })
        .map(Experiment::Configured)
}

fn web(args: &Args) -> anyhow::Result<WebModel> {
    let wrong = |error: simulate::Error| match error {
        simulate::Error::Store(error) => anyhow::Error::from(error),
        error => UsageError(error.to_string()).into(),
    };
    match &args.dir {
        Some(dir) => {
            let snapshot = Snapshot::open(dir, args.snapshot.as_deref())?;
            web_from_snapshot(&snapshot, args.seed).map_err(wrong)
        }
        None => {
            let sites = args.sites.unwrap_or(args.pages / 50).max(1);
            Synthetic { pages: args.pages, sites, seed: args.seed }.web().map_err(wrong)
        }
    }
}

/// Description of the graph in tables and figures.
fn title(args: &Args, web: &WebModel) -> String {
    let (pages, sites) = (human::number(web.pages.len() as u64), human::number(web.sites.len() as u64));
    let size = format!("{pages} pages, {sites} sites, {} links", human::number(web.link_count() as u64));
    match &args.dir {
        Some(dir) => format!("the graph of {} ({size})", dir.display()),
        None => format!("a synthetic graph ({size}, seed {})", args.seed),
    }
}

/// Parameters of the simulation: those of the settings, overridden by the command line.
fn params(
    args: &Args,
    settings: &CrawlSettings,
    web: &WebModel,
) -> anyhow::Result<(CrawlParams, RefreshParams)> {
    if !(args.requests_per_change > 0.0 && args.requests_per_change <= 100.0) {
        return Err(UsageError("--requests-per-change out of range (above 0, up to 100)".to_owned()).into());
    }
    let ms = |time: Option<Duration>| time.map(|time| time.as_millis() as u64);
    let delay_ms = ms(args.delay).unwrap_or(settings.politeness.site_delay_ms);
    let politeness = Politeness {
        site_delay_ms: delay_ms,
        large_site_delay_ms: ms(args.large_site_delay)
            .unwrap_or(settings.politeness.large_site_delay_ms.min(delay_ms)),
        ..settings.politeness.clone()
    };
    let connections =
        args.max_connections.map_or(settings.max_connections, |connections| connections as usize);
    let (batch_pages, min_interval_days) = match &args.dir {
        Some(_) => (settings.max_batch_pages, f64::from(settings.revisits.success_s) / 86_400.0),
        // A synthetic graph has no settings: batches of 1 %, and no minimum revisit interval.
        None => (web.pages.len().div_ceil(100), 0.0),
    };
    let batch_pages = args.batch_pages.map_or(batch_pages, |pages| pages as usize);
    let crawl = CrawlParams {
        politeness: politeness.clone(),
        max_batch_pages: batch_pages,
        max_batch_pages_per_site: settings.max_batch_pages_per_site,
        max_connections: connections,
    };
    let refresh = RefreshParams {
        politeness,
        max_connections: connections,
        requests_per_change: args.requests_per_change,
        min_interval_days,
        seed: args.seed,
        ..RefreshParams::default()
    };
    Ok((crawl, refresh))
}

/// Parameters as text for the HTML page.
fn conditions(runner: &ExperimentRunner<'_>) -> Vec<String> {
    let (crawl, refresh) = (&runner.crawl, &runner.refresh);
    let seconds = |ms: u64| format!("{} s", ms as f64 / 1_000.0);
    vec![
        format!(
            "Politeness: delay {} per site, {} for sites with more than {} pages; one request at a time per site and per \
             IP address.",
            seconds(crawl.politeness.site_delay_ms),
            seconds(crawl.politeness.large_site_delay_ms),
            crawl.politeness.large_site_min_pages
        ),
        format!(
            "Batches of {} pages, at most {} per site; {} connections.",
            human::number(crawl.max_batch_pages as u64),
            human::number(crawl.max_batch_pages_per_site as u64),
            human::number(crawl.max_connections as u64)
        ),
        format!(
            "Revisits: a random sample of up to {} pages, {} requests per change, minimum interval {} days, {} days of \
             learning and {} days measured, objective {}.",
            human::number(refresh.max_pages as u64),
            refresh.requests_per_change,
            refresh.min_interval_days,
            refresh.learning_days,
            refresh.measured_days,
            runner.objective
        ),
    ]
}

fn show_progress(progress: &mut ProgressLine, step: &str, done: usize, all: usize) {
    // A closed stderr must not end the simulation.
    let _ = progress.update(|| format!("{step}: {} %", 100 * done / all.max(1)));
}
