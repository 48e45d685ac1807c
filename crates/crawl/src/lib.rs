//! How does a collection grow? By what comes back from the Web, or from the archives of others.
//!
//! The life of a page here: somebody [fetched](Fetched) it; a [`Gatherer`], one per thread, reads what it says and gets it
//! ready to be stored; [`Fold`] takes what was [gathered](Gathered), in batches, into the collection: the page into the
//! store, its links into the URL table, what was learned into states and tables. [`import()`] does all of that with files
//! in the WARC format.
//!
//! This crate never prints, and never reads arguments: it reports to those who do.

mod fetched;
mod fold;
mod gathered;
mod gatherer;
mod http_head;
mod import;
mod known_visits;
mod news;
mod originals;
mod outcome;
mod rows;
mod visit;
mod warc_page;

pub use fetched::Fetched;
pub use fold::{Fold, Folded};
pub use gathered::Gathered;
pub use gatherer::{GatherSettings, Gatherer};
pub use import::{ImportEvent, ImportSummary, import};
pub use outcome::Outcome;
pub use rows::describe_sites;
