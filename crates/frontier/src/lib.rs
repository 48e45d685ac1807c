//! What may be fetched next, and when is it polite?
//!
//! A link passes the [`Scope`] by its URL alone, then the [`Limits`] by what is known of its site and domain. A
//! [`Strategy`] weighs what speaks for a page, and [`Quality`] adds it up; [`ChangeHistory`] estimates how often the page changes,
//! and [`Profit`] tells what a visit would gain. The [`Workbench`] gives out one request at a time for each site and each
//! address; [`Waits`] and [`Patience`] say how long both are left alone afterwards.
//!
//! This crate never touches a socket, the disk or a clock: the time is an argument, so that politeness can be proved.

mod change_priors;
mod change_rate;
mod error;
mod forward_rank;
mod freshness;
mod hosts;
mod limits;
mod linking_domains;
mod opic;
mod page_facts;
mod patience;
mod profit;
mod quality;
mod reject;
mod scope;
#[cfg(test)]
mod seeded;
mod strategy;
mod term;
mod trap;
mod waits;
mod workbench;

pub use change_priors::ChangePriors;
pub use change_rate::{ChangeHistory, UNKNOWN_CHANGES_PER_DAY, dated_rate, irregular_rate, regular_rate};
pub use error::Error;
pub use forward_rank::{JUMP, forward_rank};
pub use freshness::{
    Refreshed, age_index, every_change_index, fresh_probability, freshness_index, harmonic_refreshes,
    mean_age_days, mean_freshness, mean_harmonic_staleness, optimal_refreshes, proportional_refreshes,
    uniform_refreshes,
};
pub use hosts::HostList;
pub use limits::{DomainBudget, Limits};
pub use linking_domains::{linking_bit, linking_domains};
pub use opic::{CommonCash, FIRST_CASH, Purse};
pub use page_facts::{Most, PageFacts};
pub use patience::{Event, PageVerdict, Patience, Verdict};
pub use profit::{Aim, Profit};
pub use quality::{Contribution, Quality};
pub use reject::RejectPatterns;
pub use scope::Scope;
pub use strategy::Strategy;
pub use term::{Term, Weights};
pub use trap::TrapRules;
pub use waits::Waits;
pub use workbench::{Turn, Workbench};
