//! `weir demo`: a crawl of a synthetic Web that can be watched in a browser, a search in it and a report about it, all on this
//! machine, in half a minute.

use std::fs;
use std::io::{self, IsTerminal};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use crawl::{CrawlEnd, Helm};
use model::UrlRules;
use simweb::{Endpoints, PageRef, SimWeb};
use web::Serving;

use super::crawl::{MannerArgs, Plan};
use super::serve::Ending;
use super::{crawl as crawl_command, init, report, search};
use crate::door::Door;
use crate::failure::WrongUse;
use crate::printer::{Meaning, Printer};
use crate::settings::Settings;
use crate::steering;

const EXAMPLES: &str = "\
Examples:
  weir demo
  weir demo /tmp/demo --pages 20000 --sites 500

Nothing leaves this machine: the pages are made up on the fly and served on loopback addresses.
The address of a dashboard is told; on a terminal it stays there until Ctrl-C. A demo that is
there already is replaced.";

/// Crawl a synthetic Web on this machine, to see what there is to see.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder of the collection.
    #[arg(default_value = "weir-demo")]
    dir: PathBuf,

    /// How many sites the Web has.
    #[arg(long, value_name = "N", default_value_t = 200)]
    sites: u64,

    /// About how many pages they have together.
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    pages: u64,

    /// Do not show it in a browser, neither meanwhile nor afterwards.
    #[arg(long)]
    no_serve: bool,

    #[command(flatten)]
    manner: MannerArgs,
}

/// A file by which a demo is known for one, so that nothing else is ever replaced.
const MARK: &str = "demo";
/// The certificate of the authority that signs for the synthetic sites, in the collection's folder.
const AUTHORITY: &str = "authority.pem";
/// Some synthetic sites are endless.
const PAGES_PER_SITE: u32 = 500;
/// Some synthetic servers never answer; nobody wants to wait for all of them.
const LONGEST: Duration = Duration::from_secs(22);
/// Words of the synthetic Web's English, and how many pages are shown that have them.
const QUERY: &str = "journey OR passport";
const HITS: usize = 3;

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    make_room(&args.dir)?;
    let web = start(args)?;
    let settings = settings(&web)?;
    let portal = UrlRules::default().canonical(&web.world.url(PageRef { site: 0, page: 0 }))?;
    if !printer.json() {
        printer.line(&format!("A synthetic Web of {} sites, from {portal} on:", args.sites))?;
        printer.finish()?;
    }
    let mut collection = init::make(&args.dir, &settings, std::slice::from_ref(&portal))?;
    for (name, text) in [(MARK, ""), (AUTHORITY, web.authority_pem.as_str())] {
        let path = args.dir.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let end = CrawlEnd { duration: Some(LONGEST), ..CrawlEnd::default() };
    let helm = Helm::new(settings.crawl_settings(&args.dir)?);
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let show = || crawl_command::show(&args.dir, &settings, &helm, listen, Door::default());
    let serving = (!args.no_serve).then(show).transpose()?;
    let plan =
        Plan { settings: &settings, helm: &helm, end, manner: &args.manner, index: true, elsewhere: None };
    let (_, interrupted) = crawl_command::crawl_on(&mut collection, &plan, printer)?;
    web.stop().context("cannot end the synthetic Web")?;
    let report = report::describe(&args.dir, &args.dir.join("report"))?;
    // The words of links are known now.
    let go_on = &mut |_| std::ops::ControlFlow::Continue(());
    ::search::index(&store::Snapshot::open(&args.dir, None)?, &settings.index_settings()?, go_on)?;
    if !printer.json() {
        printer.line(&format!("described in {}", report.display()))?;
        printer.line(&format!("\n`weir search {} '{QUERY}'` finds:", args.dir.display()))?;
        search::run(&search::Args::best(&args.dir, QUERY, HITS), printer)?;
        what_next(&args.dir, portal.as_str(), printer)?;
        if let Some(serving) = serving.filter(|_| !interrupted && io::stdout().is_terminal()) {
            stay(serving, printer)?;
        }
    }
    Ok(steering::exit_code(interrupted))
}

