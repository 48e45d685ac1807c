//! Estimates of change rates, and the theory of refreshing copies.

pub(crate) mod change_priors;
pub(crate) mod change_rate;
pub(crate) mod freshness;
pub(crate) mod poll_intervals;
