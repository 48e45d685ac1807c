//! `weir simweb`: serve the synthetic Web, or tell the truth about it.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use serde::Serialize;
use simweb::{Endpoints, Health, PageRef, Ports, Settings, SimWeb, StartError, World};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::WrongUse;
use crate::printer::{Meaning, Printer};

/// Serve a synthetic Web on loopback: deterministic from a seed, with faults, and with known truth.
///
/// Every site has its own address below 127.0.0.0/8 and a name below `test`, which the built-in name server knows.
/// Without it, `http://NAME.test.localhost:PORT/` leads to any site in browsers and curl. Ctrl-C ends it (exit code 0).
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many sites there are [default: 100].
    #[arg(long, value_name = "N")]
    sites: Option<u64>,

    /// About how many pages they have together [default: 10000].
    #[arg(long, value_name = "N")]
    pages: Option<u64>,

    /// The number everything is derived from [default: 1].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Where to serve http; port 0 takes any free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// Where to serve https.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8443")]
    tls_listen: SocketAddr,

    /// Where to answer DNS questions.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8053")]
    dns: SocketAddr,

    /// How much faster than real time pages change; 0 stops them [default: 1].
    #[arg(long, value_name = "FACTOR")]
    clock: Option<f64>,

    /// Set any other value (see --list-settings); may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,

    /// Read settings from a TOML file of `name = value` lines; the options above override it.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,

    /// Switch every phenomenon off that is not set.
    #[arg(long)]
    plain: bool,

    /// Put all sites on the address of --listen.
    #[arg(long)]
    one_address: bool,

    /// Write the certificate of the authority that signs for all sites, as PEM.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// Write the request log, one JSON object per line.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    /// Write what is true about this Web instead of serving it.
    #[arg(long, value_name = "WHAT")]
    truth: Option<Truth>,

    /// List all settings with their defaults.
    #[arg(long)]
    list_settings: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Truth {
    /// Every site.
    Sites,
    /// Every page.
    Pages,
    /// Every link.
    Links,
    /// Every page that copies another, wholly or nearly.
    Duplicates,
    /// The PageRank of every page (16 bytes of memory a page).
    Ranks,
    /// The address of every name, as lines for a hosts file.
    Hosts,
}

/// What runs where, for scripts.
#[derive(Serialize)]
struct Started {
    http: SocketAddr,
    https: SocketAddr,
    dns: Option<SocketAddr>,
    portal: String,
    one_address: bool,
    seed: u64,
    sites: u64,
    ca: Option<PathBuf>,
    log: Option<PathBuf>,
}

#[derive(Serialize)]
struct Duplicate {
    url: String,
    of: String,
    kind: &'static str,
    overlap: f64,
}

#[derive(Serialize)]
struct Rank {
    url: String,
    rank: f64,
}

#[derive(Serialize)]
struct Host {
    name: String,
    address: std::net::Ipv4Addr,
}

pub(crate) fn run(args: Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    if args.list_settings {
        list_settings(printer)?;
        return Ok(ExitCode::SUCCESS);
    }
    let settings = settings(&args)?;
    if let Some(truth) = args.truth {
        let ports = Ports { http: args.listen.port(), https: args.tls_listen.port() };
        let mut world = World::new(settings, ports).map_err(|error| WrongUse(error.to_string()))?;
        if let (true, SocketAddr::V4(here)) = (args.one_address, args.listen) {
            world.one_address = Some(*here.ip());
        }
        tell(&world, truth, printer)?;
        return Ok(ExitCode::SUCCESS);
    }
    serve(args, settings, printer)
}

/// File first, then single values, then the options that have a name of their own.
fn settings(args: &Args) -> anyhow::Result<Settings> {
    let wrong = |error: simweb::SettingsError| WrongUse(error.to_string());
    let mut settings = if args.plain { Settings::plain() } else { Settings::default() };
    if let Some(file) = &args.settings {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let wrong = |error| WrongUse(format!("{}: {error}", file.display()));
        settings.set_from_toml(&text).map_err(wrong)?;
    }
    for assignment in &args.set {
        settings.set_from(assignment).map_err(wrong)?;
    }
    let named = [("sites", args.sites), ("pages", args.pages), ("seed", args.seed)];
    for (name, value) in named
        .into_iter()
        .filter_map(|(name, value)| Some((name, value? as f64)))
        .chain(args.clock.map(|clock| ("clock", clock)))
    {
        settings.set(name, value).map_err(wrong)?;
    }
    Ok(settings.checked().map_err(wrong)?)
}

