//! The tables of a commit, copied: one folder for each, with Parquet files that any tool reads.

use std::fs;
use std::path::Path;

use store::{Result, Snapshot, list_derived};

use super::{Exported, create_folder, failed};

/// Copies the files of all tables to `out/TABLE/`, with those that an analysis of this commit wrote. They are copies, not
/// links: nobody who works with them can harm the collection.
pub fn export_tables(snapshot: &Snapshot, out: &Path) -> Result<Exported> {
    create_folder(out)?;
    let mut exported = Exported::default();
    for entry in snapshot.manifest.files_in("tables") {
        let name = entry.name.trim_start_matches("tables/");
        let table = name.split('-').next().unwrap_or(name);
        copy(&snapshot.folder().join(&entry.name), &out.join(table), &mut exported)?;
    }
    for entry in list_derived(snapshot.folder())? {
        if entry.generation == snapshot.manifest.generation {
            copy(&entry.path, &out.join(&entry.table), &mut exported)?;
        }
    }
    Ok(exported)
}

fn copy(file: &Path, folder: &Path, exported: &mut Exported) -> Result<()> {
    create_folder(folder)?;
    let copy = folder.join(file.file_name().unwrap_or_default());
    exported.bytes += fs::copy(file, &copy).map_err(failed("write", &copy))?;
    exported.items += 1;
    exported.files += 1;
    Ok(())
}
