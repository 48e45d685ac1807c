//! How does a collection grow? By what comes back from the Web, or from the archives of others.
//!
//! The life of a page here: somebody [fetched](Fetched) it; a [`Gatherer`], one per thread, reads what it says and gets it
//! ready to be stored; [`Fold`] takes what was [gathered](Gathered), in batches, into the collection: the page into the
//! store, its links into the URL table, what was learned into states and tables. [`import()`] does all of that with files
//! in the WARC format.
//!
//! [`crawl()`] is the whole in one process. [`manage`], [`harvest_collection`], [`gather`] and [`seed`] are its four programs,
//! each alone, with folders between them.
//!
//! This crate never prints, and never reads arguments: it reports to those who do.

mod appraisal;
mod batch;
mod broker;
mod budgets;
mod busy_places;
mod clock;
mod closed_folder;
mod common_cash;
mod crawl;
mod crawl_settings;
mod crew;
mod domain_budget;
mod errand;
mod error;
mod fetched;
mod focus;
mod fold;
mod folder_broker;
mod folder_depot;
mod forgetter;
mod found;
mod front_desk;
mod gathered;
mod gatherer;
mod gatherer_alone;
mod gatherers;
mod hand;
mod harvest;
mod harvest_folder;
mod harvester;
mod harvester_alone;
mod helm;
mod heritage;
mod http_head;
mod import;
mod job;
mod journal;
mod json_lines;
mod known_sites;
mod known_visits;
mod lease_clock;
mod live;
mod locate;
mod log_listener;
mod manager;
mod manager_alone;
mod mark;
mod memory;
mod messages;
mod name_clocks;
mod news;
mod noted_rests;
mod open_batches;
mod orders;
mod originals;
mod outbox;
mod outcome;
mod pace;
mod page_ranks;
mod painter;
mod picture;
mod places;
mod progress;
mod random;
mod recovery;
mod referrals;
mod robots_answer;
mod robots_kind;
mod rows;
mod rules;
mod running;
mod seeder;
mod seeder_alone;
mod segment;
mod site_list;
mod site_run;
mod site_tallies;
mod sitemaps;
mod staff;
mod status;
mod stop;
mod story;
mod territory;
mod url_promise;
mod validators;
mod visit;
mod warc_page;
mod worker;
mod workers;

pub use appraisal::{Judgement, judge};
pub use batch::{Batch, BatchPage, BatchSite, RobotsCopy};
pub use broker::{
    Broker, BrokerError, Depot, Lease, LogEntry, MESSAGE_LIMIT_BYTES, check_object_name, too_long,
};
pub use budgets::Budgets;
pub use clock::Clock;
pub use closed_folder::FolderError;
pub use crawl::{CrawlEnd, CrawlSummary, crawl, crawl_by_workers};
pub use crawl_settings::{CrawlSettings, Revisits, SiteMatch, SiteOverride};
pub use error::Error;
pub use fetched::Fetched;
pub use focus::Focus;
pub use fold::{Fold, Folded};
pub use folder_broker::FolderBroker;
pub use folder_depot::FolderDepot;
pub use gathered::Gathered;
pub use gatherer::{GatherSettings, Gatherer};
pub use gatherer_alone::{GatherSummary, gather};
pub use harvester_alone::{HarvestSummary, harvest_batch, harvest_collection, open_batches, sites_of_batch};
pub use helm::Helm;
pub use heritage::{Heir, heirs, inherit};
pub use import::{ImportEvent, ImportSummary, import};
pub use known_sites::{mistyped_url, suggest_sites};
pub use live::{Live, LiveBatch, LiveCommit, LiveSite, LiveWorker, Rates, Sample};
pub use manager_alone::{BatchMade, Managed, manage};
pub use memory::memory_bytes;
pub use outcome::Outcome;
pub use page_ranks::check_ranks;
pub use places::last_batch;
pub use progress::{Counters, Outcomes, Progress};
pub use robots_answer::Robots;
pub use robots_kind::RobotsKind;
pub use rows::describe_sites;
pub use seeder_alone::{SeedSummary, add_seeds, seed};
pub use site_list::{SiteEntry, SiteOrder, SiteQuery, list_sites, site_entry};
pub use status::{SiteStates, Status};
pub use stop::Stop;
pub use story::{
    BudgetStory, LinkStory, PageStory, RobotsStory, SiteStory, Story, VisitStory, Worth, WorthTerm, story,
};
pub use url_promise::UrlWord;
pub use validators::Validators;
pub use worker::{WorkerPlan, WorkerSummary, work};
pub use workers::Carriers;
