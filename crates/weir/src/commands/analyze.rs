//! `weir analyze`: the graph of links, ranks, structure, tables and statistics of a collection, as far as they are out of
//! date.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use analysis::{BuildStage, Cores, Event, GraphSettings, Step, StepReport};
use serde_json::Value;

use crate::printer::{Meaning, Printer};
use crate::settings::Settings;
use crate::words::{count, counted};

const EXAMPLES: &str = "\
Examples:
  weir analyze crawl
  weir analyze crawl --json

It looks at the last commit, and may be run while a crawl goes on. Steps that were done for that
commit are not repeated; stopped with Ctrl-C, it goes on with the step it was at. What it finds lies
in `ranks`, `graph` and `parquet` of the collection, where `weir crawl` and others read it.";

/// Rank pages and sites by their links and find their structure.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    analyze(&args.dir, &mut |report| {
        if printer.json() {
            printer.object(report)?;
        } else {
            print(report, printer)?;
        }
        printer.finish()
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Does what is out of date, with progress on a terminal; tells what each step has found.
pub(crate) fn analyze(
    folder: &Path,
    done: &mut dyn FnMut(&StepReport) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let settings = Settings::load(folder)?;
    let settings = GraphSettings { memory_bytes: settings.memory.analysis.0, cores: Cores::all() };
    let mut progress = Progress::new();
    let mut told = Ok(());
    analysis::analyze(folder, &settings, &mut |event| {
        if told.is_ok() {
            told = tell(&event, &mut progress, done);
        }
    })?;
    told
}

fn tell(
    event: &Event<'_>,
    progress: &mut Progress,
    done: &mut dyn FnMut(&StepReport) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    match event {
        Event::Building(stage) => progress.show(&match stage {
            BuildStage::Ordering => "graph: putting pages in order".to_owned(),
            BuildStage::Sorting(pages) => format!("graph: links of {} read", counted(*pages, "page")),
            BuildStage::Writing(nodes) => format!("graph: {} written", counted(*nodes, "page")),
            BuildStage::Turning(nodes) => format!("graph: links to {} written", counted(*nodes, "page")),
        })?,
        Event::Iteration(Step::Distances, step, _) => progress.show(&format!("distances: {step}"))?,
        Event::Iteration(step @ (Step::Tables | Step::Statistics), _, share) => {
            progress.show(&format!("{}: {:.0} %", step.as_str(), 100.0 * share))?;
        }
        Event::Iteration(step, number, change) => {
            progress.show(&format!("{}: iteration {number}, change {change:.1e}", step.as_str()))?;
        }
        Event::Done(report) => {
            progress.clear()?;
            done(report)?;
        }
    }
    Ok(())
}

fn print(report: &StepReport, printer: &mut Printer) -> anyhow::Result<()> {
    let how = match (&report.skipped, report.known) {
        (Some(why), _) => printer.paint(Meaning::Bad, &format!("left out: {why}")),
        (None, true) => printer.paint(Meaning::Aside, "done before"),
        (None, false) => printer.paint(Meaning::Aside, &format!("{:.1} s", report.seconds)),
    };
    printer.line(&format!("{:<10} {}  {how}", report.step.as_str(), figures(report)))?;
    if report.step == Step::Structure && report.skipped.is_none() {
        for of in ["pages", "sites"] {
            printer.line(&format!("  {of}: {}", parts(&report.found[of])))?;
        }
    }
    Ok(())
}

/// What a step has found, in a few words.
fn figures(report: &StepReport) -> String {
    let found = &report.found;
    let number = |name: &str| found[name].as_u64().unwrap_or(0);
    let real = |value: &Value| value.as_f64().unwrap_or(0.0);
    match report.step {
        _ if report.skipped.is_some() => String::new(),
        Step::Graph => format!(
            "{}, {}, {}",
            counted(number("pages"), "page"),
            counted(number("arcs"), "link"),
            counted(number("sites"), "site")
        ),
        Step::Degrees => format!(
            "at most {} to a page, {} from one; {} without links",
            counted(number("most_in"), "link"),
            count(number("most_out")),
            counted(number("without_out"), "page")
        ),
        Step::PageRank | Step::LinkRank | Step::Hits | Step::Sites => {
            format!("{}, last change {:.1e}", counted(number("steps"), "iteration"), real(&found["change"]))
        }
        Step::Structure => {
            let of = |name: &str| found[name]["components"].as_u64().unwrap_or(0);
            format!("{} of pages, {} of sites", counted(of("pages"), "component"), count(of("sites")))
        }
        Step::Similarity => {
            format!(
                "{} with the same text as another, {} with nearly the same; {} of sites",
                counted(found["same"]["pages"].as_u64().unwrap_or(0), "page"),
                count(found["near"]["pages"].as_u64().unwrap_or(0)),
                counted(number("mirrors"), "mirror")
            ) + &match number("unread") {
                0 => String::new(),
                texts => format!("; {} too many to be read", counted(texts, "text")),
            }
        }
        Step::Anchors => {
            format!(
                "{} with words of others, {} in all",
                counted(number("pages"), "page"),
                count(number("anchors"))
            )
        }
        Step::Outside => {
            format!(
                "{} to {} outside",
                counted(number("links"), "link"),
                counted(number("domains"), "domain")
            )
        }
        Step::Statistics => counted(number("statistics"), "statistic"),
        Step::Tables => format!(
            "{} of {} and {}",
            counted(number("pages"), "page"),
            counted(number("sites"), "site"),
            counted(number("domains"), "domain")
        ),
        Step::Distances => format!(
            "average {:.2}, effective diameter {:.2}",
            real(&found["average"]),
            real(&found["effective_diameter"])
        ),
    }
}

/// The parts of a bow tie that have something, with their shares.
fn parts(shape: &Value) -> String {
    let Some(parts) = shape["parts"].as_object() else { return String::new() };
    let all: u64 = parts.values().filter_map(Value::as_u64).sum();
    let part = |part: analysis::Part| {
        let nodes = parts.get(part.as_str()).and_then(Value::as_u64).filter(|nodes| *nodes > 0)?;
        Some(format!("{} {} ({:.1} %)", part.as_str(), count(nodes), 100.0 * nodes as f64 / all as f64))
    };
    analysis::Part::ALL.into_iter().filter_map(part).collect::<Vec<_>>().join(", ")
}

/// One line on a terminal that is written over.
struct Progress {
    is_watched: bool,
    is_open: bool,
    last: Option<Instant>,
}

const INTERVAL: Duration = Duration::from_millis(200);

impl Progress {
    fn new() -> Progress {
        Progress { is_watched: io::stderr().is_terminal(), is_open: false, last: None }
    }

    fn show(&mut self, sentence: &str) -> io::Result<()> {
        if !self.is_watched || self.last.is_some_and(|last| last.elapsed() < INTERVAL) {
            return Ok(());
        }
        self.last = Some(Instant::now());
        self.is_open = true;
        write!(io::stderr(), "\r\x1b[K{sentence}")?;
        io::stderr().flush()
    }

    fn clear(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_open) {
            write!(io::stderr(), "\r\x1b[K")?;
        }
        Ok(())
    }
}
