//! `weir harvester`: fetches the pages of open batches and writes harvests for the gatherer.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use harvest::{CrawlHandle, CrawlSettings, HarvestSummary, batch_sites, harvest_batch, harvest_collection};
use model::CanonicalUrl;
use serde::Serialize;

use crate::commands::crawl::crawl::{FetchArgs, reload};
use crate::crawl_control;
use crate::crawl_progress::ProgressMode;
use crate::exit::{self, UsageError};
use crate::human::{self, duration, plural, rate};
use crate::open_files;
use crate::output::Printer;
use crate::settings::{FILE, Settings};

const EXAMPLES: &str = "\
Examples:
  weir harvester web                            all open batches of web, to web/harvests
  weir harvester --batch 000002 --out harvest-000002 --settings weir.toml
  scp -r harvest-000002 home:web/harvests/000002

Ctrl-C or SIGTERM: finish requests in flight and write a complete harvest; pages that were not
fetched are returned to the manager. A harvester that was killed restarts its batches. Delays and
back-offs are recorded next to the batch in BATCH.journal: copy both to continue a batch
elsewhere.";

/// Fetch the pages of open batches.
///
/// One of the four programs that `weir crawl` combines. It never opens the collection: a batch can be copied to another
/// machine, harvested there, and the harvest copied back to `harvests` of the collection.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory, to harvest all its open batches.
    #[arg(required_unless_present = "batch", conflicts_with_all = ["batch", "out", "settings"])]
    dir: Option<PathBuf>,

    /// Batch directory.
    #[arg(long, value_name = "DIR", requires = "out")]
    batch: Option<PathBuf>,

    /// Output directory (must not exist).
    #[arg(long, value_name = "DIR", requires = "batch")]
    out: Option<PathBuf>,

    /// Settings file (default: built-in defaults).
    #[arg(long, value_name = "FILE", requires = "batch")]
    settings: Option<PathBuf>,

    #[command(flatten)]
    fetch: FetchArgs,
}

/// JSON output.
#[derive(Serialize)]
struct HarvesterOutput {
    harvests: Vec<String>,
    fetches: u64,
    pages_fetched: u64,
    failed_fetches: u64,
    body_bytes: u64,
    seconds: f64,
    stopped_early: bool,
}

impl Args {
    fn load(&self) -> anyhow::Result<(CrawlSettings, Settings)> {
        let mut settings = match (&self.dir, &self.settings) {
            (Some(dir), _) => Settings::load(dir)?,
            (None, Some(file)) => Settings::load_file(file)?,
            (None, None) => Settings::default(),
        };
        self.fetch.set.apply(&mut settings)?;
        if let Some(contact) = &self.fetch.contact {
            settings.crawl.contact.clone_from(contact);
        }
        // Files named in the settings are relative to the settings file.
        let settings_dir = self.settings.as_deref().and_then(Path::parent);
        let dir = self.dir.as_deref().or(settings_dir).unwrap_or(Path::new(""));
        Ok((settings.crawl_settings(dir)?, settings))
    }

    /// Front pages of the sites in the batches.
    fn sites(&self, settings: &Settings) -> anyhow::Result<Vec<CanonicalUrl>> {
        let batches = match (&self.dir, &self.batch) {
            (Some(dir), _) => harvest::open_batches(dir)?,
            (None, batch) => batch.iter().cloned().collect(),
        };
        let (rules, mut sites) = (settings.url_rules(), Vec::new());
        for batch in batches {
            let names = batch_sites(&batch)?;
            sites.extend(names.iter().filter_map(|name| rules.canonical(&format!("{name}/")).ok()));
        }
        Ok(sites)
    }
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let (mut typed, settings) = args.load()?;
    let notice = open_files::fit_to_threads(&mut typed);
    if let Some(dir) = args.dir.as_ref().filter(|dir| !dir.join("MANIFEST").exists()) {
        let dir = dir.display();
        let message =
            format!("{dir} is not a Weir collection (no MANIFEST); create one with `weir init {dir}`");
        return Err(UsageError(message).into());
    }
    let in_collection = args.dir.as_ref().map(|dir| dir.join(FILE));
    let file = in_collection.or_else(|| args.settings.clone()).unwrap_or_else(|| FILE.into());
    settings.require_contact(&args.sites(&settings)?, &file)?;
    let handle = CrawlHandle::new(typed);
    let mode = ProgressMode::choose(printer.json(), args.fetch.progress);
    let reload = || reload(&settings, args.load(), &handle);
    let (summary, interrupted) = crawl_control::run_with_signals(&handle, mode, reload, |notifier| {
        notice.into_iter().for_each(|notice| notifier.warn(notice));
        Ok(match (&args.dir, &args.batch, &args.out) {
            (None, Some(batch), Some(out)) => harvest_batch(batch, out, &handle)?,
            (dir, ..) => harvest_collection(dir.as_deref().unwrap_or(Path::new(".")), &handle)?,
        })
    })?;
    let summary = HarvestSummary { progress: handle.progress(), ..summary };
    print_summary(&summary, printer)?;
    if let Some(message) = crawl_control::local_fault_summary(&summary.progress).filter(|_| !printer.json()) {
        printer.warn(&message)?;
    }
    Ok(exit::crawl_code(interrupted, &summary.progress))
}

fn print_summary(summary: &HarvestSummary, printer: &mut Printer) -> anyhow::Result<()> {
    let HarvestSummary { harvests, fetches, progress, duration: elapsed, stopped } = summary;
    let seconds = elapsed.as_secs_f64();
    if printer.json() {
        return printer.object(&HarvesterOutput {
            harvests: harvests.iter().map(|dir| dir.display().to_string()).collect(),
            fetches: *fetches,
            pages_fetched: progress.pages_fetched,
            failed_fetches: progress.failed_fetches,
            body_bytes: progress.bytes_received,
            seconds,
            stopped_early: *stopped,
        });
    }
    if harvests.is_empty() {
        return printer.line("no open batch");
    }
    harvests.iter().try_for_each(|dir| printer.line(&dir.display().to_string()))?;
    printer.line(&format!(
        "fetched {} in {}: {}, {}, {} pages/s{}",
        plural(progress.pages_fetched, "page"),
        duration(seconds.round() as u64),
        human::bytes(progress.bytes_received),
        plural(progress.failed_fetches, "failed fetch"),
        rate(progress.pages_fetched as f64 / seconds.max(0.001)),
        if *stopped {
            format!("; stopped, {} returned", plural(progress.pages_queued, "page"))
        } else {
            String::new()
        },
    ))
}
