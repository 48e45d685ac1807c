//! What is out of date, and what is found anew? The steps of an analysis, in order, each with its columns and its note.
//!
//! A step that is done leaves a note in the folder of the graph it was done for, and its columns in `ranks/`
//! (`store::RankColumn`); where both are there it is not repeated. So an analysis that was stopped goes on where it was,
//! and one of a collection that has not changed does nothing. Iterations start from the ranks of the last analysis.
//!
//! | step | columns of pages | columns of sites |
//! |---|---|---|
//! | degrees | `in-degree`, `out-degree` | |
//! | pagerank | `pagerank` | `pagerank`: the sum over its pages |
//! | link-rank | `link-rank` | |
//! | hits | `hub`, `authority` | |
//! | structure | `component`, `part` | `component`, `part` |
//! | similarity | `duplicate-group`, `near-group` | `mirror-of` |
//! | anchors | | |
//! | distances | | |
//! | sites | | `site-rank`, `harmonic`, `in-degree`, `out-degree` |
//! | outside | | |
//! | tables | | |
//! | statistics | | |
//!
//! The steps `anchors`, `outside` and `tables` write tables (`store::DerivedTable`), and `statistics` all that a report
//! shows (`store::Statistic`). The last two put together what the others have found: they are done again if one was.

mod held;
mod session;
mod similarity;
mod steps;

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use store::{Ranked, list_derived, list_ranks, read_statistics_of};

use crate::bv::write_synced;
use crate::error::{Context, Error, Result, damaged};
use crate::link_graph::{BuildStage, GraphSettings, LinkGraph};
use held::Held;
use session::Session;

/// A step of an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The graph of links itself.
    Graph,
    /// How many links lead from and to each page.
    Degrees,
    /// PageRank of pages, and its sum by site.
    #[serde(rename = "pagerank")]
    PageRank,
    /// PageRank with links of unequal weight.
    LinkRank,
    /// Hubs and authorities.
    Hits,
    /// Components and the bow tie, of pages and of sites.
    Structure,
    /// Pages that say the same or nearly so, and sites that are copies.
    Similarity,
    /// What others call each page: the table `anchors`.
    Anchors,
    /// How far apart pages are.
    Distances,
    /// SiteRank and harmonic centrality of sites.
    Sites,
    /// Where links lead that lead to no page of the collection.
    Outside,
    /// All that is known of pages, sites and domains, as tables.
    Tables,
    /// All statistics of a report.
    Statistics,
}

impl Step {
    /// All, in the order in which they are done.
    pub const ALL: [Step; 13] = [
        Step::Graph,
        Step::Degrees,
        Step::PageRank,
        Step::LinkRank,
        Step::Hits,
        Step::Structure,
        Step::Similarity,
        Step::Anchors,
        Step::Distances,
        Step::Sites,
        Step::Outside,
        Step::Tables,
        Step::Statistics,
    ];

    /// As users write it, and as it is in names of files.
    pub fn as_str(self) -> &'static str {
        match self {
            Step::Graph => "graph",
            Step::Degrees => "degrees",
            Step::PageRank => "pagerank",
            Step::LinkRank => "link-rank",
            Step::Hits => "hits",
            Step::Structure => "structure",
            Step::Similarity => "similarity",
            Step::Anchors => "anchors",
            Step::Distances => "distances",
            Step::Sites => "sites",
            Step::Outside => "outside",
            Step::Tables => "tables",
            Step::Statistics => "statistics",
        }
    }

    fn columns(self) -> &'static [(Ranked, &'static str)] {
        use Ranked::{Pages, Sites};
        match self {
            Step::Graph | Step::Anchors | Step::Distances | Step::Outside => &[],
            Step::Tables | Step::Statistics => &[],
            Step::Degrees => &[(Pages, "in-degree"), (Pages, "out-degree")],
            Step::PageRank => &[(Pages, "pagerank"), (Sites, "pagerank")],
            Step::LinkRank => &[(Pages, "link-rank")],
            Step::Hits => &[(Pages, "hub"), (Pages, "authority")],
            Step::Structure => {
                &[(Pages, "component"), (Pages, "part"), (Sites, "component"), (Sites, "part")]
            }
            Step::Similarity => &[(Pages, "duplicate-group"), (Pages, "near-group"), (Sites, "mirror-of")],
            Step::Sites => {
                &[(Sites, "site-rank"), (Sites, "harmonic"), (Sites, "in-degree"), (Sites, "out-degree")]
            }
        }
    }

    fn tables(self) -> &'static [&'static str] {
        match self {
            Step::Anchors => &["anchors"],
            Step::Outside => &["outside", "files"],
            Step::Tables => &["pages", "ranks", "components", "site_ranks", "domains"],
            _ => &[],
        }
    }

    /// Whether it puts together what the steps before it have found.
    fn gathers(self) -> bool {
        matches!(self, Step::Tables | Step::Statistics)
    }
}

/// What a step has found, now or before.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StepReport {
    /// Which step.
    pub step: Step,
    /// The commit that was looked at.
    pub generation: u64,
    /// How long it took.
    pub seconds: f64,
    /// Whether it was done before, and is not repeated.
    #[serde(skip_deserializing)]
    pub known: bool,
    /// Why it was not done, if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// The figures, by name.
    pub found: serde_json::Value,
}

/// What happens.
#[derive(Debug)]
pub enum Event<'e> {
    /// The graph is being built.
    Building(BuildStage),
    /// A step has come so far: the number of the iteration, and how much it changed.
    Iteration(Step, u32, f64),
    /// A step is done, or was done already.
    Done(&'e StepReport),
}

