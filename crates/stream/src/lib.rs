//! How does a collection leave wholesale? As a stream of pages, none of which waits for another.
//!
//! This crate never buffers more than one record: what goes in comes out before the next is read.

mod admission;
mod ask;
mod export;
#[cfg(feature = "flight")]
mod flight;
mod form;
mod handler;
mod handler_run;
mod http;
mod outflow;
mod page_view;
mod remote;
mod shelf;

pub use admission::StreamLimits;
pub use ask::{Ask, WrongAsk};
pub use export::{Exported, export_mirror, export_tables, export_wacz, export_warc};
#[cfg(feature = "flight")]
pub use flight::{Admits, Flight, FlightSettings};
pub use form::{Column, Form, Format};
pub use handler::{Handler, HandlerError};
pub use handler_run::{HandlerRun, RunSummary, Stopped};
pub use http::{ClientAddress, router};
pub use outflow::{Given, Outflow};
pub use page_view::{PageView, SeenLink, Viewer};
pub use remote::{Access, Remote, RemoteError};
pub use shelf::Shelf;
