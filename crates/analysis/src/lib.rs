//! What do the links of a collection say about its pages and sites? The link graph, ranks over it, its structure.
//!
//! [`analyze()`] does everything that is out of date. Whoever wants less builds a [`LinkGraph`] of a snapshot and calls
//! what they need. Results are columns by page and site (`store::RankColumn`) and small objects.
//!
//! This crate never sees a live collection: it reads snapshots, and what it finds lies beside them. It never prints.

mod analyze;
mod analyzer;
mod anchor_texts;
mod arcs;
mod bits;
mod bow_tie;
mod bv;
mod co_citation;
mod components;
mod cores;
mod csr;
mod distinct;
mod duplicate_groups;
mod error;
mod export;
mod histogram;
mod hits;
mod hyper_ball;
mod judged_texts;
mod link_graph;
mod link_lookup;
mod link_runs;
mod link_weight;
mod mirrors;
mod moments;
mod near_duplicates;
mod neighbours;
mod node_order;
mod outside;
mod page_rank;
mod page_text;
mod power_law;
mod quantiles;
mod sealed;
mod similar;
mod similar_pages;
mod site_graph;
mod statistics;
mod survey;
mod tally;
mod technology;
mod term_vector;
mod top_k;
mod wide_tables;

pub use analyze::{Event, Step, StepReport, analyze};
pub use analyzer::{Analyzer, Reads};
pub use arcs::Arcs;
pub use bow_tie::{Part, bow_tie};
pub use bv::{BvGraph, BvSink, write_bv};
pub use co_citation::{Alike, LinkedAlike, linked_alike};
pub use components::Components;
pub use cores::Cores;
pub use csr::Csr;
pub use distinct::Distinct;
pub use error::{Error, Result};
pub use export::{ExportedGraph, export_webgraph};
pub use histogram::{Bin, Histogram};
pub use hits::Hits;
pub use hyper_ball::{Distances, HyperBall};
pub use link_graph::{About, BuildStage, GraphSettings, LinkGraph};
pub use link_lookup::{LinkError, LinkLookup};
pub use moments::Moments;
pub use neighbours::neighbours;
pub use page_rank::{PageRank, Ranking, Weights};
pub use page_text::PageText;
pub use power_law::{Values, fit_power_law};
pub use quantiles::{Quantiles, Spread};
pub use similar::{SimilarText, similar_texts};
pub use similar_pages::{SimilarBy, SimilarPage, SimilarPages, similar_pages};
pub use site_graph::SiteGraph;
pub use statistics::{Description, describe_statistics};
pub use survey::{Survey, Surveyed};
pub use tally::{Tallied, Tally};
pub use top_k::TopK;
