//! How does a folder come to be all at once? It is written under another name, closed by a last file that describes it,
//! synced, and then renamed: whoever finds it under its name finds all of it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

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

/// The closing file is small, but for the clocks of a batch.
const CLOSING_LIMIT_BYTES: u64 = 64 << 20;

/// A folder that is being written. One that is never closed is thrown away by whoever writes it next.
#[derive(Debug)]
pub(crate) struct OpenFolder {
    folder: PathBuf,
    unfinished: PathBuf,
}

impl OpenFolder {
    /// Begins a folder, which must not exist.
    pub(crate) fn begin(folder: &Path) -> Result<OpenFolder, FolderError> {
        let open = OpenFolder { folder: folder.to_owned(), unfinished: unfinished(folder) };
        let begin = || {
            if folder.exists() {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it is there already"));
            }
            remove(&open.unfinished)?;
            fs::create_dir_all(&open.unfinished)
        };
        begin().map_err(|source| open.failed(source))?;
        Ok(open)
    }

    /// A new file in it.
    pub(crate) fn file(&self, name: &str) -> Result<File, FolderError> {
        File::create(self.unfinished.join(name)).map_err(|source| self.failed(source))
    }

    /// Gives it its name; its files are synced, and `content` is for the closing one.
    pub(crate) fn close(self, closing: &str, content: &impl Serialize) -> Result<(), FolderError> {
        let close = || {
            let mut last = File::create(self.unfinished.join(closing))?;
            last.write_all(&serde_json::to_vec(content)?)?;
            last.sync_all()?;
            File::open(&self.unfinished)?.sync_all()?;
            fs::rename(&self.unfinished, &self.folder)?;
            let parent = self.folder.parent().filter(|parent| !parent.as_os_str().is_empty());
            File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
        };
        close().map_err(|source| self.failed(source))
    }

    /// What went wrong with it.
    pub(crate) fn failed(&self, source: io::Error) -> FolderError {
        FolderError::Io { what: "write", folder: self.folder.clone(), source }
    }
}

/// Takes a folder away, if it is there.
pub(crate) fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
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
