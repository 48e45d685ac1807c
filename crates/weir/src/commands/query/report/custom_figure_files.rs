//! Files of custom figures: `DIR/figures/NAME.sql`.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::exit::UsageError;

/// Maximum number of custom figures: each is a query and a figure of the page.
const MAX_FILES: usize = 100;

/// Files of custom figures, sorted by name. Hidden files, which editors create, are skipped.
pub(crate) fn find(collection: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let dir = collection.join("figures");
    let entries = match std::fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot list {}", dir.display())),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list {}", dir.display()))?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if is_hidden || path.extension().is_none_or(|extension| extension != "sql") {
            continue;
        }
        if files.len() == MAX_FILES {
            let message = format!("{} has more than {MAX_FILES} figures; remove some", dir.display());
            return Err(UsageError(message).into());
        }
        files.push(path);
    }
    files.sort();
    Ok(files)
}

/// Warns that custom figures are skipped because this build has no SQL engine.
#[cfg(not(feature = "sql"))]
pub(crate) fn warn_of_skipped(collection: &Path, printer: &mut crate::output::Printer) -> anyhow::Result<()> {
    let count = find(collection)?.len();
    if count == 0 {
        return Ok(());
    }
    let figures = crate::human::plural(count as u64, "custom figure");
    printer.warn(&format!("{figures} skipped: this build has no SQL support (`--features sql`)"))
}
