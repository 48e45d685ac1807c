//! Simulation of crawl strategies: a completely known Web model is crawled in virtual time by the code of the crawl
//! itself, to measure the quality of the order and the freshness of the copies.
//!
//! A [`WebModel`] is synthetic ([`Synthetic`]) or comes from a collection ([`web_from_snapshot`]). [`crawl_order`]
//! crawls it under an [`OrderPolicy`], and [`OrderScore`] rates the order; [`simulate_refresh`] revisits its pages.
//! [`ExperimentRunner`] does both for several strategies and for the oracles that are their reference. Scores,
//! selection, change estimates and politeness clocks are those of `frontier` and `store`.
//!
//! This crate never opens a socket or reads a clock: the same seed gives the same result.

mod changes;
mod comparison;
mod crawl_state;
mod curve;
mod error;
mod fetch_simulation;
mod from_snapshot;
mod kendall;
mod order;
mod page_rank;
mod random;
mod refresh;
mod synthetic;
mod web_model;

pub use comparison::{Comparison, Experiment, ExperimentResult, ExperimentRunner};
pub use curve::{EARLY_SHARE, OrderScore, upper_bound};
pub use error::Error;
pub use from_snapshot::web_from_snapshot;
pub use kendall::kendall_tau;
pub use order::{CrawlOrder, CrawlParams, OrderPolicy, RankSource, crawl_order};
pub use page_rank::page_ranks;
pub use refresh::{RefreshParams, RefreshPolicy, RefreshScore, simulate_refresh};
pub use synthetic::Synthetic;
pub use web_model::{WebModel, WebPage, WebSite};
