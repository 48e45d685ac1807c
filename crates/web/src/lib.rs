//! Web server of a collection: search page, dashboard and HTTP API.
//!
//! [`Server::bind`] opens the listener; [`Server::start`] serves requests on a thread of its own until
//! [`RunningServer::stop`]. The server shows the newest commit of one collection and, if it gets a [`harvest::CrawlHandle`],
//! the progress of that crawl.
//!
//! - `credentials`: access token, session secrets, TLS certificate
//! - `http`: listener, connections, routes
//! - `auth`: checks of host, origin, token and CSRF token
//! - `state`: shared state, caches, request parameters, errors
//! - `pages`, `api`: handlers
//! - `sanitize`: untrusted content made safe to display
//!
//! This crate contains no logic that other crates need: it displays what the crates below it return.

mod api;
mod auth;
mod credentials;
mod error;
#[cfg(fuzzing)]
pub mod fuzzing;
mod http;
mod pages;
mod paths;
mod sanitize;
mod settings;
mod state;

pub use credentials::tls::Tls;
pub use credentials::token::Token;
pub use error::{Error, Result};
pub use http::server::{RunningServer, Server};
pub use settings::WebSettings;
