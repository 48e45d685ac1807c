//! One file per subcommand: its arguments, its call, its words.

pub(crate) mod analyze;
pub(crate) mod anchors;
pub(crate) mod cat;
pub(crate) mod check;
pub(crate) mod compact;
pub(crate) mod crawl;
pub(crate) mod demo;
pub(crate) mod export;
pub(crate) mod gatherer;
pub(crate) mod harvester;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod manager;
pub(crate) mod parse;
pub(crate) mod report;
pub(crate) mod robots;
pub(crate) mod seeder;
pub(crate) mod similar;
pub(crate) mod simulate;
pub(crate) mod simweb;
pub(crate) mod sites;
pub(crate) mod snapshots;
pub(crate) mod sql;
pub(crate) mod status;
pub(crate) mod url;
pub(crate) mod why;
