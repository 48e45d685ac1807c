//! `weir crawl`: fetches, reads and keeps pages until there is nothing left to fetch, or until it is told to stop.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crawl::{Carriers, CrawlEnd, CrawlSettings, CrawlSummary, FolderBroker, Helm, Status};
use model::{CanonicalUrl, PageId, Reason};
use serde::Serialize;
use store::{Collection, Column, PageFlags, Snapshot};
use web::{Server, Serving};

use super::status;
use crate::carriers::{self, CarrierArgs, LendingArgs};
use crate::door::{Door, DoorArgs};
use crate::failure::WrongUse;
use crate::index_keeper::IndexKeeper;
use crate::local_workers::LocalWorkers;
use crate::printer::{Meaning, Printer};
use crate::progress::Style;
use crate::settings::{self, Settings};
use crate::words::{count, counted, duration, rate, size, time};
use crate::{process, steering};

const EXAMPLES: &str = "\
Examples:
  weir crawl web                 until nothing is left
  weir crawl web --for 2h        a part of it; the next start goes on from there
  weir crawl web --pages 1000 --json
  weir crawl web --continuous    for months; see crawl.requests_per_day in weir.toml
  weir crawl web --workers local:4    other processes fetch; for other machines see docs/cluster.md
  weir crawl web --index --serve 127.0.0.1:9347    search it and steer it in a browser meanwhile

Ctrl-C (or SIGTERM) stops in order: requests under way are waited for, and everything is kept.
A second one stops at once. Either way nothing that was committed is lost, and the exit code
is 130. SIGHUP lets it read weir.toml again.";

/// Fetch pages, politely, and follow their links.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,

    #[command(flatten)]
    end: EndArgs,

    #[command(flatten)]
    manner: MannerArgs,

    /// Let other processes fetch: local:4 starts four on this machine, local:0 leaves it to you to start `weir worker`.
    #[arg(long, value_name = "local:N", conflicts_with = "broker", value_parser = local_workers)]
    workers: Option<u16>,

    /// Keep the text index up to date meanwhile, for `weir search`.
    #[arg(long)]
    index: bool,

    /// Show it in a browser at this address while it goes on; port 0 takes one that is free.
    #[arg(long, value_name = "ADDR")]
    serve: Option<SocketAddr>,

    #[command(flatten)]
    door: DoorArgs,

    #[command(flatten)]
    carriers: CarrierArgs,

    #[command(flatten)]
    lending: LendingArgs,
}

/// When to stop.
#[derive(clap::Args)]
pub(crate) struct EndArgs {
    /// Stop after so many batches of pages.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    cycles: Option<u64>,

    /// Stop after so many pages.
    #[arg(long, value_name = "N")]
    pages: Option<u64>,

    /// Stop after this time: 90s, 30m, 2h.
    #[arg(long = "for", value_name = "TIME", value_parser = settings::word::<Duration>)]
    duration: Option<Duration>,

    /// Never stop by itself: wait when nothing is due, and visit pages again to keep the collection fresh.
    #[arg(long)]
    continuous: bool,
}

/// How to go about it.
#[derive(clap::Args)]
pub(crate) struct MannerArgs {
    /// Your web page or mail address, instead of that in weir.toml.
    #[arg(long, value_name = "URL|MAIL", value_parser = settings::checked_contact)]
    pub(crate) contact: Option<String>,

    /// Show progress on stderr even with --json.
    #[arg(long)]
    pub(crate) progress: bool,
}

impl EndArgs {
    fn end(&self) -> CrawlEnd {
        CrawlEnd {
            cycles: self.cycles,
            pages: self.pages,
            duration: self.duration,
            continuous: self.continuous,
        }
    }
}

