//! `weir harvester`: fetches the pages of batches, politely, and leaves what came back for the gatherer.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crawl::{CrawlSettings, HarvestSummary, Helm, harvest_batch, harvest_collection, sites_of_batch};
use model::CanonicalUrl;
use serde::Serialize;

use super::crawl::{MannerArgs, reload};
use crate::failure::WrongUse;
use crate::printer::Printer;
use crate::progress::Style;
use crate::settings::{FILE, Settings};
use crate::steering;
use crate::words::{count, counted, duration, rate, size};

const EXAMPLES: &str = "\
Examples:
  weir harvester web                            all open batches of web, into web/harvests
  weir harvester --batch 000002 --out harvest-000002 --settings weir.toml
  scp -r harvest-000002 home:web/harvests/000002

Ctrl-C (or SIGTERM) stops in order: requests under way are waited for, and what has come is a
complete harvest; pages that were not asked for go back to the manager. A harvester that was
killed begins its batches again. What servers asked of it lies beside the batch, in a folder
with .journal behind its name: whoever takes the batch elsewhere then takes both.";

/// Fetch the pages of batches.
///
/// One of the four programs that `weir crawl` runs together. It never touches the collection: a batch can be copied to
/// another machine, harvested there, and what came back copied into the collection's folder harvests.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection whose open batches are to be harvested.
    #[arg(required_unless_present = "batch", conflicts_with_all = ["batch", "out", "settings"])]
    dir: Option<PathBuf>,

    /// A batch anywhere, instead.
    #[arg(long, value_name = "FOLDER", requires = "out")]
    batch: Option<PathBuf>,

    /// Where its harvest goes; the folder must not exist.
    #[arg(long, value_name = "FOLDER", requires = "batch")]
    out: Option<PathBuf>,

    /// The settings for it; without them, the defaults.
    #[arg(long, value_name = "FILE", requires = "batch")]
    settings: Option<PathBuf>,

    #[command(flatten)]
    manner: MannerArgs,
}

/// Scripts rely on the names.
#[derive(Serialize)]
struct Answer {
    harvests: Vec<String>,
    visits: u64,
    pages: u64,
    errors: u64,
    bytes: u64,
    seconds: f64,
    stopped: bool,
}

impl Args {
    fn load(&self) -> anyhow::Result<(CrawlSettings, Settings)> {
        let mut settings = match (&self.dir, &self.settings) {
            (Some(dir), _) => Settings::load(dir)?,
            (None, Some(file)) => Settings::load_file(file)?,
            (None, None) => Settings::default(),
        };
        if let Some(contact) = &self.manner.contact {
            settings.crawl.contact.clone_from(contact);
        }
        let beside = self.settings.as_deref().and_then(Path::parent);
        let folder = self.dir.as_deref().or(beside).unwrap_or(Path::new(""));
        Ok((settings.crawl_settings(folder)?, settings))
    }

    /// The front pages of the sites that will be asked.
    fn sites(&self, settings: &Settings) -> anyhow::Result<Vec<CanonicalUrl>> {
        let batches = match (&self.dir, &self.batch) {
            (Some(dir), _) => crawl::open_batches(dir)?,
            (None, batch) => batch.iter().cloned().collect(),
        };
        let (rules, mut sites) = (settings.url_rules(), Vec::new());
        for batch in batches {
            let names = sites_of_batch(&batch)?;
            sites.extend(names.iter().filter_map(|name| rules.canonical(&format!("{name}/")).ok()));
        }
        Ok(sites)
    }
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let (typed, settings) = args.load()?;
    if let Some(dir) = args.dir.as_ref().filter(|dir| !dir.join("MANIFEST").exists()) {
        return Err(WrongUse(format!("{} is no collection", dir.display())).into());
    }
    let in_folder = args.dir.as_ref().map(|dir| dir.join(FILE));
    let file = in_folder.or_else(|| args.settings.clone()).unwrap_or_else(|| FILE.into());
    settings.require_contact(&args.sites(&settings)?, &file)?;
    let helm = Helm::new(typed);
    let style = Style::choose(printer.json(), args.manner.progress);
    let reload = || reload(&settings, args.load(), &helm);
    let (summary, interrupted) = steering::steer(&helm, style, reload, |_| {
        Ok(match (&args.dir, &args.batch, &args.out) {
            (None, Some(batch), Some(out)) => harvest_batch(batch, out, &helm)?,
            (dir, ..) => harvest_collection(dir.as_deref().unwrap_or(Path::new(".")), &helm)?,
        })
    })?;
    answer(&summary, printer)?;
    Ok(steering::exit_code(interrupted))
}

fn answer(summary: &HarvestSummary, printer: &mut Printer) -> anyhow::Result<()> {
    let HarvestSummary { harvests, visits, progress, duration: took, stopped } = summary;
    let seconds = took.as_secs_f64();
    if printer.json() {
        return printer.object(&Answer {
            harvests: harvests.iter().map(|folder| folder.display().to_string()).collect(),
            visits: *visits,
            pages: progress.pages,
            errors: progress.errors,
            bytes: progress.bytes,
            seconds,
            stopped: *stopped,
        });
    }
    if harvests.is_empty() {
        return printer.line("no batch waits for a harvester");
    }
    harvests.iter().try_for_each(|folder| printer.line(&folder.display().to_string()))?;
    printer.line(&format!(
        "{} in {}: {}, {}; {} pages/s{}",
        counted(progress.pages, "page"),
        duration(seconds.round() as u64),
        size(progress.bytes),
        counted(progress.errors, "error"),
        rate(progress.pages as f64 / seconds.max(0.001)),
        if *stopped {
            format!("; stopped, {} go back", count(progress.waiting_pages))
        } else {
            String::new()
        },
    ))
}
