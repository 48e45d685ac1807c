//! `weir crawl`: the whole crawl in one process, until no page is due, a limit is reached or it is stopped.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crawl::{CrawlLimits, CrawlState, CrawlSummary};
use fetch::LocalFault;
use harvest::{CrawlHandle, CrawlSettings, DirBroker, Transport};
use inspect::CollectionStatus;
use model::{CanonicalUrl, Reason};
use serde::Serialize;
use store::{Collection, Snapshot};
use web::{RunningServer, Server};

use crate::background_indexer::BackgroundIndexer;
use crate::commands::collection::status;
use crate::crawl_progress::ProgressMode;
use crate::exit::{self, UsageError};
use crate::human::{self, duration, plural, rate, timestamp};
use crate::local_workers::LocalWorkers;
use crate::output::{Printer, TextStyle};
use crate::server_auth::{ServerAuth, ServerAuthArgs};
use crate::settings::{self, SetArgs, Settings};
use crate::transport::{self, LeaseArgs, TransportArgs};
use crate::{crawl_control, open_files, system};

const EXAMPLES: &str = "\
Examples:
  weir crawl web                         until all pages are fetched
  weir crawl web --max-time 2h           for two hours; the next run continues
  weir crawl web --max-pages 1000 --json
  weir crawl web --continuous            until stopped; see crawl.max_requests_per_day in weir.toml
  weir crawl web --workers local:4       in four processes; other machines: docs/cluster.md
  weir crawl web --index --serve 127.0.0.1:9347    with text index and dashboard

Ctrl-C or SIGTERM: finish requests in flight, commit and exit with code 130. Second signal: stop
immediately. SIGHUP: reload weir.toml.";

/// Fetch pages politely and follow their links.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    #[command(flatten)]
    stop: StopArgs,

    #[command(flatten)]
    fetch: FetchArgs,

    /// Fetch in N worker processes on this machine; local:0 waits for workers started by hand.
    #[arg(long, value_name = "local:N", conflicts_with = "broker", value_parser = local_workers)]
    workers: Option<u16>,

    /// Confirm the permission to ignore robots.txt for the sites with robots = "ignore"; needed once.
    #[arg(long)]
    i_have_permission: bool,

    /// Update the text index during the crawl.
    #[arg(long)]
    index: bool,

    /// Serve the dashboard and API at this address; port 0 picks a free port.
    #[arg(long, value_name = "ADDR")]
    serve: Option<SocketAddr>,

    #[command(flatten)]
    server_auth: ServerAuthArgs,

    #[command(flatten)]
    transport: TransportArgs,

    #[command(flatten)]
    lease: LeaseArgs,
}

/// Options that limit a run.
#[derive(clap::Args)]
pub(crate) struct StopArgs {
    /// Stop after N batches.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_batches: Option<u64>,

    /// Stop after N fetched pages.
    #[arg(long, value_name = "N")]
    max_pages: Option<u64>,

    /// Stop after this time: 90s, 30m, 2h.
    #[arg(long, value_name = "TIME", value_parser = settings::parse_value::<Duration>)]
    max_time: Option<Duration>,

    /// Run until stopped; revisit pages when they are due.
    #[arg(long)]
    continuous: bool,
}

/// Options of all commands that fetch pages.
#[derive(clap::Args)]
pub(crate) struct FetchArgs {
    /// Contact URL or e-mail address, sent in the User-Agent (default: crawl.contact).
    #[arg(long, value_name = "URL|MAIL", value_parser = settings::checked_contact)]
    pub(crate) contact: Option<String>,

    /// Show progress on stderr also with --json.
    #[arg(long)]
    pub(crate) progress: bool,

    #[command(flatten)]
    pub(crate) set: SetArgs,
}

impl StopArgs {
    fn limits(&self) -> CrawlLimits {
        CrawlLimits {
            batches: self.max_batches,
            pages: self.max_pages,
            duration: self.max_time,
            continuous: self.continuous,
        }
    }
}

