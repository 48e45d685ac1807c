//! The steps of an analysis: which of them are out of date, in which order they run, and what they leave behind.
//!
//! A finished step leaves its result in the directory of the graph that it ran on (`STEP.json`), and its columns in
//! `ranks/` (`store::RankColumn`). A step with both is up to date and is skipped: an interrupted analysis resumes at the
//! step where it stopped, and an analysis of an unchanged collection does nothing. Iterations start from the ranks of
//! the previous analysis.
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
//! | rejected-links | | |
//! | tables | | |
//! | statistics | | |
//!
//! The steps `anchors`, `rejected-links` and `tables` write tables (`store::DerivedTable`), and `statistics` the
//! statistics of a report (`store::Statistic`). `tables` and `statistics` are derived from the results of the other
//! steps, and run again when one of those has run.

mod file_list;
mod pinned_commit;
mod run;
mod similarity;
mod step;
mod step_context;
mod step_result;

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use store::{FileList, RankTarget, list_derived, list_ranks, read_statistics_of};

use crate::error::{Context, Error, Result, corrupt};
use crate::graph::bv::write_synced;
use crate::graph::link_graph::{BuildStage, GraphSettings, LinkGraph};
use file_list::AnalysisFiles;
use pinned_commit::PinnedCommit;
use step_context::StepContext;

pub use step::Step;
pub use step_result::{
    BowTieCounts, ClusterCounts, Convergence, DegreeResult, MirrorPair, RejectedLinksResult,
    SimilarityResult, SiteResult, StatisticsResult, StepResult, StructureResult,
};

/// Maximum size of the file with the report of a step.
const MAX_RESULT_BYTES: u64 = 16 << 20;

/// Report of one step, of this analysis or of an earlier one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepReport {
    /// The step.
    pub step: Step,
    /// Generation of the commit that was analysed.
    pub generation: u64,
    /// Duration of the step.
    pub seconds: f64,
    /// Whether an earlier analysis of the same commit ran the step.
    pub up_to_date: bool,
    /// Reason why the step was skipped, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// Result of the step; none if it was skipped.
    pub result: Option<StepResult>,
}

/// A [`StepReport`] in the file of its step.
#[derive(Deserialize)]
struct StoredReport {
    generation: u64,
    seconds: f64,
    result: serde_json::Value,
}

/// Progress of an analysis.
#[derive(Debug)]
pub enum Event<'e> {
    /// The graph is being built.
    Building(BuildStage),
    /// A step has finished an iteration: its number, and the residual. For `tables` and `statistics`, 0 and the share
    /// of the rows that are done.
    Iteration(Step, u32, f64),
    /// A step has finished, or is up to date.
    Finished(&'e StepReport),
}

