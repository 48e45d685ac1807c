//! The tables of a commit, copied: one folder for each, with Parquet files that any tool reads.

use std::fs;
use std::path::Path;

use store::{Result, Snapshot};

use super::{Exported, create_folder, failed};

/// Copies the files of all tables to `out/TABLE/`. They are copies, not links: nobody who works with them can harm the
/// collection.
pub fn export_tables(snapshot: &Snapshot, out: &Path) -> Result<Exported> {
    create_folder(out)?;
    let mut exported = Exported::default();
    for entry in snapshot.manifest.files_in("tables") {
        let name = entry.name.trim_start_matches("tables/");
        let folder = out.join(name.split('-').next().unwrap_or(name));
        create_folder(&folder)?;
        let copy = folder.join(name);
        exported.bytes +=
            fs::copy(snapshot.folder().join(&entry.name), &copy).map_err(failed("write", &copy))?;
        exported.items += 1;
        exported.files += 1;
    }
    Ok(exported)
}
