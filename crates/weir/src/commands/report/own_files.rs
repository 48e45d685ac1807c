//! Which figures of their own have users put into a collection? The files `DIR/figures/NAME.sql`.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::failure::WrongUse;

/// So many figures of one's own at most: each is a query, and a place in the page.
const MOST_FILES: usize = 100;

/// The files, by name; those that begin with a dot are editors'.
pub(super) fn find(collection: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let folder = collection.join("figures");
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot list {}", folder.display())),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if is_hidden || path.extension().is_none_or(|extension| extension != "sql") {
            continue;
        }
        if files.len() == MOST_FILES {
            let sentence = format!("{} has more than {MOST_FILES} figures; take some out", folder.display());
            return Err(WrongUse(sentence).into());
        }
        files.push(path);
    }
    files.sort();
    Ok(files)
}

/// Says that figures are left out because nobody here can answer their queries.
#[cfg(not(feature = "sql"))]
pub(super) fn tell_left_out(collection: &Path, printer: &mut crate::printer::Printer) -> anyhow::Result<()> {
    let count = find(collection)?.len();
    if count == 0 {
        return Ok(());
    }
    let (figures, verb) =
        (crate::words::counted(count as u64, "figure"), if count == 1 { "needs" } else { "need" });
    let folder = collection.join("figures");
    printer.complain(&format!(
        "{figures} in {} {verb} a weir that was built with `--features sql`, and the report goes without",
        folder.display()
    ))
}
