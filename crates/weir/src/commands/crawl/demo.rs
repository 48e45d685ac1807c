//! `weir demo`: crawl, index, analysis, report and dashboard of a small synthetic Web on this machine, in half a minute.

use std::fs;
use std::io::{self, IsTerminal};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use crawl::CrawlLimits;
use harvest::CrawlHandle;
use model::UrlRules;
use simweb::{Endpoints, PageRef, SimWeb};
use web::RunningServer;

use crate::commands::collection::init;
use crate::commands::crawl::crawl as crawl_command;
use crate::commands::crawl::crawl::{CrawlJob, FetchArgs};
use crate::commands::query::{report, search};
use crate::exit::{self, UsageError};
use crate::open_files;
use crate::output::{Printer, TextStyle};
use crate::server_auth::ServerAuth;
use crate::settings::Settings;
use crate::signals::BlockingShutdownSignal;

const EXAMPLES: &str = "\
Examples:
  weir demo
  weir demo /tmp/demo --pages 20000 --sites 500

Needs no network: the pages are synthetic and served on loopback addresses. On a terminal the
dashboard runs until Ctrl-C. An existing demo in the directory is replaced.";

/// Crawl, index, analyse and serve a small synthetic Web on this machine.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    #[arg(default_value = "weir-demo")]
    dir: PathBuf,

    /// Number of sites.
    #[arg(long, value_name = "N", default_value_t = 200)]
    sites: u64,

    /// Approximate number of pages.
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    pages: u64,

    /// Skip the web server.
    #[arg(long)]
    no_serve: bool,

    #[command(flatten)]
    fetch: FetchArgs,
}

/// File that marks a directory as a demo, and its content; a directory without it is never replaced.
const DEMO_MARKER: &str = "demo";
const DEMO_MARKER_TEXT: &str = "made by weir demo, which replaces this directory\n";
/// File with the CA certificate of the synthetic sites, in the collection directory.
const CA_FILE: &str = "authority.pem";
/// Directory of the report, in the collection directory.
const REPORT_DIR: &str = "report";
/// Page limit per site: some synthetic sites are crawler traps.
const MAX_PAGES_PER_SITE: u32 = 500;
/// Time limit of the crawl: some synthetic servers never respond.
const MAX_CRAWL_TIME: Duration = Duration::from_secs(22);
/// Query with words of the synthetic English vocabulary, and the number of results shown.
const QUERY: &str = "journey OR passport";
const RESULTS: usize = 3;

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    remove_old_demo(&args.dir)?;
    let web = start(args)?;
    let settings = settings(&web)?;
    let portal = UrlRules::default().canonical(&web.world.url(PageRef { site: 0, page: 0 }))?;
    if !printer.json() {
        printer.line(&format!("crawling a synthetic Web of {} sites, seed {portal}", args.sites))?;
        printer.finish()?;
    }
    let mut collection = init::create_collection(&args.dir, &settings, std::slice::from_ref(&portal))?;
    for (name, text) in [(DEMO_MARKER, DEMO_MARKER_TEXT), (CA_FILE, web.authority_pem.as_str())] {
        let path = args.dir.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let limits = CrawlLimits { duration: Some(MAX_CRAWL_TIME), ..CrawlLimits::default() };
    let mut typed = settings.crawl_settings(&args.dir)?;
    open_files::fit_to_threads(&mut typed);
    let handle = CrawlHandle::new(typed);
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let start_server =
        || crawl_command::start_dashboard(&args.dir, &settings, &handle, listen, ServerAuth::default());
    let server = (!args.no_serve).then(start_server).transpose()?;
    let job = CrawlJob {
        settings: &settings,
        seeds: std::slice::from_ref(&portal),
        handle: &handle,
        limits,
        fetch: &args.fetch,
        index: true,
        remote: None,
    };
    let (_, interrupted) = crawl_command::run_crawl(&mut collection, &job, printer)?;
    web.stop().context("cannot stop the synthetic Web")?;
    let report = report::write_report(&args.dir, &args.dir.join(REPORT_DIR))?;
    // Again, since the analysis has collected the anchor texts.
    let on_progress = &mut |_| std::ops::ControlFlow::Continue(());
    ::search::index(&store::Snapshot::open(&args.dir, None)?, &settings.index_settings()?, on_progress)?;
    if !printer.json() {
        printer.line(&format!("report: {}", report.display()))?;
        printer.line(&format!("\n$ weir search {} '{QUERY}'", args.dir.display()))?;
        search::run(&search::Args::best(&args.dir, QUERY, RESULTS), printer)?;
        print_next_steps(&args.dir, portal.as_str(), printer)?;
        if let Some(server) = server.filter(|_| !interrupted && io::stdout().is_terminal()) {
            serve_until_signal(server, printer)?;
        }
    }
    Ok(exit::completion_code(interrupted))
}

