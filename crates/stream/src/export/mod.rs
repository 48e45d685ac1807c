//! Exports of a commit: WARC files, one WACZ file, Parquet tables, or plain files.

mod file_name;
mod mirror;
mod tables;
mod wacz;
mod warc;
mod zip;

use std::fs;
use std::io;
use std::path::Path;

use store::{Error, Result};

pub use mirror::export_mirror;
pub use tables::export_tables;
pub use wacz::export_wacz;
pub use warc::export_warc;

/// Result of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExportSummary {
    /// Exported pages, or files of tables.
    pub records: u64,
    /// Files written.
    pub files: u64,
    /// Total size of the files.
    pub bytes: u64,
    /// Bodies with an invalid content encoding; written up to the error.
    pub decode_errors: u64,
    /// Pages that were not written as files: nothing of the content encoding could be decoded, the decoded body or the export
    /// exceeds its maximum size, or no file name was free.
    pub skipped: u64,
    /// Damaged records, which were skipped.
    pub damaged: u64,
}

/// Callback for damaged records, with the URL of the page.
pub type OnDamage<'c> = &'c mut dyn FnMut(&str, &Error);

/// Whether an error means that a record cannot be read, while others can.
fn is_damage(error: &Error) -> bool {
    match error {
        Error::Corrupt { .. } => true,
        Error::Io { source, .. } => source.kind() == io::ErrorKind::UnexpectedEof,
        _ => false,
    }
}

/// Error of an operation on a file of the export.
fn failed(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { operation, path, source }
}

fn create_dir(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(failed("create", path))
}