/// Shows the collection until somebody has seen enough.
fn stay(serving: Serving, printer: &mut Printer) -> anyhow::Result<()> {
    let ending = Ending::listen()?;
    printer.line(&format!("\nIn a browser: {}/  (until Ctrl-C)", serving.url()))?;
    printer.finish()?;
    ending.wait();
    serving.stop();
    Ok(())
}

/// Removes a former demo, and nothing else.
fn make_room(folder: &Path) -> anyhow::Result<()> {
    let is_empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => return Err(WrongUse(format!("cannot read {}: {error}", folder.display())).into()),
    };
    if is_empty {
        return Ok(());
    }
    if !folder.join(MARK).exists() {
        let sentence = format!("{} is there and is no demo; name another folder", folder.display());
        return Err(WrongUse(sentence).into());
    }
    fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))
}

fn start(args: &Args) -> anyhow::Result<SimWeb> {
    let wrong = |error: simweb::SettingsError| WrongUse(error.to_string());
    let mut web = simweb::Settings::default();
    // Its slowest servers are no fun to watch: a single one with some pages would take longer than all others together.
    let hurried = [("slow_ms", 100), ("retry_after_s", 1), ("dripping", 0), ("log_entries", 0)];
    for (name, value) in hurried.into_iter().chain([("sites", args.sites), ("pages", args.pages)]) {
        web.set(name, value as f64).map_err(wrong)?;
    }
    let web = web.checked().map_err(wrong)?;
    Ok(SimWeb::start(web, &Endpoints::default())?)
}

/// Short waits, which only servers of one's own may be asked to bear, and addresses that only this machine has.
fn settings(web: &SimWeb) -> anyhow::Result<Settings> {
    let dns = web.dns.context("the synthetic Web has no name server")?;
    let text = format!(
        "[crawl]\nlongest_pause = \"1s\"\n\
         [scope]\naccept = [\".test\"]\n\
         [limits]\npages_per_site = {PAGES_PER_SITE}\n\
         [politeness]\nwait = \"20ms\"\nlarge_site_wait = \"10ms\"\nmost_crawl_delay = \"100ms\"\nback_off = \"200ms\"\n\
         most_back_off = \"1h\"\nmost_retry_after = \"2s\"\npage_retry = \"500ms\"\nmost_page_retry = \"1h\"\n\
         [fetch]\nconnect_timeout = \"1s\"\nfirst_byte_timeout = \"1s\"\ntotal_timeout = \"3s\"\nroots = \"{AUTHORITY}\"\n\
         [dns]\nservers = [\"{dns}\"]\n\
         [network]\nallowed = [\"127.0.0.0/8\"]\n\
         [commit]\ninterval = \"2s\"\n"
    );
    Ok(Settings::parse(&text).map_err(WrongUse)?)
}

fn what_next(folder: &Path, portal: &str, printer: &mut Printer) -> anyhow::Result<()> {
    let folder = folder.display();
    printer.line("\nWhat to look at next:")?;
    let commands = [
        (format!("weir serve {folder}"), "search page and dashboard in a browser"),
        (format!("weir status {folder}"), "what is there, and why pages are missing"),
        (format!("weir sites {folder} --top 10"), "the largest sites"),
        (format!("weir why {folder} {portal}"), "the story of a page"),
        (format!("weir analyze {folder}"), "ranks and structure of its link graph"),
        (format!("weir similar {folder} {portal}"), "pages that are like one"),
        (format!("weir simulate {folder} --out {folder}-lab"), "other orders of this crawl, compared"),
        (format!("weir check {folder}"), "read everything back"),
        (format!("weir export {folder} --to mirror {folder}-files"), "the pages as files"),
        (format!("less {folder}/weir.toml"), "the settings, each with its meaning"),
    ];
    let width = commands.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    for (command, aside) in &commands {
        printer.line(&format!("  {command:width$}  {}", printer.paint(Meaning::Aside, aside)))?;
    }
    Ok(())
}
