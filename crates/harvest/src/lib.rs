//! Fetching side of a crawl: batches of pages in, fetched and parsed pages out.
//!
//! The [dispatcher] resolves the host names of a batch and assigns each site to a [harvester]; harvesters, one per core,
//! send the requests politely; a [gatherer] on the same thread parses each page. Harvested items leave through a bounded
//! channel. A [worker] does the same for a coordinator in another process, which it reaches through a [transport].
//!
//! This crate never opens a collection, so that it can run on any machine. It never prints.

pub mod control;
pub mod dispatcher;
mod error;
pub mod files;
pub mod gatherer;
pub mod harvester;
pub mod item;
pub mod settings;
pub mod transport;
pub mod verification;
pub mod worker;

pub use control::budgets::Budgets;
pub use control::counters::{Counters, Outcomes, Progress};
pub use control::handle::CrawlHandle;
pub use control::live_status::{
    CounterSample, LiveBatch, LiveCommit, LiveSite, LiveStatus, LiveWorker, Throughput,
};
pub use control::local_faults::LocalFaultStatus;
pub use control::process_memory::memory_bytes;
pub use error::Error;
pub use files::sealed_dir::SealedDirError;
pub use gatherer::Gatherer;
pub use harvester::standalone::{
    HarvestSummary, batch_sites, harvest_batch, harvest_collection, open_batches,
};
pub use item::batch::{Batch, BatchPage, BatchSite};
pub use item::fetch_outcome::FetchOutcome;
pub use item::fetched_page::FetchedPage;
pub use item::gathered_page::GatheredPage;
pub use item::robots_policy::RobotsPolicy;
pub use item::robots_response::RobotsResponse;
pub use item::validators::Validators;
pub use settings::clock::CrawlClock;
pub use settings::crawl_settings::{
    CommitSettings, CrawlSettings, LookupLimits, RevisitIntervals, RobotsSettings, SiteMatch, SiteOverride,
    SitemapSettings,
};
pub use settings::focus::Focus;
pub use settings::gather_settings::GatherSettings;
pub use settings::stop_mode::StopMode;
pub use transport::Transport;
pub use transport::blob_store::{BlobStore, blob_too_large, check_blob_name};
pub use transport::broker::{Broker, BrokerError, Lease, LogEntry, MAX_MESSAGE_BYTES};
pub use transport::dir_blob_store::DirBlobStore;
pub use transport::dir_broker::DirBroker;
pub use worker::{WorkerConfig, WorkerSummary, work};