/// Scripts rely on the names.
#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    status: Status,
    seconds: f64,
    cpu_seconds: f64,
    /// Of this run.
    pages_per_second: f64,
    /// Pages that this run fetched.
    pages_now: u64,
    /// Whether it was stopped before it was done.
    stopped: bool,
    /// When the next page is due, in Unix milliseconds.
    next_due_ms: Option<u64>,
    /// Pages in the text index, where that was kept up to date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pages_indexed: Option<u64>,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    if let (None, Some(given)) = (args.serve, args.door.given()) {
        return Err(WrongUse(format!("{given} is for --serve ADDR; give that, too")).into());
    }
    let settings = load(&args.dir, &args.manner)?;
    let mut collection = Collection::open(&args.dir, settings.store_settings())?;
    settings.require_contact(&seeds(&collection, &settings)?, &args.dir.join(settings::FILE))?;
    let helm = Helm::new(settings.crawl_settings(&args.dir)?);
    let door = args.door.read()?;
    // Until the end of this function, whatever happens.
    let _serving = args.serve.map(|listen| show(&args.dir, &settings, &helm, listen, door)).transpose()?;
    let elsewhere = args.elsewhere(&settings)?;
    let local = args.workers.unwrap_or(0);
    let lent = batches_with_workers(&args.dir);
    if elsewhere.is_none() && lent > 0 {
        writeln!(io::stderr(), "{}", left_alone(lent))?;
    }
    if elsewhere.is_some() && local == 0 {
        writeln!(io::stderr(), "pages are fetched by workers; start some by `{}`", args.worker_command())?;
    }
    let _workers = (local > 0).then(|| LocalWorkers::start(&args.dir, local)).transpose()?;
    let plan = Plan {
        settings: &settings,
        helm: &helm,
        end: args.end.end(),
        manner: &args.manner,
        index: args.index,
        elsewhere: elsewhere.as_ref(),
    };
    let (summary, interrupted) = crawl_on(&mut collection, &plan, printer)?;
    if !printer.json() {
        let next = what_next(&args.dir, &summary, crawl::open_batches(&args.dir)?.len());
        printer.line(&printer.paint(Meaning::Aside, &next))?;
    }
    Ok(steering::exit_code(interrupted))
}

impl Args {
    /// What to type to start one.
    fn worker_command(&self) -> String {
        let CarrierArgs { broker, store, collection, .. } = &self.carriers;
        let (Some(broker), Some(store)) = (broker, store) else {
            return format!("weir worker --for {}", self.dir.display());
        };
        let name = collection.clone().unwrap_or_else(|| carriers::name_of(&self.dir));
        format!("weir worker --broker {broker} --store {store} --collection {name}")
    }

    /// The way to workers, if they are to fetch.
    fn elsewhere(&self, settings: &Settings) -> anyhow::Result<Option<Elsewhere>> {
        let connected = match (self.workers, &self.carriers.broker) {
            (None, None) => return Ok(None),
            (_, Some(_)) => {
                carriers::connect(&self.carriers, carriers::Role::Collection(&self.dir, &self.lending))?
            }
            (Some(_), None) => carriers::meet_in_folder(&self.dir, FolderBroker::of_collection)?,
        };
        let settings = Arc::new(Mutex::new(settings.to_toml()));
        let text = Arc::clone(&settings);
        let carriers = Carriers {
            broker: connected.broker,
            depot: connected.depot,
            settings: Arc::new(move || text.lock().unwrap_or_else(PoisonError::into_inner).clone()),
            patience: self.lending.lease * 2,
        };
        Ok(Some(Elsewhere { carriers, settings }))
    }
}

/// `local:4`.
fn local_workers(text: &str) -> Result<u16, String> {
    let count =
        text.strip_prefix("local:").and_then(|count| count.parse().ok()).filter(|count| *count <= 256);
    count.ok_or_else(|| {
        "write local:N, N workers on this machine, at most 256; for others see --broker".to_owned()
    })
}

/// How many batches workers have, or had when the crawl was killed.
fn batches_with_workers(folder: &Path) -> usize {
    std::fs::read_dir(folder.join("lent")).map_or(0, Iterator::count)
}

fn left_alone(batches: usize) -> String {
    let word = if batches == 1 { "batch" } else { "batches" };
    format!(
        "the sites of {batches} open {word} are left alone, for workers may have them: crawl with --workers or --broker as before"
    )
}