fn serve(args: Args, mut settings: Settings, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let Args { listen: http, tls_listen: https, dns, log, ca, one_address, .. } = args;
    let endpoints = Endpoints { http, https, dns: Some(dns), log, one_address };
    // Nobody could ask for a log in memory here.
    settings.log_entries = 0;
    // Before anybody can know that there is something to end.
    let end = End::new()?;
    let web = SimWeb::start(settings, &endpoints).map_err(explained)?;
    if let Some(error) = &web.fallback {
        printer.complain(&format!(
            "all sites share {}: they cannot have addresses of their own ({error})",
            web.http.ip()
        ))?;
    }
    if let Some(file) = &ca {
        std::fs::write(file, &web.authority_pem)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    let log = endpoints.log;
    if printer.json() {
        printer.object(&started(&web, ca, log.clone()))?;
    } else {
        announce(&web, ca.as_deref(), log.as_deref(), printer)?;
    }
    printer.finish()?;
    end.wait();
    let log = log.unwrap_or_default();
    web.stop().with_context(|| format!("cannot write the request log {}", log.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Says what to do where the user can do something.
fn explained(error: StartError) -> anyhow::Error {
    match &error {
        StartError::Listen { service, source, .. } if source.kind() == ErrorKind::AddrInUse => {
            let option = match *service {
                "http" => "--listen",
                "https" => "--tls-listen",
                _ => "--dns",
            };
            let hint = format!("{error}; choose another port with {option}, or 0 for any free one");
            anyhow::anyhow!(hint)
        }
        StartError::NotLoopback(_) | StartError::Settings(_) => WrongUse(error.to_string()).into(),
        _ => error.into(),
    }
}

fn started(web: &SimWeb, ca: Option<PathBuf>, log: Option<PathBuf>) -> Started {
    let world = &web.world;
    Started {
        http: web.http,
        https: web.https,
        dns: web.dns,
        portal: world.url(PageRef { site: 0, page: 0 }),
        one_address: world.one_address.is_some(),
        seed: world.settings.seed,
        sites: world.settings.sites,
        ca,
        log,
    }
}

/// Says to people what runs where.
fn announce(
    web: &SimWeb,
    ca: Option<&Path>,
    log: Option<&Path>,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let (settings, port) = (&web.world.settings, web.http.port());
    let (sites, pages, seed) = (settings.sites, settings.pages, settings.seed);
    printer.line(&format!("A Web of {sites} sites and about {pages} pages from seed {seed}."))?;
    let own = web.world.one_address.is_none();
    let elsewhere = if own { " and one 127.x.y.z address for each site" } else { "" };
    let lines = [
        ("browse", Some(format!("http://{}/  (or http://NAME.test.localhost:{port}/)", web.http))),
        ("http", Some(format!("{}{elsewhere}", web.http))),
        ("https", Some(web.https.to_string())),
        ("dns", web.dns.map(|dns| format!("{dns}  (names below .test)"))),
        ("ca", ca.map(|file| file.display().to_string())),
        ("log", log.map(|file| file.display().to_string())),
        ("try", example(web)),
    ];
    for (name, value) in lines {
        let Some(value) = value else { continue };
        let name = printer.paint(Meaning::Aside, &format!("{name:<8}"));
        printer.line(&format!("{name} {value}"))?;
    }
    printer.line("Ctrl-C ends it.")
}

/// A command that asks a site by its real name.
fn example(web: &SimWeb) -> Option<String> {
    let (world, port) = (&web.world, web.http.port());
    let fits = |site: &u32| world.site_truth(*site).crawlable && !world.site(*site).https;
    let site = (1..world.settings.sites as u32).find(fits)?;
    let (name, address, url) = (world.name(site), world.address(site), world.url(PageRef { site, page: 0 }));
    Some(format!("curl --resolve {name}:{port}:{address} {url}"))
}

/// The wish of the user that a server ends: Ctrl-C, or the signal to terminate. Heeded from the moment this is made.
struct End {
    runtime: Runtime,
    signals: [Signal; 2],
}

impl End {
    fn new() -> anyhow::Result<End> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("cannot wait for signals")?;
        let guard = runtime.enter();
        let signals = [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?];
        drop(guard);
        Ok(End { runtime, signals })
    }

    /// A server that is asked to stop has done its job: that is no failure.
    fn wait(self) {
        let [mut interrupt, mut terminate] = self.signals;
        self.runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        });
    }
}

/// Tells one kind of truth, record by record.
fn tell(world: &World, truth: Truth, printer: &mut Printer) -> anyhow::Result<()> {
    if let Truth::Ranks = truth {
        return tell_ranks(world, printer);
    }
    for index in world.site_indexes() {
        match truth {
            Truth::Sites => tell_site(world, index, printer)?,
            // Names that the name server does not know are not known here either.
            Truth::Hosts if matches!(world.site(index).health, Health::Nameless | Health::ServFail) => {}
            Truth::Hosts => {
                let host = Host { name: world.name(index), address: world.address(index) };
                answer(printer, &host, || format!("{} {}", host.address, host.name))?;
            }
            _ => tell_pages(world, index, truth, printer)?,
        }
    }
    Ok(())
}

fn tell_site(world: &World, index: u32, printer: &mut Printer) -> anyhow::Result<()> {
    let site = world.site_truth(index);
    answer(printer, &site, || {
        format!(
            "{}\t{}\t{} pages\t{}\t{:?}\t{:?}",
            site.url,
            site.address,
            site.pages,
            site.language.code(),
            site.robots,
            site.health
        )
    })
}

fn tell_ranks(world: &World, printer: &mut Printer) -> anyhow::Result<()> {
    let ranks = world.page_ranks();
    for site in world.site_indexes() {
        for page in (0..world.site(site).pages).map(|page| PageRef { site, page }) {
            let rank = Rank { url: world.url(page), rank: ranks.of(page) };
            answer(printer, &rank, || format!("{}\t{:e}", rank.url, rank.rank))?;
        }
    }
    Ok(())
}

fn tell_pages(world: &World, index: u32, truth: Truth, printer: &mut Printer) -> anyhow::Result<()> {
    let site = world.site(index);
    for number in 0..site.pages {
        if let Truth::Links = truth {
            for link in world.links_truth(&site, number) {
                answer(printer, &link, || format!("{}\t{}\t{}", link.source, link.target, link.anchor))?;
            }
            continue;
        }
        let page = world.page_truth(&site, number);
        if let Truth::Pages = truth {
            let language = page.language.map_or("-", |language| language.code());
            answer(printer, &page, || format!("{}\t{}\t{}\t{language}", page.url, page.status, page.kind))?;
            continue;
        }
        let near = page.near_duplicate_of.map(|of| ("near", of, page.overlap.unwrap_or(1.0)));
        let exact = page.duplicate_of.map(|of| (if site.copy.is_some() { "copy" } else { "exact" }, of, 1.0));
        for (kind, of, overlap) in exact.into_iter().chain(near) {
            let duplicate = Duplicate { url: page.url.clone(), of, kind, overlap };
            answer(printer, &duplicate, || {
                format!("{}\t{kind}\t{overlap:.3}\t{}", duplicate.url, duplicate.of)
            })?;
        }
    }
    Ok(())
}

fn answer(
    printer: &mut Printer,
    object: &impl Serialize,
    line: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    if printer.json() { printer.object(object) } else { printer.line(&line()) }
}

#[derive(Serialize)]
struct Setting {
    name: &'static str,
    default: f64,
    meaning: &'static str,
}

fn list_settings(printer: &mut Printer) -> anyhow::Result<()> {
    for setting in Settings::all() {
        let simweb::SettingDoc { name, default, meaning } = setting;
        answer(printer, &Setting { name, default, meaning }, || {
            format!("{name:<22} {default:<10} {meaning}")
        })?;
    }
    Ok(())
}
