//! Where do batches and harvests lie that one role leaves for the next?

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Batches that wait for a harvester, in a collection's folder.
const BATCHES: &str = "batches";

/// The batches that lie in a collection's folder, in their order.
pub(crate) fn open_batches(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    list(&folder.join(BATCHES))
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Io { what: "read", path: folder.to_owned(), source };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        let numbered =
            path.file_name().is_some_and(|name| name.as_encoded_bytes().iter().all(u8::is_ascii_digit));
        paths.extend(numbered.then_some(path));
    }
    paths.sort_unstable();
    Ok(paths)
}
