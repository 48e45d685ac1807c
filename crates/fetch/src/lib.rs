//! Client for HTTP/1.1, HTTP/2, ftp and gopher with limits on time and size, and a DNS resolver.
//!
//! [`Fetcher::fetch`] sends one [`FetchRequest`] and returns one [`Response`], whatever the server does: a timeout or an
//! invalid response is an outcome, not an error. Between two requests to a site the caller holds the [`Connection`]. A
//! [`Resolver`] looks up the addresses of a host. [`NetworkFilter`] decides which addresses may be contacted; it is applied
//! when a connection is opened, not when a name is resolved.
//!
//! This crate never schedules, retries, follows redirects or stores responses.

mod address;
mod body_budget;
mod connect;
mod connect_error;
mod error;
mod exchange_timer;
mod fetch_request;
mod fetcher;
#[cfg(fuzzing)]
pub mod fuzzing;
mod http;
mod local_fault;
mod mime_types;
mod non_http;
mod response;
mod settings;
mod site_headers;
pub(crate) mod tls_stream;

pub use self::http::response_reader::parse_response;
pub use address::dns_settings::DnsSettings;
pub use address::network_filter::NetworkFilter;
pub use address::resolver::{ResolvedHost, Resolver};
pub use body_budget::{BodyBudget, BodyReservation};
pub use connect::connection::Connection;
pub use error::Error;
pub use fetch_request::FetchRequest;
pub use fetcher::Fetcher;
pub use local_fault::{Failure, LocalFault};
pub use response::Response;
pub use settings::{BasicCredentials, FetchSettings, Proxy};
pub use site_headers::{SiteHeaders, SiteRequestSettings};
