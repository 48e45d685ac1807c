//! `weir status`: how far a crawl has come, by its last commit.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use crawl::{Robots, RobotsCopy};
use model::Reason;
use serde::Serialize;
use store::{Column, SiteRecord, Snapshot, Stage};

use crate::printer::{Meaning, Printer};
use crate::words::{count, size, time};

const EXAMPLES: &str = "\
Examples:
  weir status crawl
  weir status crawl --json | jq .pages_fetched

It reads the last commit, and may be asked while a crawl goes on.";

/// Tell how much a collection holds.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,

    /// A snapshot by its name or generation, instead of the last commit.
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,
}

/// Scripts rely on the names.
#[derive(Serialize, Default)]
pub(crate) struct Answer {
    /// Whose URL is known.
    pub(crate) pages_known: u64,
    /// Whose last visit brought content.
    pub(crate) pages_fetched: u64,
    /// In a batch that is not finished.
    pages_queued: u64,
    pub(crate) sites: u64,
    /// Of the page files.
    bytes: u64,
    /// Rows of the table of links.
    links: u64,
    /// Pages whose last visit brought nothing.
    errors: u64,
    /// Pages that are not to be visited.
    pages_rejected: u64,
    /// Pages that wait to be chosen.
    pages_new: u64,
    /// Of the crawl that was just made; 0 if none was.
    pub(crate) cycle: u64,
    generation: u64,
    committed_ms: i64,
    /// Of all files of the commit.
    disk_bytes: u64,
    files: u64,
    /// Pages that were rejected or brought nothing, by reason.
    pub(crate) reasons: BTreeMap<&'static str, u64>,
    #[serde(rename = "site_states")]
    states: SiteStates,
}

/// How many sites are in which state.
#[derive(Serialize, Default, Clone, Copy)]
struct SiteStates {
    /// With pages in a batch.
    queued: u64,
    /// Left alone after failures.
    backed_off: u64,
    /// Only another name of a site.
    aliases: u64,
    /// With rules in robots.txt, or an empty one.
    robots_rules: u64,
    /// Without a robots.txt, which allows everything.
    robots_none: u64,
    /// Whose robots.txt cannot be had, which forbids everything.
    robots_unreachable: u64,
    /// Whose robots.txt was not asked for.
    robots_unknown: u64,
}

/// What is known of a site's robots.txt.
#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RobotsKind {
    Unknown,
    Rules,
    None,
    Unreachable,
}

