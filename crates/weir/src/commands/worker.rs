//! `weir worker`: fetches and reads pages for a crawl in another process, or on another machine.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use crawl::{CrawlSettings, FolderBroker, Helm, WorkerPlan, WorkerSummary, work};
use serde::Serialize;

use crate::carriers::{self, CarrierArgs, Connected};
use crate::printer::Printer;
use crate::progress::Style;
use crate::settings::Settings;
use crate::steering;
use crate::words::{counted, duration, rate, size};

const EXAMPLES: &str = "\
Examples:
  weir worker --for web          on the machine of `weir crawl web --workers local:0`
  weir worker --broker nats://broker:4222 --store s3://crawl --collection web

A worker writes no files, and reads only those that the settings of the crawl name (--files):
settings and all that must be known about sites come to it. It waits for the crawl to begin, works
until that is over, and ends. Ctrl-C (or SIGTERM) stops in order: what has come is handed over, the
rest goes back. If it is killed, others go on with its batches. See docs/cluster.md.";

/// Fetch and read pages for a crawl elsewhere.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection on this machine whose crawl it works for.
    #[arg(long = "for", value_name = "DIR", required_unless_present = "broker", conflicts_with = "broker")]
    dir: Option<PathBuf>,

    #[command(flatten)]
    carriers: CarrierArgs,

    /// Its name, which no other worker has; by default that of the host and the process.
    #[arg(long, value_name = "NAME", value_parser = checked_name)]
    name: Option<String>,

    /// How many batches it works on at once.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=256))]
    batches: u16,

    /// Where the files lie that the settings of the crawl name.
    #[arg(long, value_name = "DIR", default_value = ".")]
    files: PathBuf,

    /// Show progress on stderr even with --json.
    #[arg(long)]
    progress: bool,
}

/// Scripts rely on the names.
#[derive(Serialize)]
struct Answer {
    batches: u64,
    lost: u64,
    pages: u64,
    errors: u64,
    bytes: u64,
    seconds: f64,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let name = args.name.clone().unwrap_or_else(default_name);
    let Connected { broker, depot } = match &args.dir {
        Some(dir) => carriers::meet_in_folder(dir, FolderBroker::of_worker)?,
        None => carriers::connect(&args.carriers, carriers::Role::Worker)?,
    };
    let files = args.dir.as_ref().unwrap_or(&args.files);
    let settings = |text: &str| -> Result<CrawlSettings, String> {
        let settings = Settings::parse(text)?;
        let place = files.display();
        settings
            .crawl_settings(files)
            .map_err(|error| format!("{error}; files are looked for in {place} (--files)"))
    };
    let plan = WorkerPlan {
        broker: &*broker,
        depot: &*depot,
        name: &name,
        most_batches: usize::from(args.batches),
        settings: &settings,
    };
    let helm = Helm::new(CrawlSettings::default());
    if !printer.json() {
        writeln!(
            io::stderr(),
            "worker {name} takes batches as soon as there is a crawl; Ctrl-C hands over what it has"
        )?;
    }
    let style = Style::choose(printer.json(), args.progress);
    let reload = || "the settings are those of the collection".to_owned();
    let (summary, interrupted) = steering::steer(&helm, style, reload, |_| Ok(work(&plan, &helm)?))?;
    answer(&summary, printer)?;
    Ok(steering::exit_code(interrupted))
}

/// Names become parts of subjects and files.
fn checked_name(name: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !name.is_empty() && name.len() <= 100 && name.bytes().all(is_plain) {
        Ok(name.to_owned())
    } else {
        Err("a name has letters, digits, - and _, at most 100 of them".to_owned())
    }
}

fn default_name() -> String {
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let host: String =
        host.trim().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(60).collect();
    format!("{}-{}", if host.is_empty() { "worker" } else { &host }, std::process::id())
}

fn answer(summary: &WorkerSummary, printer: &mut Printer) -> anyhow::Result<()> {
    let WorkerSummary { batches, lost, progress, duration: took } = *summary;
    let seconds = took.as_secs_f64();
    if printer.json() {
        let (pages, errors, bytes) = (progress.pages, progress.errors, progress.bytes);
        return printer.object(&Answer { batches, lost, pages, errors, bytes, seconds });
    }
    let batches_word = if batches == 1 { "batch" } else { "batches" };
    let lost = if lost == 0 { String::new() } else { format!(" and {lost} left to others") };
    printer.line(&format!(
        "{} in {}: {batches} {batches_word}{lost}, {}, {}; {} pages/s",
        counted(progress.pages, "page"),
        duration(seconds.round() as u64),
        size(progress.bytes),
        counted(progress.errors, "failed visit"),
        rate(progress.pages as f64 / seconds.max(0.001)),
    ))
}
