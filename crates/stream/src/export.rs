//! What do others want of a collection? Its pages as a web archive or as one file for a browser, its tables, or a tree of plain files.

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

/// What came of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exported {
    /// Pages, or tables' files.
    pub items: u64,
    /// Files written.
    pub files: u64,
    /// Their length together.
    pub bytes: u64,
    /// Bodies that could not be decoded to their end and are written as far as they could.
    pub undecoded: u64,
}

/// Says which operation on which file of the export failed.
fn failed(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { operation, path, source }
}

fn create_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(failed("create", path))
}
