//! Streams and exports of the pages of a collection: over HTTP, over Arrow Flight, to handlers in the same process, and as
//! WARC, WACZ, Parquet or plain files.
//!
//! This crate never buffers more than one record per stream: each page is written before the next is read.

mod admission;
mod client;
mod connection_table;
mod export;
#[cfg(feature = "flight")]
mod flight;
mod handlers;
mod http;
mod page_view;
mod query;
mod snapshot_cache;
mod writer;

pub use admission::{StreamLimits, StreamUsage};
pub use client::{RemoteAccess, RemoteError, RemoteStream};
pub use connection_table::{
    ActiveRequest, ConnectionActivity, ConnectionPermit, ConnectionRefusal, ConnectionTable,
};
pub use export::{ExportSummary, OnDamage, export_mirror, export_tables, export_wacz, export_warc};
#[cfg(feature = "flight")]
pub use flight::{FlightServer, FlightSettings, TokenCheck};
pub use handlers::handler::{Handler, HandlerError};
pub use handlers::run::{HandlerRun, HandlerRunSummary, StoppedHandler};
pub use http::{ClientAddress, StreamService};
pub use page_view::{PageLink, PageView, PageViewer};
pub use query::output::{OutputColumn, OutputFormat, OutputOptions};
pub use query::stream_query::{QueryError, StreamQuery};
pub use snapshot_cache::SnapshotCache;
pub use writer::{StreamItem, StreamWriter};
