//! Which Parquet files are the tables now? `parquet/TABLE/` holds links to exactly the files of the newest commit.
//!
//! In `tables/` itself lie also files that only older snapshots name, and a pattern over both would count rows twice.
//! The view is made anew from the manifest whenever that changes; nothing depends on it but people and their tools.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Context, Result};
use crate::manifest::Manifest;

/// The folder of the view, below the collection's.
pub(super) const VIEW: &str = "parquet";

/// Where the view shows a file of the tables, by its name in the manifest.
pub(crate) fn shown_at(folder: &Path, name: &str) -> PathBuf {
    let name = name.trim_start_matches("tables/");
    let table = name.split('-').next().unwrap_or(name);
    folder.join(VIEW).join(table).join(name)
}

/// Makes the view of these tables show this commit.
pub(super) fn refresh(folder: &Path, manifest: &Manifest, tables: &[&str]) -> Result<()> {
    for table in tables {
        let view = folder.join(VIEW).join(table);
        fs::create_dir_all(&view).context("create", &view)?;
        let prefix = format!("tables/{table}-");
        let wanted: HashSet<&str> = manifest
            .files_in("tables")
            .filter(|file| file.name.starts_with(&prefix))
            .map(|file| file.name.trim_start_matches("tables/"))
            .collect();
        for entry in fs::read_dir(&view).context("list", &view)? {
            let entry = entry.context("list", &view)?;
            if !wanted.contains(entry.file_name().to_string_lossy().as_ref()) {
                fs::remove_file(entry.path()).context("remove", &entry.path())?;
            }
        }
        for name in wanted {
            let link = view.join(name);
            match fs::hard_link(folder.join("tables").join(name), &link) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(error).context("link", &link);
                }
                _ => {}
            }
        }
    }
    Ok(())
}