fn what_next(folder: &Path, summary: &CrawlSummary, lent: usize) -> String {
    if lent > 0 {
        let batches = if lent == 1 { "batch" } else { "batches" };
        return format!(
            "the sites of {lent} open {batches} were left alone: `weir harvester {0}` and `weir gatherer {0}` go on with them",
            folder.display()
        );
    }
    let with_workers = batches_with_workers(folder);
    if with_workers > 0 {
        return left_alone(with_workers);
    }
    match (summary.stopped, summary.next_due_ms) {
        (true, _) => format!(
            "stopped before it was done; `weir crawl {}` goes on, with the same options",
            folder.display()
        ),
        (false, Some(due_ms)) => {
            format!("nothing is left for now; the next page is due at {}", time(due_ms as i64))
        }
        (false, None) => "nothing is left to fetch".to_owned(),
    }
}

/// The settings of a collection, with what the command line says.
pub(crate) fn load(folder: &Path, manner: &MannerArgs) -> anyhow::Result<Settings> {
    let mut settings = Settings::load(folder)?;
    if let Some(contact) = &manner.contact {
        settings.crawl.contact.clone_from(contact);
    }
    Ok(settings)
}

/// Shows a crawl that is about to begin in browsers, on a thread of its own, and tells where.
pub(crate) fn show(
    folder: &Path,
    settings: &Settings,
    helm: &Helm,
    listen: SocketAddr,
    door: Door,
) -> anyhow::Result<Serving> {
    let settings = settings.web_settings(folder, listen, door)?;
    let serving = Server::bind(settings, Some(helm.clone()))?.start()?;
    let steered_at = match serving.login_url() {
        Some(url) => url.to_owned(),
        None => format!("{}/dashboard", serving.url()),
    };
    writeln!(io::stderr(), "watch and steer it at {steered_at}")?;
    Ok(serving)
}

/// A crawl to be made.
pub(crate) struct Plan<'p> {
    pub(crate) settings: &'p Settings,
    pub(crate) helm: &'p Helm,
    pub(crate) end: CrawlEnd,
    pub(crate) manner: &'p MannerArgs,
    /// Whether the text index is kept up to date.
    pub(crate) index: bool,
    /// Those who are to fetch, if this process is not.
    pub(crate) elsewhere: Option<&'p Elsewhere>,
}

/// The way to workers, and the settings for them.
pub(crate) struct Elsewhere {
    carriers: Carriers,
    settings: Arc<Mutex<String>>,
}

/// Crawls, shows how it goes, and tells what came of it, and whether it was interrupted.
pub(crate) fn crawl_on(
    collection: &mut Collection,
    plan: &Plan<'_>,
    printer: &mut Printer,
) -> anyhow::Result<(CrawlSummary, bool)> {
    let Plan { settings, helm, end, manner, index, elsewhere } = *plan;
    let folder = collection.folder().to_owned();
    let style = Style::choose(printer.json(), manner.progress);
    let cpu_before = process::cpu_seconds();
    let reload = || {
        let read = || {
            let new = load(&folder, manner)?;
            let typed = new.crawl_settings(&folder)?;
            crawl::check_ranks(&folder, &typed)?;
            if let Some(elsewhere) = elsewhere {
                *elsewhere.settings.lock().unwrap_or_else(PoisonError::into_inner) = new.to_toml();
            }
            Ok((typed, new))
        };
        reload(settings, read(), helm)
    };
    let ((summary, indexed), interrupted) = steering::steer(helm, style, reload, |teller| {
        let mut crawl = || match elsewhere {
            Some(elsewhere) => crawl::crawl_by_workers(collection, helm, end, &elsewhere.carriers),
            None => crawl::crawl(collection, helm, end),
        };
        if !index {
            return Ok((crawl()?, None));
        }
        let keeper = IndexKeeper::new(&folder, settings, helm, teller)?;
        let (crawled, indexed) = keeper.keep_during(crawl);
        Ok((crawled?, indexed))
    })?;
    let indexed = indexed.map(|indexed| indexed.pages);
    answer(&folder, &summary, process::cpu_seconds() - cpu_before, indexed, printer)?;
    Ok((summary, interrupted))
}