/// JSON output: the status of the collection and counts of this run.
#[derive(Serialize)]
struct CrawlOutput {
    #[serde(flatten)]
    status: CollectionStatus,
    seconds: f64,
    cpu_seconds: f64,
    pages_per_second: f64,
    pages_this_run: u64,
    /// Pages of this run whose body was cut at a limit on size or time.
    pages_truncated_this_run: u64,
    /// Whether due pages were left.
    stopped_early: bool,
    /// Whether the remaining pages wait for the next day, by a daily request limit.
    daily_limit_reached: bool,
    /// Time at which the next page is due, in Unix milliseconds.
    next_due_ms: Option<u64>,
    /// Fault of this machine at the end.
    local_fault: Option<LocalFault>,
    /// Requests and DNS lookups that were retried because of a fault of this machine.
    retried_requests: u64,
    /// Pages in the text index, with `--index`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pages_indexed: Option<u64>,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    if let (None, Some(option)) = (args.serve, args.server_auth.first_given()) {
        return Err(UsageError(format!("{option} requires --serve ADDR")).into());
    }
    let mut settings = load_settings(&args.dir, &args.fetch)?;
    let mut collection = Collection::open(&args.dir, settings.store_settings())?;
    let seeds = settings.seeds(&collection)?;
    settings.require_contact(&seeds, &args.dir.join(settings::FILE))?;
    settings.accept_hosts_of(&seeds)?;
    require_permission(&mut collection, &settings, args.i_have_permission)?;
    let mut typed = settings.crawl_settings(&args.dir)?;
    let notice = open_files::fit_to_threads(&mut typed);
    let handle = CrawlHandle::new(typed);
    let auth = args.server_auth.read()?;
    // The server runs until the end of this function, also after an error.
    let _server =
        args.serve.map(|listen| start_dashboard(&args.dir, &settings, &handle, listen, auth)).transpose()?;
    let remote = args.remote_fetch(&settings)?;
    let local_workers = args.workers.unwrap_or(0);
    let leased = leased_batches(&args.dir);
    if remote.is_none() && leased > 0 {
        writeln!(io::stderr(), "{}", leased_batches_notice(leased))?;
    }
    // Workers have limits of their own.
    if let Some(notice) = notice.filter(|_| remote.is_none()) {
        writeln!(io::stderr(), "weir: {notice}")?;
    }
    if remote.is_some() && local_workers == 0 {
        writeln!(io::stderr(), "waiting for workers; start one with `{}`", args.worker_command())?;
    }
    let _workers = (local_workers > 0).then(|| LocalWorkers::start(&args.dir, local_workers)).transpose()?;
    let job = CrawlJob {
        settings: &settings,
        seeds: &seeds,
        handle: &handle,
        limits: args.stop.limits(),
        fetch: &args.fetch,
        index: args.index,
        remote: remote.as_ref(),
    };
    let (summary, interrupted) = run_crawl(&mut collection, &job, printer)?;
    if !printer.json() {
        let next = next_step(&args.dir, &summary, harvest::open_batches(&args.dir)?.len());
        printer.line(&printer.style(TextStyle::Dim, &next))?;
    }
    Ok(exit::crawl_code(interrupted, &handle.progress()))
}

/// Checks that the user has confirmed the permission to ignore robots.txt, if the settings do so.
pub(crate) fn require_permission(
    collection: &mut Collection,
    settings: &Settings,
    is_confirmed: bool,
) -> anyhow::Result<()> {
    let sites = settings.sites_without_robots();
    if sites.is_empty() || CrawlState::permits_ignoring_robots(collection, is_confirmed, system::now_ms())? {
        return Ok(());
    }
    Err(UsageError(format!(
        "cannot ignore robots.txt of {}: confirm that you have the permission with `weir crawl {} --i-have-permission`",
        sites.join(", "),
        collection.dir().display()
    ))
    .into())
}

impl Args {
    /// Command that starts a worker for this crawl.
    fn worker_command(&self) -> String {
        let TransportArgs { broker, store, collection, .. } = &self.transport;
        let (Some(broker), Some(store)) = (broker, store) else {
            return format!("weir worker --local {}", self.dir.display());
        };
        let name = collection.clone().unwrap_or_else(|| transport::collection_name(&self.dir));
        format!("weir worker --broker {broker} --store {store} --collection {name}")
    }

    /// Connection to the workers; `None` if this process fetches.
    fn remote_fetch(&self, settings: &Settings) -> anyhow::Result<Option<RemoteFetch>> {
        let transport = match (self.workers, &self.transport.broker) {
            (None, None) => return Ok(None),
            (_, Some(_)) => {
                transport::connect(&self.transport, transport::Role::Collection(&self.dir, &self.lease))?
            }
            (Some(_), None) => transport::open_local(&self.dir, DirBroker::open_coordinator)?,
        };
        let settings = Arc::new(Mutex::new(settings.to_toml()));
        let text = Arc::clone(&settings);
        let transport = Transport {
            broker: transport.broker,
            blobs: transport.blob_store,
            settings: Arc::new(move || text.lock().unwrap_or_else(PoisonError::into_inner).clone()),
            worker_timeout: self.lease.lease * 2,
        };
        Ok(Some(RemoteFetch { transport, settings }))
    }
}

/// Parses `local:N`.
fn local_workers(text: &str) -> Result<u16, String> {
    let count =
        text.strip_prefix("local:").and_then(|count| count.parse().ok()).filter(|count| *count <= 256);
    count.ok_or_else(|| {
        "use local:N (0 to 256 workers on this machine); for other machines see --broker".to_owned()
    })
}

