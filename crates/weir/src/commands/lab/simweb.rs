//! `weir simweb`: server of a synthetic Web, and its ground truth.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use serde::Serialize;
use simweb::{Endpoints, Health, PageRef, Ports, Settings, SimWeb, StartError, World};

use crate::exit::UsageError;
use crate::output::{Printer, TextStyle};
use crate::signals::BlockingShutdownSignal;

/// Serve a synthetic Web on loopback, deterministic from a seed, with faults and ground truth.
///
/// Every site has its own IP address in 127.0.0.0/8 and a host name below `test`, which the built-in DNS server resolves.
/// Browsers and curl also reach a site at `http://NAME.test.localhost:PORT/`. Stop with Ctrl-C (exit code 0).
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of sites [default: 100].
    #[arg(long, value_name = "N")]
    sites: Option<u64>,

    /// Approximate number of pages [default: 10000].
    #[arg(long, value_name = "N")]
    pages: Option<u64>,

    /// Random seed [default: 1].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// HTTP address; port 0 picks a free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// HTTPS address.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8443")]
    tls_listen: SocketAddr,

    /// DNS address.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8053")]
    dns: SocketAddr,

    /// Speed of page changes relative to real time, 0 = frozen [default: 1].
    #[arg(long, value_name = "FACTOR")]
    clock_speed: Option<f64>,

    /// Set one setting (see --list-settings); repeatable.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,

    /// Read settings from a TOML file; other options override it.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,

    /// Disable all faults and features, except those that other options or --set enable.
    #[arg(long)]
    plain: bool,

    /// Serve all sites on the address of --listen.
    #[arg(long)]
    single_ip: bool,

    /// Write the CA certificate (PEM).
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// Write the request log (JSON lines).
    #[arg(long, value_name = "FILE")]
    request_log: Option<PathBuf>,

    /// Print ground truth instead of serving.
    #[arg(long, value_name = "WHAT")]
    ground_truth: Option<GroundTruthKind>,

    /// List settings with defaults.
    #[arg(long)]
    list_settings: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum GroundTruthKind {
    /// Every site.
    Sites,
    /// Every page.
    Pages,
    /// Every link.
    Links,
    /// Every exact or near duplicate.
    Duplicates,
    /// PageRank of every page (16 bytes of memory per page).
    Ranks,
    /// IP address of every host, as lines of a hosts file.
    Hosts,
}

/// JSON output: addresses of the server.
#[derive(Serialize)]
struct Started {
    http: SocketAddr,
    https: SocketAddr,
    dns: Option<SocketAddr>,
    portal_url: String,
    single_ip: bool,
    seed: u64,
    sites: u64,
    ca_file: Option<PathBuf>,
    request_log: Option<PathBuf>,
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
    ip_address: std::net::Ipv4Addr,
}

pub(crate) fn run(args: Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    if args.list_settings {
        list_settings(printer)?;
        return Ok(ExitCode::SUCCESS);
    }
    let settings = settings(&args)?;
    if let Some(truth) = args.ground_truth {
        let ports = Ports { http: args.listen.port(), https: args.tls_listen.port() };
        let mut world = World::new(settings, ports).map_err(|error| UsageError(error.to_string()))?;
        if let (true, SocketAddr::V4(here)) = (args.single_ip, args.listen) {
            world.single_ip = Some(*here.ip());
        }
        print_ground_truth(&world, truth, printer)?;
        return Ok(ExitCode::SUCCESS);
    }
    serve(args, settings, printer)
}

