//! Commands that index, analyse, query and serve a collection.

pub(crate) mod analyze;
pub(crate) mod index;
pub(crate) mod report;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod similar;
pub(crate) mod sql;
