//! How does a folder come to be all at once? It is written under another name, closed by a last file that describes it,
//! synced, and then renamed: whoever finds it under its name finds all of it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// A folder that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It has no closing file.
    #[error("{} is not complete: it has no file {closing}", folder.display())]
    Incomplete {
        /// The folder.
        folder: PathBuf,
        /// The file that should be there.
        closing: &'static str,
    },
    /// The system, or the content, says no.
    #[error("cannot {what} {}: {source}", folder.display())]
    Io {
        /// Read or write.
        what: &'static str,
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The closing file is small.
const CLOSING_LIMIT_BYTES: u64 = 1 << 20;

/// Writes a folder, which must not exist; `fill` writes its files and gives the content of the closing one.
pub(crate) fn write(
    folder: &Path,
    closing: &'static str,
    fill: impl FnOnce(&Path) -> io::Result<Vec<u8>>,
) -> Result<(), FolderError> {
    let all = || {
        if folder.exists() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it is there already"));
        }
        let unfinished = unfinished(folder);
        match fs::remove_dir_all(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => fs::create_dir_all(&unfinished)?,
        }
        let content = fill(&unfinished)?;
        let mut last = File::create(unfinished.join(closing))?;
        last.write_all(&content)?;
        last.sync_all()?;
        File::open(&unfinished)?.sync_all()?;
        fs::rename(&unfinished, folder)?;
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    };
    all().map_err(|source| FolderError::Io { what: "write", folder: folder.to_owned(), source })
}

/// Reads a folder; `take` gets the content of the closing file.
pub(crate) fn read<T>(
    folder: &Path,
    closing: &'static str,
    take: impl FnOnce(&Path, &[u8]) -> io::Result<T>,
) -> Result<T, FolderError> {
    let failed = |source| FolderError::Io { what: "read", folder: folder.to_owned(), source };
    let file = match File::open(folder.join(closing)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(FolderError::Incomplete { folder: folder.to_owned(), closing });
        }
        file => file.map_err(failed)?,
    };
    let mut content = Vec::new();
    file.take(CLOSING_LIMIT_BYTES).read_to_end(&mut content).map_err(failed)?;
    take(folder, &content).map_err(failed)
}

fn unfinished(folder: &Path) -> PathBuf {
    let mut name: OsString = folder.file_name().unwrap_or_default().to_owned();
    name.push(".unfinished");
    folder.with_file_name(name)
}
