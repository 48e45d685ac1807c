//! How does somebody see it all? A server with a search page, a dashboard and an interface for programs.
//!
//! [`Server::bind`] takes an address; [`Server::start`] answers on a thread of its own until [`Serving::stop`]. What it shows
//! is the newest commit of one collection, and, where it is given a [`crawl::Helm`], how that crawl goes.
//!
//! This crate never holds logic that others need: it shows what the crates below have found.

mod about;
mod asked;
mod assets;
mod cached;
mod clients;
mod connection;
mod counted;
mod curve;
mod dashboard;
mod desk;
mod error;
mod failure;
mod finding;
mod frame;
mod guard;
mod harmless;
mod login;
mod metrics;
mod newest;
mod patient;
mod place;
mod renewed;
mod reports;
mod results;
mod routes;
mod searching;
mod secrets;
mod server;
mod shown;
mod similar;
mod site;
mod sites;
mod snapshots;
mod stored;
mod tls;
mod token;
mod visitor;
mod way;
mod web_settings;

pub use error::{Error, Result};
pub use server::{Server, Serving};
pub use tls::Tls;
pub use token::Token;
pub use web_settings::WebSettings;
