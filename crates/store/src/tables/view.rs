//! View of the tables for external tools: `parquet/TABLE/` has hard links to the files of the newest commit.
//!
//! The directory `tables/` also has files that only older snapshots reference, so a glob over it would count rows twice.
//! The view is refreshed after each commit; no component reads it.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{self, DirEntry};
use crate::error::{Context, Result};
use crate::layout;
use crate::manifest::Manifest;

/// Directory of the view.
pub(super) const VIEW: &str = "parquet";

/// Path in the view of a table file, by its name in the manifest.
pub(crate) fn view_path(dir: &Path, name: &str) -> PathBuf {
    let name = name.trim_start_matches("tables/");
    let table = name.split('-').next().unwrap_or(name);
    dir.join(VIEW).join(table).join(name)
}

/// Refreshes the view of these tables for a commit.
pub(super) fn refresh(dir: &Path, manifest: &Manifest, tables: &[&str]) -> Result<()> {
    for table in tables {
        let view = dir.join(VIEW).join(table);
        disk::create_dir_all(&view).context("create", &view)?;
        let prefix = format!("tables/{table}-");
        let current: BTreeSet<&str> = manifest
            .files_in("tables")
            .filter(|file| file.name.starts_with(&prefix))
            .map(|file| file.name.trim_start_matches("tables/"))
            .collect();
        for name in disk::list(&view).context("list", &view)?.iter().map(DirEntry::text) {
            // Files that a user has put here remain.
            if layout::is_component_file("tables", &name) && !current.contains(name.as_str()) {
                let path = view.join(name);
                disk::remove_file(&path).context("remove", &path)?;
            }
        }
        for name in current {
            let link = view.join(name);
            match disk::hard_link(&dir.join("tables").join(name), &link) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(error).context("link", &link);
                }
                _ => {}
            }
        }
    }
    Ok(())
}
