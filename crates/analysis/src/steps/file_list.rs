//! List of the files that the steps of an analysis have written, with their checksums, for `weir check`.

use std::fs;
use std::path::{Path, PathBuf};

use store::{FileList, RankTarget, list_derived, list_ranks};

use super::run::REJECTED_DOMAINS;
use super::step::Step;
use crate::error::{Context, Result};
use crate::graph::link_graph::LinkGraph;

/// The list of an analysis. A step removes its files before it replaces them, and adds them when it has finished.
pub(super) struct AnalysisFiles<'c> {
    collection: &'c Path,
    path: PathBuf,
    /// Name of the directory of the graph, relative to that of the collection.
    graph: String,
    list: FileList,
}

impl<'c> AnalysisFiles<'c> {
    /// Opens the list of a graph; `None` if it is missing or damaged.
    pub(super) fn open(collection: &'c Path, graph: &LinkGraph) -> Option<AnalysisFiles<'c>> {
        let path = FileList::path_in(graph.dir());
        let list = FileList::read(&path).ok().flatten()?;
        let graph = relative(collection, graph.dir());
        Some(AnalysisFiles { collection, path, graph, list })
    }

    /// Removes the files of a step, and the results of the later steps that depend on it.
    pub(super) fn begin(&mut self, step: Step, invalidated: &[Step]) -> Result<()> {
        let results: Vec<String> = invalidated.iter().map(|step| self.result_name(*step)).collect();
        let own_result = self.result_name(step);
        let before = self.list.files().len();
        self.list.retain(|name| {
            name != own_result && !results.iter().any(|result| result == name) && !is_output(step, name)
        });
        if self.list.files().len() == before { Ok(()) } else { Ok(self.list.write(&self.path)?) }
    }

    /// Adds the files of a step that exist. A step that was skipped leaves those of an earlier analysis.
    pub(super) fn finish(&mut self, step: Step) -> Result<()> {
        let mut paths: Vec<PathBuf> = Vec::new();
        paths.extend(list_ranks(self.collection)?.iter().map(|column| column.path(self.collection)));
        paths.extend(list_derived(self.collection)?.into_iter().map(|table| table.path));
        for dir in [self.collection.join("graph"), self.collection.join(&self.graph)] {
            for entry in fs::read_dir(&dir).context("list", &dir)? {
                paths.push(entry.context("list", &dir)?.path());
            }
        }
        let own_result = self.result_name(step);
        for path in paths {
            let name = relative(self.collection, &path);
            if (name == own_result || is_output(step, &name)) && path.exists() {
                self.list.add_file(&path, &name)?;
            }
        }
        Ok(self.list.write(&self.path)?)
    }

    fn result_name(&self, step: Step) -> String {
        format!("{}/{}.json", self.graph, step.as_str())
    }
}

/// Whether a step writes files of this name, beside its result.
fn is_output(step: Step, name: &str) -> bool {
    let is_column = |(target, column): &(RankTarget, &str)| {
        let generation = name.strip_prefix(&format!("ranks/{}-{column}-", target.as_str()));
        generation.is_some_and(|generation| generation.starts_with(|first: char| first.is_ascii_digit()))
    };
    let is_table =
        |table: &&str| name.strip_prefix("parquet/").and_then(|rest| rest.split('/').next()) == Some(table);
    let is_statistics = name.starts_with("graph/statistics-") && name.ends_with(".json");
    let is_domain_list = name.starts_with("graph/") && name.ends_with(REJECTED_DOMAINS);
    step.columns().iter().any(is_column)
        || step.tables().iter().any(is_table)
        || (step == Step::Statistics && is_statistics)
        || (step == Step::RejectedLinks && is_domain_list)
}

/// Name of a file relative to the directory of the collection.
fn relative(collection: &Path, path: &Path) -> String {
    path.strip_prefix(collection).unwrap_or(path).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_step_are_known_by_their_names() {
        for (step, name) in [
            (Step::Degrees, "ranks/pages-in-degree-0000000001.u32"),
            (Step::Sites, "ranks/sites-in-degree-0000000001.u32"),
            (Step::PageRank, "ranks/sites-pagerank-0000000001.f32"),
            (Step::Anchors, "parquet/anchors/anchors-0000000001.parquet"),
            (Step::Statistics, "graph/statistics-0000000001.json"),
            (Step::RejectedLinks, "graph/0000000001/rejected-domains.tsv"),
        ] {
            let writers: Vec<Step> = Step::ALL.into_iter().filter(|step| is_output(*step, name)).collect();
            assert_eq!(writers, [step], "{name}");
        }
        for name in
            ["graph/0000000001/pages", "parquet/links/links-0000000001.parquet", "ranks/pages-other-1.u32"]
        {
            assert!(!Step::ALL.into_iter().any(|step| is_output(step, name)), "{name}");
        }
    }
}
