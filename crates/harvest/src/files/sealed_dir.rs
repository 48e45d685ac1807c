//! Directories that appear atomically: written under a temporary name, sealed by a last file that describes the content,
//! synced, and renamed. A reader finds either the complete directory or none.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Error of reading or writing a sealed directory.
#[derive(Debug, thiserror::Error)]
pub enum SealedDirError {
    /// The seal file is missing.
    #[error("{} is incomplete: it has no file {seal}", dir.display())]
    Incomplete {
        /// Directory.
        dir: PathBuf,
        /// Name of the seal file.
        seal: &'static str,
    },
    /// The operating system reported an error, or the content is corrupt.
    #[error("cannot {operation} {}: {source}", dir.display())]
    Io {
        /// Operation: read, write or remove.
        operation: &'static str,
        /// Directory.
        dir: PathBuf,
        /// Cause.
        source: io::Error,
    },
}

/// The seal file is small, except for the cooldowns of a batch.
const MAX_SEAL_BYTES: u64 = 64 << 20;

/// Writer of a sealed directory. If it is dropped before it is sealed, the next writer of the same directory removes the
/// remains.
#[derive(Debug)]
pub struct SealedDirWriter {
    dir: PathBuf,
    unfinished: PathBuf,
}

impl SealedDirWriter {
    /// Creates a directory, which must not exist.
    pub fn create(dir: &Path) -> Result<SealedDirWriter, SealedDirError> {
        let writer = SealedDirWriter { dir: dir.to_owned(), unfinished: unfinished(dir) };
        let create = || {
            if dir.exists() {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the directory already exists"));
            }
            remove(&writer.unfinished)?;
            fs::create_dir_all(&writer.unfinished)
        };
        create().map_err(|source| writer.write_error(source))?;
        Ok(writer)
    }

    /// Creates a file in the directory.
    pub fn create_file(&self, name: &str) -> Result<File, SealedDirError> {
        File::create(self.unfinished.join(name)).map_err(|source| self.write_error(source))
    }

    /// Writes the seal file, syncs, and renames the directory. The caller has synced the other files.
    pub fn seal(self, seal: &str, content: &impl Serialize) -> Result<(), SealedDirError> {
        let write = || {
            let mut last = File::create(self.unfinished.join(seal))?;
            last.write_all(&serde_json::to_vec(content)?)?;
            last.sync_all()?;
            File::open(&self.unfinished)?.sync_all()?;
            fs::rename(&self.unfinished, &self.dir)?;
            let parent = self.dir.parent().filter(|parent| !parent.as_os_str().is_empty());
            File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
        };
        write().map_err(|source| self.write_error(source))
    }

    /// Error of writing this directory.
    pub fn write_error(&self, source: io::Error) -> SealedDirError {
        SealedDirError::Io { operation: "write", dir: self.dir.clone(), source }
    }
}

/// Removes a directory, if it exists.
pub fn remove(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Reads a sealed directory; `read_content` gets its path and the content of the seal file.
pub fn read<T>(
    dir: &Path,
    seal: &'static str,
    read_content: impl FnOnce(&Path, &[u8]) -> io::Result<T>,
) -> Result<T, SealedDirError> {
    let failed = |source| SealedDirError::Io { operation: "read", dir: dir.to_owned(), source };
    let file = match File::open(dir.join(seal)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(SealedDirError::Incomplete { dir: dir.to_owned(), seal });
        }
        file => file.map_err(failed)?,
    };
    let mut content = Vec::new();
    file.take(MAX_SEAL_BYTES).read_to_end(&mut content).map_err(failed)?;
    read_content(dir, &content).map_err(failed)
}

fn unfinished(dir: &Path) -> PathBuf {
    let mut name: OsString = dir.file_name().unwrap_or_default().to_owned();
    name.push(".unfinished");
    dir.with_file_name(name)
}
