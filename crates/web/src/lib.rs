//! How does somebody see it all? A server with a search page, a dashboard and an interface for programs.
//!
//! [`Server::bind`] takes an address; [`Server::start`] answers on a thread of its own until [`Serving::stop`]. What it shows
//! is the newest commit of one collection, and, where it is given a [`Live`] crawl, how that goes.
//!
//! This crate never holds logic that others need: it shows what the crates below have found.

mod error;
mod live;
mod routes;
mod server;
mod token;
mod web_settings;

pub use error::{Error, Result};
pub use live::Live;
pub use server::{Server, Serving};
pub use token::Token;
pub use web_settings::WebSettings;
