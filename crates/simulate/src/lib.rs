//! How good is a crawl's order, and how fresh does it keep its pages? A laboratory for strategies: a Web that is wholly
//! known is crawled in virtual time, by the code of the crawl itself.
//!
//! A [`Web`] is made up ([`Synthetic`]) or was crawled before ([`stored_web`]). [`crawl_order`] crawls it under a [`Guide`], and
//! [`OrderScore`] tells what the order was worth; [`keep_fresh`] revisits its pages. [`Laboratory`] does both for several
//! strategies and for the oracles that bound them. The scores, the choice of the best pages, the estimates of change and the clocks of politeness are those of `frontier` and
//! `store`; only the network and the time are not real.
//!
//! This crate never touches the network.

mod chance;
mod changes;
mod comparison;
mod curve;
mod error;
mod harvest;
mod kendall;
mod known;
mod order;
mod page_rank;
mod refresh;
mod stored;
mod synthetic;
mod web;

pub use comparison::{Comparison, Entry, Experiment, Laboratory};
pub use curve::{EARLY, OrderScore, ceiling};
pub use error::Error;
pub use kendall::kendall_tau;
pub use order::{CrawlOrder, CrawlRules, Guide, Ranks, crawl_order};
pub use page_rank::page_ranks;
pub use refresh::{RefreshGuide, RefreshRules, RefreshScore, keep_fresh};
pub use stored::stored_web;
pub use synthetic::Synthetic;
pub use web::{Web, WebPage, WebSite};