/// Number of batches leased to workers, by this crawl or by one that was killed.
fn leased_batches(dir: &Path) -> usize {
    std::fs::read_dir(dir.join("leased")).map_or(0, Iterator::count)
}

fn leased_batches_notice(batches: usize) -> String {
    let (verb, their) = if batches == 1 { ("is", "its") } else { ("are", "their") };
    format!(
        "{} {verb} leased to workers and {their} sites are skipped; run with the same --workers or --broker to finish",
        plural(batches as u64, "batch")
    )
}

/// Last line of the output: how to continue.
fn next_step(dir: &Path, summary: &CrawlSummary, open_batches: usize) -> String {
    if open_batches > 0 {
        return format!(
            "the sites of {} were skipped; finish with `weir harvester {1}` and `weir gatherer {1}`",
            plural(open_batches as u64, "open batch"),
            dir.display()
        );
    }
    let leased = leased_batches(dir);
    if leased > 0 {
        return leased_batches_notice(leased);
    }
    match (summary.stopped_early, summary.next_due_ms) {
        (true, _) => format!("stopped; resume with `weir crawl {}`", dir.display()),
        (false, Some(due_ms)) => {
            format!("no page is due before {}", timestamp(due_ms as i64))
        }
        (false, None) => "all pages fetched".to_owned(),
    }
}

/// Loads the settings of a collection and applies the options of the command line.
pub(crate) fn load_settings(dir: &Path, args: &FetchArgs) -> anyhow::Result<Settings> {
    let mut settings = args.set.load(dir)?;
    if let Some(contact) = &args.contact {
        settings.crawl.contact.clone_from(contact);
    }
    Ok(settings)
}

/// Starts the web server of a crawl on its own thread and prints the URL of the dashboard.
pub(crate) fn start_dashboard(
    dir: &Path,
    settings: &Settings,
    handle: &CrawlHandle,
    listen: SocketAddr,
    auth: ServerAuth,
) -> anyhow::Result<RunningServer> {
    let settings = settings.web_settings(dir, listen, auth)?;
    let server = Server::bind(settings, Some(handle.clone()))?.start()?;
    let url = match server.login_url() {
        Some(url) => url.to_owned(),
        None => format!("{}/dashboard", server.url()),
    };
    writeln!(io::stderr(), "dashboard: {url}")?;
    Ok(server)
}

/// Parameters of a crawl.
pub(crate) struct CrawlJob<'p> {
    pub(crate) settings: &'p Settings,
    /// Seeds, which define the default scope.
    pub(crate) seeds: &'p [CanonicalUrl],
    pub(crate) handle: &'p CrawlHandle,
    pub(crate) limits: CrawlLimits,
    pub(crate) fetch: &'p FetchArgs,
    /// Whether the text index is updated.
    pub(crate) index: bool,
    /// Workers that fetch; `None` if this process fetches.
    pub(crate) remote: Option<&'p RemoteFetch>,
}

/// Transport to workers, and the settings sent to them.
pub(crate) struct RemoteFetch {
    transport: Transport,
    settings: Arc<Mutex<String>>,
}

/// Crawls with a progress display and prints the summary. Returns the summary and whether the crawl was interrupted.
pub(crate) fn run_crawl(
    collection: &mut Collection,
    job: &CrawlJob<'_>,
    printer: &mut Printer,
) -> anyhow::Result<(CrawlSummary, bool)> {
    let CrawlJob { settings, seeds, handle, limits, fetch, index, remote } = *job;
    let dir = collection.dir().to_owned();
    let mode = ProgressMode::choose(printer.json(), fetch.progress);
    let cpu_before = system::cpu_seconds();
    let reload = || {
        let read = || {
            let mut new = load_settings(&dir, fetch)?;
            new.accept_hosts_of(seeds)?;
            let mut typed = new.crawl_settings(&dir)?;
            open_files::fit_to_threads(&mut typed);
            crawl::check_ranks(&dir, &typed)?;
            if let Some(remote) = remote {
                *remote.settings.lock().unwrap_or_else(PoisonError::into_inner) = new.to_toml();
            }
            Ok((typed, new))
        };
        reload(settings, read(), handle)
    };
    let ((summary, indexed), interrupted) =
        crawl_control::run_with_signals(handle, mode, reload, |notifier| {
            let mut crawl = || match remote {
                Some(remote) => crawl::crawl_by_workers(collection, handle, limits, &remote.transport),
                None => crawl::crawl(collection, handle, limits),
            };
            if !index {
                return Ok((crawl()?, None));
            }
            let indexer = BackgroundIndexer::new(&dir, settings, handle, notifier)?;
            let (crawled, indexed) = indexer.run_during(crawl);
            Ok((crawled?, indexed))
        })?;
    let indexed = indexed.map(|indexed| indexed.pages);
    let summary = CrawlSummary { progress: handle.progress(), ..summary };
    print_summary(&dir, &summary, system::cpu_seconds() - cpu_before, indexed, printer)?;
    Ok((summary, interrupted))
}

