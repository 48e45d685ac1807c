//! Mergeable summaries of a stream of values: counts, moments, histograms, quantiles, distinct counts, top k; and the
//! power-law fit.

pub(crate) mod counter;
pub(crate) mod histogram;
pub(crate) mod hyper_log_log;
pub(crate) mod moments;
pub(crate) mod power_law;
pub(crate) mod quantiles;
pub(crate) mod top_k;
