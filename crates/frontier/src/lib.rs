//! What may be fetched next, and when is it polite?
//!
//! A link passes the [`Scope`] by its URL alone, then the [`Limits`] by what is known of its site and domain. The
//! [`Strategy`] says which pages are worth a visit first. The [`Workbench`] gives out one request at a time for each site
//! and each address; [`Waits`] and [`Patience`] say how long both are left alone afterwards.
//!
//! This crate never touches a socket, the disk or a clock: the time is an argument, so that politeness can be proved.

mod error;
mod hosts;
mod limits;
mod linking_domains;
mod patience;
mod reject;
mod scope;
mod strategy;
mod trap;
mod waits;
mod workbench;

pub use error::Error;
pub use hosts::HostList;
pub use limits::{DomainBudget, Limits};
pub use linking_domains::{linking_bit, linking_domains};
pub use patience::{Event, PageVerdict, Patience, Verdict};
pub use reject::RejectPatterns;
pub use scope::Scope;
pub use strategy::Strategy;
pub use trap::TrapRules;
pub use waits::Waits;
pub use workbench::{Turn, Workbench};