/// Analyses the newest commit of a collection: runs all steps that are out of date, and returns the reports of all.
pub fn analyze(
    collection: &Path,
    settings: &GraphSettings,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Vec<StepReport>> {
    let _lock = lock(collection)?;
    let commit = PinnedCommit::pin_newest(collection)?;
    let reports = run_steps(collection, &commit, settings, on_event);
    // The pin is removed after an error, too; the error of the analysis is the one to report.
    let released = commit.release();
    let reports = reports?;
    released?;
    Ok(reports)
}

/// Deletes the graph, the results of its steps and the rank columns, from which an analysis starts, so that the next one computes
/// everything again. Tables and statistics remain until then.
pub fn discard_analysis(collection: &Path) -> Result<()> {
    let _lock = lock(collection)?;
    LinkGraph::remove_all(collection)?;
    let ranks = collection.join("ranks");
    if !ranks.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(&ranks).context("list", &ranks)? {
        let path = entry.context("list", &ranks)?.path();
        // Other files belong to the user.
        if path.extension().is_some_and(|extension| extension == "f32" || extension == "u32") {
            fs::remove_file(&path).context("remove", &path)?;
        }
    }
    Ok(())
}

fn run_steps(
    collection: &Path,
    commit: &PinnedCommit<'_>,
    settings: &GraphSettings,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Vec<StepReport>> {
    let (graph, was_built) = open_or_build_graph(collection, commit, settings, on_event)?;
    let mut files = AnalysisFiles::open(collection, &graph)
        .ok_or_else(|| corrupt(&FileList::path_in(graph.dir()), "it cannot be read"))?;
    if was_built {
        files.finish(Step::Graph)?;
    }
    let mut context = StepContext::new(collection, commit, &graph, *settings);
    let mut reports: Vec<StepReport> = Vec::new();
    for step in Step::ALL {
        let is_stale =
            step.is_derived() && reports.iter().any(|report| !report.up_to_date && report.skipped.is_none());
        let report = match (step, load_result(collection, &graph, step)?) {
            (Step::Graph, Some(report)) => StepReport { up_to_date: !was_built, ..report },
            (_, Some(report)) if !is_stale => report,
            _ => {
                let invalidated = derived_after(step);
                files.begin(step, &invalidated)?;
                delete_results(&graph, &invalidated)?;
                let report = run_step(step, &mut context, on_event)?;
                files.finish(step)?;
                report
            }
        };
        on_event(Event::Finished(&report));
        reports.push(report);
    }
    Ok(reports)
}

/// Derived steps after `step`: their results are out of date once it runs again, also if this analysis is interrupted
/// before it reaches them.
fn derived_after(step: Step) -> Vec<Step> {
    let later = Step::ALL.into_iter().skip_while(|other| *other != step).skip(1);
    later.filter(|later| later.is_derived()).collect()
}

fn delete_results(graph: &LinkGraph, steps: &[Step]) -> Result<()> {
    for step in steps {
        let path = result_path(graph, *step);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).context("remove", &path);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the graph of a commit, and whether it had to be built.
fn open_or_build_graph(
    collection: &Path,
    commit: &PinnedCommit<'_>,
    settings: &GraphSettings,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<(LinkGraph, bool)> {
    // A graph whose list of files is damaged is built again.
    let of_commit = |graph: &LinkGraph| {
        graph.info.generation == commit.generation && AnalysisFiles::open(collection, graph).is_some()
    };
    if let Some(graph) = LinkGraph::newest(collection)?.filter(of_commit) {
        return Ok((graph, false));
    }
    let start = Instant::now();
    let graph = LinkGraph::build(&commit.open()?, settings, &mut |stage| on_event(Event::Building(stage)))?;
    let report = StepReport {
        step: Step::Graph,
        generation: graph.info.generation,
        seconds: start.elapsed().as_secs_f64(),
        up_to_date: false,
        skipped: None,
        result: Some(StepResult::Graph(graph.info.clone())),
    };
    write_result(&graph, &report)?;
    Ok((graph, true))
}

/// Takes the lock that keeps two processes from analysing the same collection.
fn lock(collection: &Path) -> Result<File> {
    // Fails before `graph` is created in a directory that is not a collection.
    store::find_snapshot(collection, None)?;
    let dir = collection.join("graph");
    fs::create_dir_all(&dir).context("create", &dir)?;
    let path = dir.join("LOCK");
    let file = File::options().create(true).append(true).open(&path).context("open", &path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Locked { path: collection.to_owned() }),
        Err(TryLockError::Error(source)) => Err(Error::Io { operation: "lock", path, source }),
    }
}

/// Returns the report of a step on this graph, if the step has finished and everything that it wrote still exists.
fn load_result(collection: &Path, graph: &LinkGraph, step: Step) -> Result<Option<StepReport>> {
    let path = result_path(graph, step);
    let bytes = match store::read_limited(&path, MAX_RESULT_BYTES) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        result => result.context("read", &path)?,
    };
    let invalid = |error: serde_json::Error| corrupt(&path, error.to_string());
    let StoredReport { generation, seconds, result } = serde_json::from_slice(&bytes).map_err(invalid)?;
    let result = StepResult::from_json(step, result).map_err(invalid)?;
    let columns = list_ranks(collection)?;
    let column_exists = |(target, name): &(RankTarget, &str)| {
        columns.iter().any(|entry| {
            (entry.target, entry.name.as_str(), entry.generation) == (*target, *name, generation)
        })
    };
    let tables = list_derived(collection)?;
    let table_exists = |table: &&str| {
        tables.iter().any(|entry| (entry.table.as_str(), entry.generation) == (*table, generation))
    };
    // Statistics that cannot be read are computed again.
    let is_readable =
        || step != Step::Statistics || matches!(read_statistics_of(collection, generation), Ok(Some(_)));
    let is_complete =
        step.columns().iter().all(column_exists) && step.tables().iter().all(table_exists) && is_readable();
    Ok(is_complete.then_some(StepReport {
        step,
        generation,
        seconds,
        up_to_date: true,
        skipped: None,
        result: Some(result),
    }))
}

fn run_step(
    step: Step,
    context: &mut StepContext<'_>,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<StepReport> {
    let start = Instant::now();
    let outcome = run::run(step, context, &mut |iteration, residual| {
        on_event(Event::Iteration(step, iteration, residual));
    })?;
    let (result, skipped) = match outcome {
        run::Outcome::Done(result) => (Some(result), None),
        run::Outcome::Skipped(reason) => (None, Some(reason)),
    };
    let generation = context.graph.info.generation;
    let seconds = start.elapsed().as_secs_f64();
    let report = StepReport { step, generation, seconds, up_to_date: false, skipped, result };
    if report.skipped.is_none() {
        write_result(context.graph, &report)?;
    }
    Ok(report)
}

fn result_path(graph: &LinkGraph, step: Step) -> PathBuf {
    graph.dir().join(format!("{}.json", step.as_str()))
}

fn write_result(graph: &LinkGraph, report: &StepReport) -> Result<()> {
    let path = result_path(graph, report.step);
    let text = serde_json::to_vec_pretty(report).map_err(|error| corrupt(&path, error.to_string()))?;
    // Renamed when complete, so that an interrupted write leaves no result.
    let unfinished = path.with_extension("unfinished");
    write_synced(&unfinished, &text)?;
    fs::rename(&unfinished, &path).context("rename", &path)
}
