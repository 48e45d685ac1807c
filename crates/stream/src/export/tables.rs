//! Export of the tables of a commit: one directory of Parquet files per table.

use std::fs::File;
use std::io;
use std::path::Path;

use store::{Result, Snapshot, list_derived};

use super::ExportSummary;
use super::create_dir;
use super::failed;

/// Copies the files of all tables to `out/TABLE/`, including those of an analysis of this commit. They are copies and not hard
/// links, so that changes to them cannot corrupt the collection.
pub fn export_tables(snapshot: &Snapshot, out: &Path) -> Result<ExportSummary> {
    create_dir(out)?;
    let mut summary = ExportSummary::default();
    for entry in snapshot.manifest.files_in("tables") {
        let name = entry.name.trim_start_matches("tables/");
        let table = name.split('-').next().unwrap_or(name);
        copy(&snapshot.dir().join(&entry.name), &out.join(table), &mut summary)?;
    }
    for entry in list_derived(snapshot.dir())? {
        if entry.generation == snapshot.manifest.generation {
            copy(&entry.path, &out.join(&entry.table), &mut summary)?;
        }
    }
    Ok(summary)
}

fn copy(file: &Path, dir: &Path, summary: &mut ExportSummary) -> Result<()> {
    create_dir(dir)?;
    let copy = dir.join(file.file_name().unwrap_or_default());
    let mut content = File::open(file).map_err(failed("open", file))?;
    let mut out = File::create_new(&copy).map_err(failed("create", &copy))?;
    summary.bytes += io::copy(&mut content, &mut out).map_err(failed("write", &copy))?;
    summary.records += 1;
    summary.files += 1;
    Ok(())
}
