//! Which tables does a commit have, of which files and columns?

use std::path::{Path, PathBuf};

use arrow_schema::SchemaRef;

use super::documents::DocumentRows;
use super::fetches::FetchRows;
use super::links::LinkRows;
use super::prefix;
use super::rows::Rows;
use super::sites::SiteRows;
use crate::manifest::Manifest;

/// One table of a commit.
#[derive(Debug, Clone)]
pub struct TableFiles {
    /// Its name, as in `parquet/`.
    pub name: &'static str,
    /// The columns, which a table has before it has rows.
    pub schema: SchemaRef,
    /// Where its rows are.
    pub files: Vec<PathBuf>,
}

/// The tables of a commit. A file goes when the commits that name it are let go of: open them all, or ask again.
pub fn list_tables(folder: &Path, manifest: &Manifest) -> [TableFiles; 4] {
    [
        files_of::<FetchRows>(folder, manifest),
        files_of::<DocumentRows>(folder, manifest),
        files_of::<LinkRows>(folder, manifest),
        files_of::<SiteRows>(folder, manifest),
    ]
}

fn files_of<R: Rows>(folder: &Path, manifest: &Manifest) -> TableFiles {
    let files = manifest.files_in("tables").filter(|file| file.name.starts_with(&prefix::<R>()));
    TableFiles {
        name: R::NAME,
        schema: R::schema(),
        files: files.map(|file| folder.join(&file.name)).collect(),
    }
}
