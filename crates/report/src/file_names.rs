//! Names of the files of a report.

/// Name of the HTML page of a report.
pub const HTML_FILE: &str = "report.html";
pub(crate) const TYPST_FILE: &str = "report.typ";
pub(crate) const PDF_FILE: &str = "report.pdf";
pub(crate) const DATA_DIR: &str = "data";
pub(crate) const FIGURES_DIR: &str = "figures";
/// Suffix of the names of files with the data of the second input.
pub(crate) const COMPARED_SUFFIX: &str = "-compared";

pub(crate) fn csv_name(name: &str) -> String {
    format!("{name}.csv")
}

/// Name of the data of the second input.
pub(crate) fn compared_name(name: &str) -> String {
    format!("{name}{COMPARED_SUFFIX}")
}

pub(crate) fn pdf_name(name: &str) -> String {
    format!("{name}.pdf")
}

pub(crate) fn svg_name(name: &str) -> String {
    format!("{name}.svg")
}
