//! Results of the steps of an analysis: the figures that a step reports, beside the columns and tables that it writes.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::step::Step;
use crate::graph::link_graph::GraphInfo;
use crate::rank::distances::Distances;
use crate::structure::bow_tie::BowTiePart;
use crate::tables::anchors::AnchorCounts;
use crate::tables::page_table::RowCounts;

/// Result of one step. In JSON it is the object of its variant; the step names the variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum StepResult {
    /// Result of [`Step::Graph`].
    Graph(GraphInfo),
    /// Result of [`Step::Degrees`].
    Degrees(DegreeResult),
    /// Result of [`Step::PageRank`].
    PageRank(Convergence),
    /// Result of [`Step::LinkRank`].
    LinkRank(Convergence),
    /// Result of [`Step::Hits`].
    Hits(Convergence),
    /// Result of [`Step::Structure`].
    Structure(StructureResult),
    /// Result of [`Step::Similarity`].
    Similarity(SimilarityResult),
    /// Result of [`Step::Anchors`].
    Anchors(AnchorCounts),
    /// Result of [`Step::Distances`].
    Distances(Distances),
    /// Result of [`Step::Sites`].
    Sites(SiteResult),
    /// Result of [`Step::RejectedLinks`].
    RejectedLinks(RejectedLinksResult),
    /// Result of [`Step::Tables`].
    Tables(RowCounts),
    /// Result of [`Step::Statistics`].
    Statistics(StatisticsResult),
}

/// Extremes of the degrees of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DegreeResult {
    /// Maximum number of pages that link to a page.
    pub max_in_degree: u32,
    /// Maximum number of pages that a page links to.
    pub max_out_degree: u32,
    /// Number of pages without inlinks.
    pub without_inlinks: u64,
    /// Number of pages without outlinks.
    pub without_outlinks: u64,
}

/// End of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// Number of iterations.
    pub iterations: u32,
    /// Change of all values together in the last iteration.
    pub residual: f64,
}

/// Macro structure of the graphs of pages and of sites.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StructureResult {
    /// Structure of the page graph.
    pub pages: BowTieCounts,
    /// Structure of the site graph.
    pub sites: BowTieCounts,
}

/// Components and bow-tie parts of a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BowTieCounts {
    /// Number of strongly connected components.
    pub components: u64,
    /// Number of nodes of the largest component.
    pub largest_component: u32,
    /// Number of nodes of each part.
    pub parts: BTreeMap<BowTiePart, u64>,
}

/// Duplicates and mirrors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimilarityResult {
    /// Number of pages whose texts are long enough to be compared.
    pub pages_compared: u64,
    /// Clusters of pages with the same text.
    pub exact_duplicates: ClusterCounts,
    /// Clusters of pages with the same or nearly the same text.
    pub near_duplicates: ClusterCounts,
    /// Number of texts that shared enough of their fingerprints to be compared in full.
    pub candidates: u64,
    /// Candidates that were decided by their fingerprints alone, because there were too many similar ones.
    pub candidates_skipped: u64,
    /// Number of sites that mirror another site.
    pub mirrors: u64,
    /// Mirrors with the most pages.
    pub largest_mirrors: Vec<MirrorPair>,
}

/// Number and size of clusters of duplicates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterCounts {
    /// Number of clusters.
    pub groups: u32,
    /// Number of pages in clusters.
    pub pages: u32,
    /// Number of pages of the largest cluster.
    pub largest: u32,
    /// URL of the first page of the largest cluster.
    pub largest_url: Option<String>,
}

/// A site and the site that it mirrors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirrorPair {
    /// The mirror.
    pub site: String,
    /// The site that was discovered first.
    pub of: String,
    /// Number of pages that both have under the same path.
    pub pages: u32,
}

/// Ranks and distances of sites.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SiteResult {
    /// Number of iterations of SiteRank.
    pub iterations: u32,
    /// Change of all ranks together in the last iteration.
    pub residual: f64,
    /// Distances between sites.
    pub distances: Distances,
}

/// Links that were not followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedLinksResult {
    /// Number of links.
    pub links: u64,
    /// Number of links by reason.
    pub reasons: BTreeMap<String, u64>,
    /// Number of registered domains that they lead to.
    pub domains: u64,
    /// Domains with the most links, and their number.
    pub top_domains: Vec<(String, u64)>,
}

/// Statistics that were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatisticsResult {
    /// Number of statistics.
    pub statistics: u64,
}

impl StepResult {
    /// Reads the result of a step from its file.
    pub(super) fn from_json(step: Step, json: serde_json::Value) -> serde_json::Result<StepResult> {
        fn read<T: DeserializeOwned>(
            json: serde_json::Value,
            variant: fn(T) -> StepResult,
        ) -> serde_json::Result<StepResult> {
            serde_json::from_value(json).map(variant)
        }
        match step {
            Step::Graph => read(json, StepResult::Graph),
            Step::Degrees => read(json, StepResult::Degrees),
            Step::PageRank => read(json, StepResult::PageRank),
            Step::LinkRank => read(json, StepResult::LinkRank),
            Step::Hits => read(json, StepResult::Hits),
            Step::Structure => read(json, StepResult::Structure),
            Step::Similarity => read(json, StepResult::Similarity),
            Step::Anchors => read(json, StepResult::Anchors),
            Step::Distances => read(json, StepResult::Distances),
            Step::Sites => read(json, StepResult::Sites),
            Step::RejectedLinks => read(json, StepResult::RejectedLinks),
            Step::Tables => read(json, StepResult::Tables),
            Step::Statistics => read(json, StepResult::Statistics),
        }
    }
}
