//! Reports: the statistics of an analysis as figures with captions, tables, and the query behind each, as one HTML
//! page, PDF, SVG and CSV.
//!
//! Each figure is defined by a file in `figures/`; users add [`CustomFigure`]s. A [`ReportInput`] has the statistics of
//! one collection at one commit; with two inputs each figure shows both.
//!
//! This crate never computes a statistic: it only renders them. It never prints.

mod caption;
mod csv;
mod custom_figure;
mod error;
mod figure;
mod figures;
mod file_names;
mod files;
mod format;
mod html;
pub mod human;
#[cfg(feature = "pdf")]
mod pdf;
mod render;
mod report;
mod report_input;
mod table;
mod typst_source;

pub use custom_figure::CustomFigure;
pub use error::{Error, Result};
pub use figure::{Drawing, Figure, Section};
pub use figures::figures;
pub use file_names::HTML_FILE;
pub use format::Format;
pub use html::{GENERATOR, render_html};
pub use report::{Report, ReportEntry};
pub use report_input::ReportInput;

/// Whether [`Report::write_pdf`] is available. typst takes longer to compile than everything else, so it is optional.
pub const HAS_PDF: bool = cfg!(feature = "pdf");