/// Lets a crawl take new settings; says what it took.
pub(crate) fn reload(old: &Settings, read: anyhow::Result<(CrawlSettings, Settings)>, helm: &Helm) -> String {
    let (typed, new) = match read {
        Ok(read) => read,
        Err(error) => return format!("the settings stay as they are: {error:#}"),
    };
    helm.change(typed);
    let changes = old.changes(&new);
    let names = |at_once| {
        let names = changes.iter().filter(|(_, holds)| *holds == at_once).map(|(name, _)| name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    match (names(true), names(false)) {
        (now, later) if now.is_empty() && later.is_empty() => {
            "the settings are those of the start".to_owned()
        }
        (now, later) if later.is_empty() => format!("new settings hold from now on: {now}"),
        (now, later) if now.is_empty() => format!("new settings hold from the next start on: {later}"),
        (now, later) => format!("new settings hold from now on: {now}; from the next start on: {later}"),
    }
}

/// The pages that the user named.
pub(crate) fn seeds(collection: &Collection, settings: &Settings) -> anyhow::Result<Vec<CanonicalUrl>> {
    let parts = collection.pages.reader().scan(&[Column::Marks], |seeds: &mut Vec<PageId>, row| {
        if row.flags.has(PageFlags::SEED) {
            seeds.push(row.page);
        }
    })?;
    let urls = collection.urls.known().urls(&parts.concat())?;
    let rules = settings.url_rules();
    Ok(urls.into_iter().flatten().filter_map(|url| rules.canonical(&url).ok()).collect())
}

fn answer(
    folder: &Path,
    summary: &CrawlSummary,
    cpu_seconds: f64,
    pages_indexed: Option<u64>,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let status = Status::of(&Snapshot::open(folder, None)?, process::now_ms())?;
    let seconds = summary.duration.as_secs_f64();
    let pages_now = summary.progress.pages;
    let pages_per_second = pages_now as f64 / seconds.max(0.001);
    let CrawlSummary { stopped, next_due_ms, progress, .. } = *summary;
    if printer.json() {
        let answer = Answer {
            status,
            seconds,
            cpu_seconds,
            pages_per_second,
            pages_now,
            stopped,
            next_due_ms,
            pages_indexed,
        };
        return printer.object(&answer);
    }
    printer.line(&format!(
        "{} in {}: {}, {}, {}; {} pages/s, {cpu_seconds:.1} CPU seconds",
        counted(pages_now, "page"),
        duration(seconds.round() as u64),
        size(progress.bytes),
        counted(progress.links, "link"),
        counted(progress.errors, "failed visit"),
        rate(pages_per_second),
    ))?;
    printer.line(&format!(
        "{} known on {}: {}",
        counted(status.pages_known, "page"),
        counted(status.sites, "site"),
        status::parts(&status)
    ))?;
    if let Some(pages) = pages_indexed {
        printer.line(&format!("{} in the text index", counted(pages, "page")))?;
    }
    match one_cause(&status, pages_now) {
        Some(sentence) => printer.complain(&sentence),
        None => Ok(()),
    }
}

/// A sentence if nothing was fetched at all, and nearly all pages have the same reason.
fn one_cause(status: &Status, pages_now: u64) -> Option<String> {
    let (name, pages) = status.reasons.iter().max_by_key(|(_, pages)| **pages)?;
    let reason = Reason::all().find(|reason| reason.as_str() == *name)?;
    if pages_now > 0 || pages * 10 < status.pages_known * 9 {
        return None;
    }
    let advice = match reason {
        Reason::NameNotFound | Reason::NameServerFailed => {
            "; are the seeds right, can this machine resolve names, and is [dns] servers in weir.toml?"
        }
        Reason::ConnectFailed | Reason::ConnectTimedOut => "; can this machine reach them?",
        Reason::BlockedAddress => "; see [network] in weir.toml",
        Reason::Certificate => "; see [fetch] in weir.toml for how to trust it",
        _ => "",
    };
    Some(format!(
        "nothing was fetched, and for {} of {} the reason is one: {reason}{advice}",
        count(*pages),
        counted(status.pages_known, "page")
    ))
}
