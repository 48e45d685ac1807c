//! Policies of the crawl: scope, priority of pages, revisits and politeness. Pure functions and data structures.
//!
//! A link is checked against the [`Scope`] by its URL alone, then against the [`Limits`] by the size of its site and domain.
//! A [`Strategy`] sets the weights of the terms that [`Quality`] adds up; [`ChangeHistory`] estimates how often a page
//! changes, and [`PriorityModel`] computes the priority of a fetch. The [`Workbench`] hands out one request at a time per
//! site and per address; [`Politeness`] and [`RetryPolicy`] set the delay or back-off after each request.
//!
//! This crate never opens a socket or a file and never reads a clock: the time is an argument, so that politeness can be
//! tested exhaustively.

mod error;
mod politeness;
mod refresh;
mod scope;
mod scoring;
#[cfg(test)]
mod test_rng;

pub use error::Error;
pub use politeness::delays::Politeness;
pub use politeness::retry_policy::{FetchEvent, PageDecision, RetryDecision, RetryPolicy};
pub use politeness::workbench::{AcquiredSite, Workbench};
pub use refresh::change_priors::ChangePriors;
pub use refresh::change_rate::{
    ChangeHistory, DEFAULT_CHANGES_PER_DAY, irregular_rate, last_modified_rate, regular_rate,
};
pub use refresh::freshness::{
    RefreshTarget, age_index, every_change_index, fresh_probability, freshness_index, harmonic_refreshes,
    mean_age_days, mean_freshness, mean_harmonic_staleness, optimal_refreshes, proportional_refreshes,
    uniform_refreshes,
};
pub use refresh::poll_intervals::PollIntervals;
pub use scope::limits::{DomainBudget, Limits, TemplateLimits};
pub use scope::linking_domains::{estimate_linking_domains, linking_domain_bit};
pub use scope::path_patterns::PathPatterns;
pub use scope::rules::ScopeRules;
pub use scope::trap::TrapLimits;
pub use scope::url_groups::{GroupSet, SITE_GROUP, URL_GROUPS, UrlGroups};
pub use scope::url_score::{UrlPattern, UrlScorer, dequantize_u16, for_each_word, quantize_u16};
pub use scope::{Scope, ScopeDecision, SiteScope, SiteScopes};
pub use scoring::objective::Objective;
pub use scoring::opic::{CashAccount, INITIAL_CASH, SharedCash};
pub use scoring::page_facts::{FactMaxima, PageFacts};
pub use scoring::pagerank::{TELEPORT_PROBABILITY, streaming_pagerank};
pub use scoring::priority::PriorityModel;
pub use scoring::quality::{Quality, TermContribution};
pub use scoring::strategy::Strategy;
pub use scoring::term::{QualityTerm, Weights};
