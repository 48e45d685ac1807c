//! List of the files of an analysis with their checksums, in the directory of the graph (`FILES`).

use std::fs;
use std::path::Path;

use store::FileList;

use super::{GRAPH_DIR, graph_dirs};
use crate::error::{Context, Result};

/// Writes the list of a new graph whose files are in `unfinished`. Columns, tables and statistics of the previous analysis remain
/// until their steps replace them, so their entries are taken over.
pub(super) fn write_list(collection: &Path, unfinished: &Path, generation: u64) -> Result<()> {
    let previous = graph_dirs(collection)?.into_iter().max();
    // A list that cannot be read is not needed any more: all steps run again.
    let list = previous.and_then(|(_, dir)| FileList::read(&FileList::path_in(&dir)).ok().flatten());
    let mut list = list.unwrap_or_default();
    let is_of_graph =
        |name: &str| name.split('/').nth(1).is_some_and(|dir| dir.bytes().all(|byte| byte.is_ascii_digit()));
    list.retain(|name| !is_of_graph(name) && collection.join(name).exists());
    for entry in fs::read_dir(unfinished).context("list", unfinished)? {
        let entry = entry.context("list", unfinished)?;
        let name = format!("{GRAPH_DIR}/{generation:010}/{}", entry.file_name().to_string_lossy());
        list.add_file(&entry.path(), &name)?;
    }
    Ok(list.write(&FileList::path_in(unfinished))?)
}
