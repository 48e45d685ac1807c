//! Offline analysis of a collection: its link graph, ranks, graph structure, duplicates, tables and statistics.
//!
//! [`analyze()`] runs all steps that are out of date. For parts of it, build a [`LinkGraph`] of a snapshot and call the
//! algorithms directly. Results are columns by page and by site (`store::RankColumn`), tables, and small structs.
//!
//! This crate never sees a live collection: it reads snapshots, and writes its results next to them. It never prints.

mod error;
mod graph;
mod link_lookup;
mod link_neighbours;
mod rank;
mod scan;
mod similarity;
mod sketch;
mod statistics;
mod steps;
mod structure;
mod tables;
mod threads;

pub use error::{Error, Result};
pub use graph::adjacency::Adjacency;
pub use graph::bv::{BvGraph, BvSink, write_bv};
pub use graph::csr::Csr;
pub use graph::export::{ExportedGraph, export_webgraph};
pub use graph::link_graph::{BuildStage, GraphInfo, GraphSettings, LinkGraph};
pub use graph::site_graph::SiteGraph;
pub use link_lookup::{LinkLookup, LookupError};
pub use link_neighbours::link_neighbours;
pub use rank::distances::Distances;
pub use rank::hits::Hits;
pub use rank::hyper_ball::HyperBall;
pub use rank::page_rank::{PageRank, Ranking, Weights};
pub use scan::analyzer::{Analyzer, Inputs};
pub use scan::table_scan::{ScanProgress, TableScan};
pub use similarity::co_citation::{LinkSimilarity, SimilarByLinks, similar_by_links};
pub use similarity::page_text::PageText;
pub use similarity::similar_pages::{SimilarBy, SimilarPage, SimilarPages, similar_pages};
pub use similarity::similar_texts::{SimilarText, similar_texts};
pub use sketch::counter::{Counter, Counts};
pub use sketch::histogram::{Bin, Histogram};
pub use sketch::hyper_log_log::HyperLogLog;
pub use sketch::moments::Moments;
pub use sketch::power_law::{ValueKind, fit_power_law};
pub use sketch::quantiles::{QuantileCounts, Quantiles};
pub use sketch::top_k::TopK;
pub use statistics::{Description, describe_statistics};
pub use steps::{
    BowTieCounts, ClusterCounts, Convergence, DegreeResult, Event, MirrorPair, RejectedLinksResult,
    SimilarityResult, SiteResult, StatisticsResult, Step, StepReport, StepResult, StructureResult, analyze,
    discard_analysis,
};
pub use structure::bow_tie::{BowTiePart, bow_tie};
pub use structure::components::Components;
pub use tables::anchors::AnchorCounts;
pub use tables::page_table::RowCounts;
pub use threads::Threads;