/// Settings of the file, then of `--set`, then of the named options.
fn settings(args: &Args) -> anyhow::Result<Settings> {
    let wrong = |error: simweb::SettingsError| UsageError(error.to_string());
    let mut settings = if args.plain { Settings::plain() } else { Settings::default() };
    if let Some(file) = &args.settings {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let wrong = |error| UsageError(format!("{}: {error}", file.display()));
        settings.set_from_toml(&text).map_err(wrong)?;
    }
    for assignment in &args.set {
        settings.set_from(assignment).map_err(wrong)?;
    }
    let named = [("sites", args.sites), ("pages", args.pages), ("seed", args.seed)];
    for (name, value) in named
        .into_iter()
        .filter_map(|(name, value)| Some((name, value? as f64)))
        .chain(args.clock_speed.map(|clock| ("clock", clock)))
    {
        settings.set(name, value).map_err(wrong)?;
    }
    Ok(settings.checked().map_err(wrong)?)
}

fn serve(args: Args, mut settings: Settings, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let Args { listen: http, tls_listen: https, dns, request_log, ca_file, single_ip, .. } = args;
    let endpoints = Endpoints { http, https, dns: Some(dns), log: request_log, single_ip };
    // The log in memory can be read only by programs that embed simweb.
    settings.max_log_entries = 0;
    // Before the addresses are printed, so that no signal is missed.
    let signal = BlockingShutdownSignal::listen()?;
    let web = SimWeb::start(settings, &endpoints).map_err(with_hint)?;
    if let Some(error) = &web.fallback {
        printer.warn(&format!(
            "all sites share {}: cannot bind an IP address per site ({error})",
            web.http.ip()
        ))?;
    }
    if let Some(file) = &ca_file {
        std::fs::write(file, &web.authority_pem)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    let log = endpoints.log;
    if printer.json() {
        printer.object(&started(&web, ca_file, log.clone()))?;
    } else {
        print_started(&web, ca_file.as_deref(), log.as_deref(), printer)?;
    }
    printer.finish()?;
    signal.wait();
    let log = log.unwrap_or_default();
    web.stop().with_context(|| format!("cannot write the request log {}", log.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Adds a hint to errors that the user can fix.
fn with_hint(error: StartError) -> anyhow::Error {
    match &error {
        StartError::Listen { service, source, .. } if source.kind() == ErrorKind::AddrInUse => {
            let option = match *service {
                "http" => "--listen",
                "https" => "--tls-listen",
                _ => "--dns",
            };
            let hint = format!("{error}; use another port with {option}, or port 0 for a free one");
            anyhow::anyhow!(hint)
        }
        StartError::NotLoopback(_) | StartError::Settings(_) => UsageError(error.to_string()).into(),
        _ => error.into(),
    }
}

fn started(web: &SimWeb, ca: Option<PathBuf>, log: Option<PathBuf>) -> Started {
    let world = &web.world;
    Started {
        http: web.http,
        https: web.https,
        dns: web.dns,
        portal_url: world.url(PageRef { site: 0, page: 0 }),
        single_ip: world.single_ip.is_some(),
        seed: world.settings.seed,
        sites: world.settings.sites,
        ca_file: ca,
        request_log: log,
    }
}

/// Prints the addresses as text.
fn print_started(
    web: &SimWeb,
    ca: Option<&Path>,
    log: Option<&Path>,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let (settings, port) = (&web.world.settings, web.http.port());
    let (sites, pages, seed) = (settings.sites, settings.pages, settings.seed);
    printer.line(&format!("synthetic Web: {sites} sites, about {pages} pages, seed {seed}"))?;
    let has_ips = web.world.single_ip.is_none();
    let ips = if has_ips { " and one IP address in 127.0.0.0/8 per site" } else { "" };
    let lines = [
        ("browse", Some(format!("http://{}/  (or http://NAME.test.localhost:{port}/)", web.http))),
        ("http", Some(format!("{}{ips}", web.http))),
        ("https", Some(web.https.to_string())),
        ("dns", web.dns.map(|dns| format!("{dns}  (names below .test)"))),
        ("ca", ca.map(|file| file.display().to_string())),
        ("log", log.map(|file| file.display().to_string())),
        ("try", example(web)),
    ];
    for (name, value) in lines {
        let Some(value) = value else { continue };
        let name = printer.style(TextStyle::Dim, &format!("{name:<8}"));
        printer.line(&format!("{name} {value}"))?;
    }
    printer.line("stop with Ctrl-C")
}

/// curl command for a site by its host name.
fn example(web: &SimWeb) -> Option<String> {
    let (world, port) = (&web.world, web.http.port());
    let fits = |site: &u32| world.site_ground_truth(*site).crawlable && !world.site(*site).https;
    let site = (1..world.settings.sites as u32).find(fits)?;
    let (name, address, url) =
        (world.name(site), world.ip_address(site), world.url(PageRef { site, page: 0 }));
    Some(format!("curl --resolve {name}:{port}:{address} {url}"))
}

/// Prints one kind of ground truth, one record per line.
fn print_ground_truth(world: &World, truth: GroundTruthKind, printer: &mut Printer) -> anyhow::Result<()> {
    if let GroundTruthKind::Ranks = truth {
        return print_ranks(world, printer);
    }
    for index in world.site_indexes() {
        match truth {
            GroundTruthKind::Sites => print_site(world, index, printer)?,
            // Names that the DNS server does not resolve have no entry.
            GroundTruthKind::Hosts
                if matches!(world.site(index).health, Health::NxDomain | Health::ServFail) => {}
            GroundTruthKind::Hosts => {
                let host = Host { name: world.name(index), ip_address: world.ip_address(index) };
                print_record(printer, &host, || format!("{} {}", host.ip_address, host.name))?;
            }
            _ => print_pages(world, index, truth, printer)?,
        }
    }
    Ok(())
}

fn print_site(world: &World, index: u32, printer: &mut Printer) -> anyhow::Result<()> {
    let site = world.site_ground_truth(index);
    print_record(printer, &site, || {
        format!(
            "{}\t{}\t{} pages\t{}\t{:?}\t{:?}",
            site.url,
            site.ip_address,
            site.pages,
            site.language.code(),
            site.robots,
            site.health
        )
    })
}

fn print_ranks(world: &World, printer: &mut Printer) -> anyhow::Result<()> {
    let ranks = world.page_ranks();
    for site in world.site_indexes() {
        for page in (0..world.site(site).pages).map(|page| PageRef { site, page }) {
            let rank = Rank { url: world.url(page), rank: ranks.get(page) };
            print_record(printer, &rank, || format!("{}\t{:e}", rank.url, rank.rank))?;
        }
    }
    Ok(())
}

fn print_pages(
    world: &World,
    index: u32,
    truth: GroundTruthKind,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let site = world.site(index);
    for number in 0..site.pages {
        if let GroundTruthKind::Links = truth {
            for link in world.links_ground_truth(&site, number) {
                print_record(printer, &link, || {
                    format!("{}\t{}\t{}", link.source, link.target, link.anchor)
                })?;
            }
            continue;
        }
        let page = world.page_ground_truth(&site, number);
        if let GroundTruthKind::Pages = truth {
            let language = page.language.map_or("-", |language| language.code());
            print_record(printer, &page, || {
                format!("{}\t{}\t{}\t{language}", page.url, page.status, page.kind)
            })?;
            continue;
        }
        let near = page.near_duplicate_of.map(|of| ("near", of, page.overlap.unwrap_or(1.0)));
        let exact =
            page.duplicate_of.map(|of| (if site.replica.is_some() { "replica" } else { "exact" }, of, 1.0));
        for (kind, of, overlap) in exact.into_iter().chain(near) {
            let duplicate = Duplicate { url: page.url.clone(), of, kind, overlap };
            print_record(printer, &duplicate, || {
                format!("{}\t{kind}\t{overlap:.3}\t{}", duplicate.url, duplicate.of)
            })?;
        }
    }
    Ok(())
}

/// Prints an object as JSON or as text.
fn print_record(
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
        print_record(printer, &Setting { name, default, meaning }, || {
            format!("{name:<22} {default:<10} {meaning}")
        })?;
    }
    Ok(())
}
