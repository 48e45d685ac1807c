//! `weir analyze`: link graph, ranks, structure, tables and statistics of a collection, as far as they are out of date.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analysis::{BowTieCounts, BuildStage, Event, GraphSettings, Step, StepReport, StepResult, Threads};

use crate::human::{self, plural};
use crate::output::{Printer, TextStyle};
use crate::progress_line::ProgressLine;
use crate::settings::SetArgs;

const EXAMPLES: &str = "\
Examples:
  weir analyze crawl
  weir analyze crawl --json

Reads one commit; safe to run during a crawl. Steps that are up to date are skipped; after Ctrl-C
the next run continues with the interrupted step. The results are in `ranks`, `graph` and
`parquet` of the collection, where `weir crawl` and other commands read them.";

/// Compute ranks, graph structure, tables and statistics.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    #[command(flatten)]
    set: SetArgs,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    analyze(&args.dir, &args.set, &mut |report| {
        if printer.json() {
            printer.object(report)?;
        } else {
            print(report, printer)?;
        }
        printer.finish()
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the steps that are out of date, with progress on a terminal; calls `on_step` after each step.
pub(crate) fn analyze(
    dir: &Path,
    set: &SetArgs,
    on_step: &mut dyn FnMut(&StepReport) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let settings = set.load(dir)?;
    let settings = GraphSettings { memory_bytes: settings.memory.analysis.0, threads: Threads::available() };
    let mut progress = ProgressLine::new();
    let mut printed = Ok(());
    analysis::analyze(dir, &settings, &mut |event| {
        if printed.is_ok() {
            printed = print_event(&event, &mut progress, on_step);
        }
    })?;
    printed
}

fn print_event(
    event: &Event<'_>,
    progress: &mut ProgressLine,
    on_step: &mut dyn FnMut(&StepReport) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    match event {
        Event::Building(stage) => progress.update(|| match stage {
            BuildStage::Ordering => "graph: ordering nodes".to_owned(),
            BuildStage::ReadingLinks(pages) => format!("graph: reading links: {}", plural(*pages, "page")),
            BuildStage::WritingForward(nodes) => {
                format!("graph: writing forward graph: {}", human::number(*nodes))
            }
            BuildStage::WritingTransposed(nodes) => {
                format!("graph: writing transposed graph: {}", human::number(*nodes))
            }
        })?,
        Event::Iteration(Step::Distances, step, _) => progress.update(|| format!("distances: {step}"))?,
        Event::Iteration(step @ (Step::Tables | Step::Statistics), _, share) => {
            progress.update(|| format!("{}: {:.0} %", step.as_str(), 100.0 * share))?;
        }
        Event::Iteration(step, number, residual) => {
            progress.update(|| format!("{}: iteration {number}, residual {residual:.1e}", step.as_str()))?;
        }
        Event::Finished(report) => {
            progress.clear()?;
            on_step(report)?;
        }
    }
    Ok(())
}

fn print(report: &StepReport, printer: &mut Printer) -> anyhow::Result<()> {
    let state = match (&report.skipped, report.up_to_date) {
        (Some(reason), _) => printer.style(TextStyle::Bad, &format!("skipped: {reason}")),
        (None, true) => printer.style(TextStyle::Dim, "up to date"),
        (None, false) => printer.style(TextStyle::Dim, &format!("{:.1} s", report.seconds)),
    };
    let figures = report.result.as_ref().map(figures).unwrap_or_default();
    printer.line(&format!("{:<14} {figures}  {state}", report.step.as_str()))?;
    if let Some(StepResult::Structure(structure)) = &report.result {
        for (of, counts) in [("pages", &structure.pages), ("sites", &structure.sites)] {
            printer.line(&format!("  {of}: {}", parts(counts)))?;
        }
    }
    Ok(())
}

/// The main figures of a step, in one line.
fn figures(result: &StepResult) -> String {
    match result {
        StepResult::Graph(graph) => format!(
            "{}, {}, {}",
            plural(graph.pages.into(), "page"),
            plural(graph.arcs, "link"),
            plural(graph.sites.into(), "site")
        ),
        StepResult::Degrees(degrees) => format!(
            "maximum in-degree {}, out-degree {}; {} without outlinks",
            human::number(degrees.max_in_degree.into()),
            human::number(degrees.max_out_degree.into()),
            plural(degrees.without_outlinks, "page")
        ),
        StepResult::PageRank(end) | StepResult::LinkRank(end) | StepResult::Hits(end) => {
            format!("{}, residual {:.1e}", plural(end.iterations.into(), "iteration"), end.residual)
        }
        StepResult::Sites(sites) => {
            format!("{}, residual {:.1e}", plural(sites.iterations.into(), "iteration"), sites.residual)
        }
        StepResult::Structure(structure) => format!(
            "{} of pages, {} of sites",
            plural(structure.pages.components, "component"),
            human::number(structure.sites.components)
        ),
        StepResult::Similarity(similarity) => {
            let skipped = match similarity.candidates_skipped {
                0 => String::new(),
                candidates => format!("; {} skipped", plural(candidates, "candidate")),
            };
            format!(
                "{} with exact duplicates, {} with near duplicates; {}{skipped}",
                plural(similarity.exact_duplicates.pages.into(), "page"),
                human::number(similarity.near_duplicates.pages.into()),
                plural(similarity.mirrors, "mirror site"),
            )
        }
        StepResult::Anchors(anchors) => format!(
            "{} with anchor texts, {} in total",
            plural(anchors.pages, "page"),
            human::number(anchors.anchors)
        ),
        StepResult::RejectedLinks(rejected) => {
            format!("{} to {}", plural(rejected.links, "rejected link"), plural(rejected.domains, "domain"))
        }
        StepResult::Statistics(statistics) => plural(statistics.statistics, "statistic"),
        StepResult::Tables(rows) => format!(
            "{}, {}, {}",
            plural(rows.pages, "page"),
            plural(rows.sites, "site"),
            plural(rows.domains, "domain")
        ),
        StepResult::Distances(distances) => format!(
            "average {:.2}, effective diameter {:.2}",
            distances.average, distances.effective_diameter
        ),
    }
}

/// Bow-tie parts that are not empty, with their shares.
fn parts(counts: &BowTieCounts) -> String {
    let all: u64 = counts.parts.values().sum();
    let parts = counts.parts.iter().filter(|(_, nodes)| **nodes > 0).map(|(part, nodes)| {
        let share = 100.0 * *nodes as f64 / all as f64;
        format!("{} {} ({share:.1} %)", part.as_str(), human::number(*nodes))
    });
    parts.collect::<Vec<_>>().join(", ")
}
