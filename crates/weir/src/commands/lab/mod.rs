//! Commands for experiments: simulated crawls and a synthetic Web.

pub(crate) mod simulate;
pub(crate) mod simweb;