/// Serves the collection until Ctrl-C or SIGTERM.
fn serve_until_signal(server: RunningServer, printer: &mut Printer) -> anyhow::Result<()> {
    let signal = BlockingShutdownSignal::listen()?;
    printer.line(&format!("\nserving {}/ (stop with Ctrl-C)", server.url()))?;
    printer.finish()?;
    signal.wait();
    server.stop();
    Ok(())
}

/// Removes an earlier demo, and nothing else.
fn remove_old_demo(dir: &Path) -> anyhow::Result<()> {
    let is_empty = match fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => return Err(UsageError(format!("cannot read {}: {error}", dir.display())).into()),
    };
    if is_empty {
        return Ok(());
    }
    let marker = store::read_limited(&dir.join(DEMO_MARKER), DEMO_MARKER_TEXT.len() as u64);
    if marker.ok().as_deref() != Some(DEMO_MARKER_TEXT.as_bytes()) {
        let message = format!("{} is not a demo; use an empty or new directory", dir.display());
        return Err(UsageError(message).into());
    }
    let own = [DEMO_MARKER, CA_FILE, REPORT_DIR];
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let is_own = |name: &str| own.contains(&name) || store::is_collection_entry(name);
        if !name.to_str().is_some_and(is_own) {
            let message = format!("{} is not part of the demo; move it away", dir.join(name).display());
            return Err(UsageError(message).into());
        }
    }
    fs::remove_dir_all(dir).with_context(|| format!("cannot remove {}", dir.display()))
}

fn start(args: &Args) -> anyhow::Result<SimWeb> {
    let wrong = |error: simweb::SettingsError| UsageError(error.to_string());
    let mut web = simweb::Settings::default();
    // Without the slowest servers: a single one would take longer than all others together.
    let hurried = [("slow_ms", 100), ("retry_after_s", 1), ("slow_body", 0), ("max_log_entries", 0)];
    for (name, value) in hurried.into_iter().chain([("sites", args.sites), ("pages", args.pages)]) {
        web.set(name, value as f64).map_err(wrong)?;
    }
    let web = web.checked().map_err(wrong)?;
    Ok(SimWeb::start(web, &Endpoints::default())?)
}

/// Settings with short delays, acceptable only for one's own servers, and with loopback addresses allowed.
fn settings(web: &SimWeb) -> anyhow::Result<Settings> {
    let dns = web.dns.context("the synthetic Web has no DNS server")?;
    let text = format!(
        "[crawl]\nmax_idle = \"1s\"\n\
         [scope]\naccept = [\".test\"]\n\
         [limits]\nmax_pages_per_site = {MAX_PAGES_PER_SITE}\n\
         [politeness]\ndelay = \"20ms\"\nlarge_site_delay = \"10ms\"\nmax_crawl_delay = \"100ms\"\nback_off = \"200ms\"\n\
         max_back_off = \"1h\"\nmax_retry_after = \"2s\"\nretry_delay = \"500ms\"\nmax_retry_delay = \"1h\"\n\
         [fetch]\nconnect_timeout = \"1s\"\nfirst_byte_timeout = \"1s\"\ntotal_timeout = \"3s\"\nca_file = \"{CA_FILE}\"\n\
         [dns]\nservers = [\"{dns}\"]\n\
         [network]\nallowed_networks = [\"127.0.0.0/8\"]\n\
         [commit]\ninterval = \"2s\"\n"
    );
    Ok(Settings::parse(&text).map_err(UsageError)?)
}

fn print_next_steps(dir: &Path, portal: &str, printer: &mut Printer) -> anyhow::Result<()> {
    let dir = dir.display();
    printer.line("\nnext steps:")?;
    let commands = [
        (format!("weir serve {dir}"), "serve the search page and dashboard"),
        (format!("weir status {dir}"), "show size, progress and reasons of missing pages"),
        (format!("weir sites {dir} --limit 10"), "list the largest sites"),
        (format!("weir why {dir} {portal}"), "explain why a page was fetched"),
        (format!("weir analyze {dir}"), "compute ranks and graph structure"),
        (format!("weir similar {dir} {portal}"), "find similar pages"),
        (format!("weir simulate {dir} --out {dir}-lab"), "compare crawl strategies on this graph"),
        (format!("weir check {dir}"), "verify checksums and references"),
        (format!("weir export {dir} --format mirror {dir}-files"), "export pages as plain files"),
        (format!("less {dir}/weir.toml"), "read the commented settings"),
    ];
    let width = commands.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    for (command, purpose) in &commands {
        printer.line(&format!("  {command:width$}  {}", printer.style(TextStyle::Dim, purpose)))?;
    }
    Ok(())
}
