//! List of the tables of a commit, with their files and columns.

use std::path::{Path, PathBuf};

use arrow_schema::SchemaRef;

use super::prefix;
use super::rows::Rows;
use crate::manifest::Manifest;
use crate::tables::committed::documents::DocumentRows;
use crate::tables::committed::fetches::FetchRows;
use crate::tables::committed::links::LinkRows;
use crate::tables::committed::site_log::SiteLogRows;

/// Table of a commit.
#[derive(Debug, Clone)]
pub struct TableInfo {
    /// Name, as in `parquet/`.
    pub name: &'static str,
    /// Columns, also if there are no rows yet.
    pub schema: SchemaRef,
    /// Parquet files.
    pub files: Vec<PathBuf>,
}

/// Lists the tables of a commit. A file is deleted with the last commit that references it: callers must open all files, or
/// retry with a newer commit.
pub fn list_tables(dir: &Path, manifest: &Manifest) -> [TableInfo; 4] {
    [
        files_of::<FetchRows>(dir, manifest),
        files_of::<DocumentRows>(dir, manifest),
        files_of::<LinkRows>(dir, manifest),
        files_of::<SiteLogRows>(dir, manifest),
    ]
}

fn files_of<R: Rows>(dir: &Path, manifest: &Manifest) -> TableInfo {
    let files = manifest.files_in("tables").filter(|file| file.name.starts_with(&prefix::<R>()));
    TableInfo { name: R::NAME, schema: R::schema(), files: files.map(|file| dir.join(&file.name)).collect() }
}