/// Does what is out of date for the newest commit of a collection; tells what every step has found.
pub fn analyze(
    collection: &Path,
    settings: &GraphSettings,
    told: &mut dyn FnMut(Event<'_>),
) -> Result<Vec<StepReport>> {
    let _lock = lock(collection)?;
    let held = Held::newest(collection)?;
    let reports = do_steps(collection, &held, settings, told);
    let released = held.release();
    let reports = reports?;
    released?;
    Ok(reports)
}

fn do_steps(
    collection: &Path,
    held: &Held<'_>,
    settings: &GraphSettings,
    told: &mut dyn FnMut(Event<'_>),
) -> Result<Vec<StepReport>> {
    let (graph, is_known) = graph_of(collection, held, settings, told)?;
    let mut session = Session::new(collection, held, &graph, *settings);
    let mut reports: Vec<StepReport> = Vec::new();
    for step in Step::ALL {
        let is_stale =
            step.gathers() && reports.iter().any(|report| !report.known && report.skipped.is_none());
        let report = match (step, known(collection, &graph, step)?) {
            (Step::Graph, Some(report)) => StepReport { known: is_known, ..report },
            (_, Some(report)) if !is_stale => report,
            _ => {
                forget_gathered(&graph, step)?;
                carry_out(step, &mut session, told)?
            }
        };
        told(Event::Done(&report));
        reports.push(report);
    }
    Ok(reports)
}

/// What later steps have put together is out of date once a step is done anew, also if this run does not get so far.
fn forget_gathered(graph: &LinkGraph, step: Step) -> Result<()> {
    let later = Step::ALL.into_iter().skip_while(|other| *other != step).skip(1);
    for gathered in later.filter(|later| later.gathers()) {
        let path = note_path(graph, gathered);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).context("remove", &path);
            }
            _ => {}
        }
    }
    Ok(())
}

/// The graph of a commit, and whether it was there already.
fn graph_of(
    collection: &Path,
    held: &Held<'_>,
    settings: &GraphSettings,
    told: &mut dyn FnMut(Event<'_>),
) -> Result<(LinkGraph, bool)> {
    let of_commit = |graph: &LinkGraph| graph.about.generation == held.generation;
    if let Some(graph) = LinkGraph::newest(collection)?.filter(of_commit) {
        return Ok((graph, true));
    }
    let start = Instant::now();
    let graph = LinkGraph::build(&held.open()?, settings, &mut |stage| told(Event::Building(stage)))?;
    let found =
        serde_json::to_value(&graph.about).map_err(|error| damaged(graph.folder(), error.to_string()))?;
    let generation = graph.about.generation;
    let seconds = start.elapsed().as_secs_f64();
    let report = StepReport { step: Step::Graph, generation, seconds, known: false, skipped: None, found };
    write_note(&graph, &report)?;
    Ok((graph, false))
}

fn lock(collection: &Path) -> Result<File> {
    // A folder that is no collection gets no folder for graphs.
    store::find_snapshot(collection, None)?;
    let folder = collection.join("graph");
    fs::create_dir_all(&folder).context("create", &folder)?;
    let path = folder.join("LOCK");
    let file = File::options().create(true).append(true).open(&path).context("open", &path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Busy { path: collection.to_owned() }),
        Err(TryLockError::Error(source)) => Err(Error::Io { operation: "lock", path, source }),
    }
}

/// What a step has found for this graph, if it is done and what it has written is there.
fn known(collection: &Path, graph: &LinkGraph, step: Step) -> Result<Option<StepReport>> {
    let path = note_path(graph, step);
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        result => result.context("read", &path)?,
    };
    let report: StepReport =
        serde_json::from_slice(&bytes).map_err(|error| damaged(&path, error.to_string()))?;
    let columns = list_ranks(collection)?;
    let there = |(of, name): &(Ranked, &str)| {
        columns
            .iter()
            .any(|entry| (entry.of, entry.name.as_str(), entry.generation) == (*of, *name, report.generation))
    };
    let tables = list_derived(collection)?;
    let is_written = |table: &&str| {
        tables.iter().any(|entry| (entry.table.as_str(), entry.generation) == (*table, report.generation))
    };
    // Those that cannot be read are computed again.
    let is_computed = || {
        step != Step::Statistics || matches!(read_statistics_of(collection, report.generation), Ok(Some(_)))
    };
    let is_done = step.columns().iter().all(there) && step.tables().iter().all(is_written) && is_computed();
    Ok(is_done.then_some(StepReport { known: true, ..report }))
}

fn carry_out(step: Step, session: &mut Session<'_>, told: &mut dyn FnMut(Event<'_>)) -> Result<StepReport> {
    let start = Instant::now();
    let found = steps::run(step, session, &mut |iteration, change| {
        told(Event::Iteration(step, iteration, change));
    })?;
    let (found, skipped) = match found {
        steps::Found::Figures(figures) => (figures, None),
        steps::Found::Skipped(why) => (serde_json::Value::Null, Some(why)),
    };
    let generation = session.graph.about.generation;
    let report =
        StepReport { step, generation, seconds: start.elapsed().as_secs_f64(), known: false, skipped, found };
    if report.skipped.is_none() {
        write_note(session.graph, &report)?;
    }
    Ok(report)
}

fn note_path(graph: &LinkGraph, step: Step) -> PathBuf {
    graph.folder().join(format!("{}.note", step.as_str()))
}

fn write_note(graph: &LinkGraph, report: &StepReport) -> Result<()> {
    let path = note_path(graph, report.step);
    let text = serde_json::to_vec_pretty(report).map_err(|error| damaged(&path, error.to_string()))?;
    let unfinished = path.with_extension("unfinished");
    write_synced(&unfinished, &text)?;
    fs::rename(&unfinished, &path).context("rename", &path)
}
