//! Tables that grow with every commit: fetches, documents, links and the log of sites.

pub(crate) mod documents;
pub(crate) mod fetches;
pub(crate) mod links;
pub(crate) mod site_log;
