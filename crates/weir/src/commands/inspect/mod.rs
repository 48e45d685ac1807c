//! Commands that explain a single page, URL or rule.

pub(crate) mod anchors;
pub(crate) mod parse;
pub(crate) mod robots;
pub(crate) mod url;
pub(crate) mod why;
