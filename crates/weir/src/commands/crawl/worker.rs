//! `weir worker`: fetches and parses pages for a crawl in another process or on another machine.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use harvest::{CrawlHandle, CrawlSettings, DirBroker, WorkerConfig, WorkerSummary, work};
use serde::Serialize;

use crate::crawl_control;
use crate::crawl_progress::ProgressMode;
use crate::exit;
use crate::human::{self, duration, plural, rate};
use crate::open_files;
use crate::output::Printer;
use crate::settings::Settings;
use crate::transport::{self, Transport, TransportArgs};

const EXAMPLES: &str = "\
Examples:
  weir worker --local web        for `weir crawl web --workers local:0` on the same machine
  weir worker --broker nats://broker:4222 --store s3://crawl --collection web

A worker writes no files and reads only the files named in the settings (--settings-dir); it
receives settings and site states from the crawl. It waits for the crawl to start and exits when
the crawl ends. Ctrl-C or SIGTERM: submit the fetched pages and return the others. The batches of
a killed worker are leased to others. See docs/cluster.md.";

/// Fetch and parse pages for a crawl in another process or on another machine.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Work for the crawl of this collection on the same machine.
    #[arg(long = "local", value_name = "DIR", required_unless_present = "broker", conflicts_with = "broker")]
    dir: Option<PathBuf>,

    #[command(flatten)]
    transport: TransportArgs,

    /// Unique worker name (default: HOST-PID).
    #[arg(long, value_name = "NAME", value_parser = checked_name)]
    name: Option<String>,

    /// Maximum number of batches processed concurrently.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=256))]
    concurrent_batches: u16,

    /// Directory of the files named in the settings.
    #[arg(long, value_name = "DIR", default_value = ".")]
    settings_dir: PathBuf,

    /// Show progress on stderr also with --json.
    #[arg(long)]
    progress: bool,
}

/// JSON output.
#[derive(Serialize)]
struct WorkerOutput {
    batches_done: u64,
    leases_lost: u64,
    pages_fetched: u64,
    failed_fetches: u64,
    body_bytes: u64,
    seconds: f64,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let name = args.name.clone().unwrap_or_else(default_name);
    let Transport { broker, blob_store } = match &args.dir {
        Some(dir) => transport::open_local(dir, DirBroker::open_worker)?,
        None => transport::connect(&args.transport, transport::Role::Worker)?,
    };
    let settings_dir = args.dir.as_ref().unwrap_or(&args.settings_dir);
    let handle = CrawlHandle::new(CrawlSettings::default());
    if !printer.json() {
        writeln!(io::stderr(), "worker {name}: waiting for a crawl")?;
    }
    let mode = ProgressMode::choose(printer.json(), args.progress);
    let reload = || "settings are sent by the crawl; reload them there".to_owned();
    let (summary, interrupted) = crawl_control::run_with_signals(&handle, mode, reload, |notifier| {
        let has_warned = AtomicBool::new(false);
        // A harvester and a dispatcher for each batch.
        let threads = 2 * usize::from(args.concurrent_batches);
        let settings = |text: &str| -> Result<CrawlSettings, String> {
            let mut settings = Settings::parse(text)?
                .crawl_settings(settings_dir)
                .map_err(|error| format!("{error} (--settings-dir {})", settings_dir.display()))?;
            let notice = open_files::fit_connections(&mut settings, threads);
            if let Some(notice) = notice.filter(|_| !has_warned.swap(true, Relaxed)) {
                notifier.warn(notice);
            }
            Ok(settings)
        };
        let config = WorkerConfig {
            broker: &*broker,
            blobs: &*blob_store,
            name: &name,
            max_batches: usize::from(args.concurrent_batches),
            parse_settings: &settings,
        };
        Ok(work(&config, &handle)?)
    })?;
    print_summary(&summary, printer)?;
    Ok(exit::completion_code(interrupted))
}

/// Checks a worker name, which becomes part of NATS subjects and of file names.
fn checked_name(name: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !name.is_empty() && name.len() <= 100 && name.bytes().all(is_plain) {
        Ok(name.to_owned())
    } else {
        Err("use letters, digits, `-` and `_`, at most 100 characters".to_owned())
    }
}

fn default_name() -> String {
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let host: String =
        host.trim().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(60).collect();
    format!("{}-{}", if host.is_empty() { "worker" } else { &host }, std::process::id())
}

fn print_summary(summary: &WorkerSummary, printer: &mut Printer) -> anyhow::Result<()> {
    let WorkerSummary { batches_done, leases_lost, progress, duration: elapsed } = *summary;
    let seconds = elapsed.as_secs_f64();
    if printer.json() {
        return printer.object(&WorkerOutput {
            batches_done,
            leases_lost,
            pages_fetched: progress.pages_fetched,
            failed_fetches: progress.failed_fetches,
            body_bytes: progress.bytes_received,
            seconds,
        });
    }
    let lost =
        if leases_lost == 0 { String::new() } else { format!(", {} lost", plural(leases_lost, "lease")) };
    printer.line(&format!(
        "fetched {} in {}: {}{lost}, {}, {}, {} pages/s",
        plural(progress.pages_fetched, "page"),
        duration(seconds.round() as u64),
        plural(batches_done, "batch"),
        human::bytes(progress.bytes_received),
        plural(progress.failed_fetches, "failed fetch"),
        rate(progress.pages_fetched as f64 / seconds.max(0.001)),
    ))
}