impl RobotsKind {
    pub(crate) fn of(site: &SiteRecord) -> RobotsKind {
        if site.robots_fetched_s == 0 {
            return RobotsKind::Unknown;
        }
        let copy =
            RobotsCopy { fetched_s: site.robots_fetched_s, status: site.robots_status, text: Vec::new() };
        match (Robots::of(&copy, ""), site.robots_status) {
            (Robots::Unreachable, _) => RobotsKind::Unreachable,
            (Robots::Rules(_), 200..300) => RobotsKind::Rules,
            (Robots::Rules(_), _) => RobotsKind::None,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            RobotsKind::Unknown => "unknown",
            RobotsKind::Rules => "rules",
            RobotsKind::None => "none",
            RobotsKind::Unreachable => "unreachable",
        }
    }
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let snapshot = Snapshot::open(&args.dir, args.snapshot.as_deref())?;
    let answer =
        look(&snapshot).with_context(|| format!("cannot tell the status of {}", args.dir.display()))?;
    if printer.json() {
        printer.object(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    printer.line(&args.dir.display().to_string())?;
    for (name, value) in lines(&answer) {
        let name = printer.paint(Meaning::Aside, &format!("{name:8}"));
        printer.line(&format!("  {name}  {value}"))?;
    }
    if !answer.reasons.is_empty() {
        printer.line("pages that were not fetched, or not with success")?;
    }
    let mut reasons: Vec<(&&str, &u64)> = answer.reasons.iter().collect();
    reasons.sort_by_key(|(_, pages)| std::cmp::Reverse(**pages));
    for (name, pages) in reasons {
        let sentence = Reason::all().find(|reason| reason.as_str() == *name).map(|reason| reason.to_string());
        let aside = printer.paint(Meaning::Aside, &format!("{name:24}{}", sentence.unwrap_or_default()));
        printer.line(&format!("  {:>11}  {aside}", count(*pages)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn lines(answer: &Answer) -> Vec<(&'static str, String)> {
    let pages = format!("{} known: {}", count(answer.pages_known), answer.parts());
    let states = &answer.states;
    let sites = format!(
        "{}, {} with queued pages, {} left alone after failures, {} only other names",
        count(answer.sites),
        count(states.queued),
        count(states.backed_off),
        count(states.aliases),
    );
    let robots = format!(
        "{} with rules, {} without, {} out of reach, {} not asked for",
        count(states.robots_rules),
        count(states.robots_none),
        count(states.robots_unreachable),
        count(states.robots_unknown),
    );
    let disk = format!("{}, of which {} are pages", size(answer.disk_bytes), size(answer.bytes));
    let commit = match answer.generation {
        0 => "none yet".to_owned(),
        generation => format!("number {generation}, of {}", time(answer.committed_ms)),
    };
    vec![
        ("pages", pages),
        ("sites", sites),
        ("robots", robots),
        ("links", count(answer.links)),
        ("disk", disk),
        ("commit", commit),
    ]
}

impl Answer {
    /// What has become of all pages that are known; the numbers add up.
    pub(crate) fn parts(&self) -> String {
        format!(
            "{} fetched, {} queued, {} wait, {} failed, {} rejected",
            count(self.pages_fetched),
            count(self.pages_queued),
            count(self.pages_new),
            count(self.errors),
            count(self.pages_rejected),
        )
    }
}

/// Counts what a commit holds.
pub(crate) fn look(snapshot: &Snapshot) -> store::Result<Answer> {
    let manifest = &snapshot.manifest;
    // A number for each stage and reason.
    let counts = snapshot.pages.scan(&[Column::Marks], |counts: &mut Vec<u64>, row| {
        counts.resize(STAGES << 8, 0);
        counts[(row.stage as usize) << 8 | usize::from(row.reason)] += 1;
    })?;
    let of = |place: usize| counts.iter().filter_map(|counts| counts.get(place)).sum::<u64>();
    let at = |stage: Stage| (0..256).map(|reason| of((stage as usize) << 8 | reason)).sum();
    let mut reasons = BTreeMap::new();
    for reason in Reason::all() {
        let place = |stage: Stage| (stage as usize) << 8 | usize::from(reason.code());
        let pages = of(place(Stage::New)) + of(place(Stage::Failed)) + of(place(Stage::Rejected));
        if pages > 0 {
            reasons.insert(reason.as_str(), pages);
        }
    }
    let lengths = |wanted: fn(&str) -> bool| {
        manifest.files.iter().filter(|file| wanted(&file.name)).map(store::FileEntry::length).sum()
    };
    Ok(Answer {
        pages_known: u64::from(snapshot.pages.pages()),
        pages_fetched: at(Stage::Fetched),
        pages_queued: at(Stage::Queued),
        sites: u64::from(snapshot.sites.sites()),
        bytes: lengths(|name| name.ends_with(".warc.gz")),
        links: store::count_rows(snapshot.folder(), manifest, "links")?,
        errors: at(Stage::Failed),
        pages_rejected: at(Stage::Rejected),
        pages_new: at(Stage::New),
        cycle: crawl::last_batch(&manifest.notes),
        generation: manifest.generation,
        committed_ms: manifest.committed_ms,
        disk_bytes: lengths(|_| true),
        files: manifest.files.len() as u64,
        reasons,
        states: site_states(snapshot)?,
    })
}

const STAGES: usize = 5;

fn site_states(snapshot: &Snapshot) -> store::Result<SiteStates> {
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let parts = snapshot.sites.scan(|states: &mut SiteStates, _, site| {
        states.queued += u64::from(site.pages_queued > 0);
        states.backed_off += u64::from(site.back_off_until_ms > now_ms);
        states.aliases += u64::from(site.alias_of.is_some());
        *match RobotsKind::of(site) {
            RobotsKind::Rules => &mut states.robots_rules,
            RobotsKind::None => &mut states.robots_none,
            RobotsKind::Unreachable => &mut states.robots_unreachable,
            RobotsKind::Unknown => &mut states.robots_unknown,
        } += 1;
    })?;
    Ok(parts.into_iter().fold(SiteStates::default(), SiteStates::with))
}

impl SiteStates {
    fn with(self, other: SiteStates) -> SiteStates {
        SiteStates {
            queued: self.queued + other.queued,
            backed_off: self.backed_off + other.backed_off,
            aliases: self.aliases + other.aliases,
            robots_rules: self.robots_rules + other.robots_rules,
            robots_none: self.robots_none + other.robots_none,
            robots_unreachable: self.robots_unreachable + other.robots_unreachable,
            robots_unknown: self.robots_unknown + other.robots_unknown,
        }
    }
}
