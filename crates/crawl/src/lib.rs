//! The collection side of a crawl: selection of pages, ingestion of fetched ones, and the crawl loop.
//!
//! The life of a page: the manager selects it for a batch; a harvester fetches it ([`FetchedPage`](harvest::FetchedPage)); a [`Gatherer`](harvest::Gatherer), one per
//! thread, parses it ([`GatheredPage`](harvest::GatheredPage)); [`Ingest`] stores it in the collection, its links in the URL table, and its metadata in
//! records and tables. [`import()`] does the same with WARC files.
//!
//! [`crawl()`] runs everything in one process. [`manage`], [`harvest_collection`](harvest::harvest_collection), [`gather`] and [`seed`] are the four separate
//! programs of WIRE, which exchange directories.
//!
//! This crate never opens a socket, prints or reads arguments.

mod claims;
mod coordinator;
mod cycle;
mod error;
mod import;
mod ingest;
mod manager;
mod quarantine;
mod recovery;
mod rejudge;
mod seeder;
mod standalone;
mod state;
#[cfg(test)]
mod test_collection;

pub use cycle::limits::{CrawlLimits, CrawlSummary};
pub use cycle::{crawl, crawl_by_workers};
pub use error::Error;
pub use import::carry_over::{CarryOver, apply_carry_over, list_carry_over};
pub use import::{ImportEvent, ImportSummary, import};
pub use ingest::Ingest;
pub use ingest::summary::IngestSummary;
pub use ingest::table_rows::describe_sites;
pub use manager::budgets::read_budgets;
pub use manager::day_budget::{DayBudget, daily_budgets};
pub use manager::page_ranks::check_ranks;
pub use manager::poll_times::{robots_due_s, sitemaps_due_s};
pub use manager::priority::{PriorityExplanation, explain_priority};
pub use manager::refetch::{RefetchSummary, request_refetch};
pub use manager::revisit::{page_due_s, site_delay_ms};
pub use quarantine::{QuarantinedItem, list_quarantine};
pub use rejudge::{RejudgeEffect, RejudgeSummary, preview_rejudge, rejudge};
pub use standalone::gatherer::{GatherSummary, gather};
pub use standalone::manager::{CreatedBatch, ManageSummary, manage};
pub use standalone::seeder::{SeedSummary, add_seeds, seed};
pub use state::crawl_state::CrawlState;
pub use state::template_budgets::TemplateBudget;
