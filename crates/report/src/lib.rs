//! How is a collection described to somebody who was not there? The statistics of its last analysis as a report: figures
//! with captions, tables, and the query behind each, as one page of HTML, a PDF, SVG and CSV.
//!
//! Every figure is one file in `figures/`, which says what it shows and how; users add [`OwnFigure`]s. A [`Side`] brings the statistics of one
//! collection at one commit; with two sides every figure shows both.
//!
//! This crate never computes a statistic: it draws those that are there. It never prints.

mod caption;
mod catalogue;
mod csv;
mod draw;
mod error;
mod figure;
mod files;
mod format;
mod html;
mod own_figure;
#[cfg(feature = "pdf")]
mod print;
mod report;
mod side;
mod table;
mod typst_text;
pub mod words;

pub use catalogue::catalogue;
pub use error::{Error, Result};
pub use figure::{Drawing, Figure, Section};
pub use format::Format;
pub use own_figure::OwnFigure;
pub use report::{Entry, Report};
pub use side::Side;

/// Whether [`Report::print`] can do anything: typst takes longer to compile than all the rest, and may be left out.
pub const CAN_PRINT: bool = cfg!(feature = "pdf");
