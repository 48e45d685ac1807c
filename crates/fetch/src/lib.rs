//! How does one request become one answer? Over http, https, ftp or gopher, within limits, to addresses that may be asked.
//!
//! A [`Fetcher`] takes a [`FetchJob`] and gives an [`Answer`], whatever the server does; between the requests of one
//! site the caller keeps the [`Connection`]. A [`Resolver`] tells the addresses of a host, and [`Networks`] which of
//! them may be asked, which is looked at where the connection is made.
//!
//! This crate never schedules, retries or stores: it is told what to ask whom, and tells what came back.

mod answer;
mod chunked;
mod clock;
mod connect;
mod connection;
mod error;
mod fetcher;
mod ftp;
mod gopher;
mod head;
mod http1;
mod http2;
mod job;
mod made_up;
mod media_types;
mod networks;
mod reception;
mod request;
mod resolver;
mod settings;
mod site_request;
mod stream;
mod tls;
mod until_close;

pub use answer::{Answer, Cut};
pub use connection::Connection;
pub use error::Error;
pub use fetcher::Fetcher;
pub use job::FetchJob;
pub use networks::Networks;
pub use reception::read_answer;
pub use resolver::{Resolved, Resolver};
pub use settings::{Credentials, DnsSettings, FetchSettings, Proxy};
pub use site_request::{SiteExtras, SiteRequest};