/// Applies reloaded settings to a running crawl. Returns the message for the user.
pub(crate) fn reload(
    old: &Settings,
    read: anyhow::Result<(CrawlSettings, Settings)>,
    handle: &CrawlHandle,
) -> String {
    let (typed, new) = match read {
        Ok(read) => read,
        Err(error) => return format!("settings not reloaded: {error:#}"),
    };
    handle.update_settings(typed);
    let changes = old.changes(&new);
    let names = |reloadable| {
        let names = changes.iter().filter(|(_, is)| *is == reloadable).map(|(name, _)| name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    match (names(true), names(false)) {
        (now, later) if now.is_empty() && later.is_empty() => "settings unchanged".to_owned(),
        (now, later) if later.is_empty() => format!("settings reloaded: {now}"),
        (now, later) if now.is_empty() => format!("settings effective after restart: {later}"),
        (now, later) => format!("settings reloaded: {now}; effective after restart: {later}"),
    }
}

fn print_summary(
    dir: &Path,
    summary: &CrawlSummary,
    cpu_seconds: f64,
    pages_indexed: Option<u64>,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let status = CollectionStatus::load(&Snapshot::open(dir, None)?, system::now_ms())?;
    let seconds = summary.duration.as_secs_f64();
    let pages_this_run = summary.progress.pages_fetched;
    let pages_per_second = pages_this_run as f64 / seconds.max(0.001);
    let CrawlSummary { stopped_early: stopped, next_due_ms, daily_limit_reached, progress, .. } = *summary;
    if printer.json() {
        let output = CrawlOutput {
            status,
            seconds,
            cpu_seconds,
            pages_per_second,
            pages_this_run,
            pages_truncated_this_run: progress.pages_truncated,
            stopped_early: stopped,
            daily_limit_reached,
            next_due_ms,
            local_fault: progress.local_fault.map(|status| status.fault),
            retried_requests: progress.retried_requests,
            pages_indexed,
        };
        return printer.object(&output);
    }
    printer.line(&format!(
        "fetched {} in {}: {}, {}, {}, {} pages/s, {cpu_seconds:.1} s CPU",
        plural(pages_this_run, "page"),
        duration(seconds.round() as u64),
        human::bytes(progress.bytes_received),
        plural(progress.links, "link"),
        plural(progress.failed_fetches, "failed fetch"),
        rate(pages_per_second),
    ))?;
    if progress.pages_truncated > 0 {
        printer.line(&format!(
            "{} cut at a limit on size or time (fetch.max_body_size, fetch.total_timeout)",
            plural(progress.pages_truncated, "page")
        ))?;
    }
    printer.line(&format!(
        "{} known on {}: {}",
        plural(status.pages_known, "page"),
        plural(status.sites_known, "site"),
        status::parts(&status)
    ))?;
    if let Some(next_due_ms) = next_due_ms.filter(|_| daily_limit_reached) {
        printer.line(&format!("daily limit reached until {}", timestamp(next_due_ms as i64)))?;
    }
    if let Some(pages) = pages_indexed {
        printer.line(&format!("{} in the text index", plural(pages, "page")))?;
    }
    if let Some(message) = crawl_control::local_fault_summary(&progress) {
        printer.warn(&message)?;
    }
    match common_cause(&status, pages_this_run) {
        Some(message) => printer.warn(&message),
        None => Ok(()),
    }
}

/// Message with a hint if no page was fetched and at least 90 % of the pages have the same reason.
fn common_cause(status: &CollectionStatus, pages_this_run: u64) -> Option<String> {
    let (name, pages) = status.pages_by_reason.iter().max_by_key(|(_, pages)| **pages)?;
    let reason = Reason::all().find(|reason| reason.as_str() == *name)?;
    if pages_this_run > 0 || pages * 10 < status.pages_known * 9 {
        return None;
    }
    let hint = match reason {
        Reason::DnsNotFound | Reason::DnsFailed => "; check the seeds and dns.servers",
        Reason::ConnectFailed | Reason::ConnectTimeout => "; check the network connection",
        Reason::IpBlocked => "; set network.allowed_networks",
        Reason::PortBlocked => "; set network.allowed_ports",
        Reason::InvalidCertificate => "; set fetch.ca_file or fetch.accept_invalid_certificates",
        _ => "",
    };
    Some(format!(
        "no page was fetched; {} of {}: {reason}{hint}",
        human::number(*pages),
        plural(status.pages_known, "page")
    ))
}
