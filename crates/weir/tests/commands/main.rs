//! Commands that need no crawl: parsing, imports, simulations.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test helpers may panic")]

mod import;
mod import_wget;
mod parse;
mod robots;
mod simulate;
mod simweb;
mod terminal;
mod url;
