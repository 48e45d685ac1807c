//! How does one request become one answer? Over http, https, ftp or gopher, within limits, to addresses that may be asked.
//!
//! A [`Fetcher`] takes a [`FetchJob`] and gives an [`Answer`], whatever the server does; between the requests of one
//! site the caller keeps the [`Connection`]. A [`Resolver`] tells the addresses of a host, and [`Networks`] which of
//! them may be asked, which is looked at again where the connection is made.
//!
//! This crate never schedules, retries or stores: it is told what to ask whom, and tells what came back.

mod answer;
mod error;
mod job;
mod networks;
mod settings;
mod site_request;

pub use answer::{Answer, Cut};
pub use error::Error;
pub use job::FetchJob;
pub use networks::Networks;
pub use settings::{Credentials, DnsSettings, FetchSettings, Proxy};
pub use site_request::{SiteExtras, SiteRequest};
