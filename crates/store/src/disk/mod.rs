//! File interface of the store: the file system of the machine, or, with the feature `simulated_disk`, one in memory.
//!
//! Everything that the store reads or writes goes through this module. A path below the root of a simulated disk
//! belongs to that disk; all other paths belong to the operating system. Without the feature, only calls of `std::fs`
//! remain.

#[cfg(feature = "simulated_disk")]
pub(crate) mod simulated;

use std::ffi::OsString;
use std::fs::{self, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

#[cfg(feature = "simulated_disk")]
use simulated::{SimulatedFile, mounted};

/// Returns the result of an operation of the simulated disk that has the path, if there is one.
macro_rules! on_simulated_disk {
    ($path:expr, |$disk:ident, $inside:ident| $operation:expr) => {
        #[cfg(feature = "simulated_disk")]
        if let Some(($disk, $inside)) = mounted($path) {
            return $operation;
        }
    };
}

/// Open file.
#[derive(Debug)]
pub(crate) enum File {
    /// File of the operating system.
    Real(fs::File),
    /// File of a simulated disk.
    #[cfg(feature = "simulated_disk")]
    Simulated(SimulatedFile),
}

impl File {
    /// Opens an existing file for reading.
    pub(crate) fn open(path: &Path) -> io::Result<File> {
        on_simulated_disk!(path, |disk, inside| disk.open(inside).map(File::Simulated));
        fs::File::open(path).map(File::Real)
    }

    /// Creates a file for writing; truncates an existing one.
    pub(crate) fn create(path: &Path) -> io::Result<File> {
        on_simulated_disk!(path, |disk, inside| disk.create(inside, true).map(File::Simulated));
        fs::File::create(path).map(File::Real)
    }

    /// Opens an existing file for reading and appending.
    pub(crate) fn open_append(path: &Path) -> io::Result<File> {
        on_simulated_disk!(path, |disk, inside| disk.open(inside).map(File::Simulated));
        fs::File::options().read(true).append(true).open(path).map(File::Real)
    }

    /// Opens a file for reading and appending; creates a missing one.
    pub(crate) fn create_append(path: &Path) -> io::Result<File> {
        on_simulated_disk!(path, |disk, inside| disk.create(inside, false).map(File::Simulated));
        fs::File::options().read(true).append(true).create(true).open(path).map(File::Real)
    }

    /// Length in bytes.
    pub(crate) fn length(&self) -> io::Result<u64> {
        match self {
            File::Real(file) => file.metadata().map(|metadata| metadata.len()),
            #[cfg(feature = "simulated_disk")]
            File::Simulated(file) => file.length(),
        }
    }

    /// Truncates or extends the file.
    pub(crate) fn set_length(&self, length: u64) -> io::Result<()> {
        match self {
            File::Real(file) => file.set_len(length),
            #[cfg(feature = "simulated_disk")]
            File::Simulated(file) => file.set_length(length),
        }
    }

    /// Makes the content durable. The directory entry is not: see [`sync_dir`].
    pub(crate) fn sync(&self) -> io::Result<()> {
        match self {
            File::Real(file) => file.sync_data(),
            #[cfg(feature = "simulated_disk")]
            File::Simulated(file) => file.sync(),
        }
    }

    /// Locks the file until it is closed, unless another process has it locked.
    pub(crate) fn try_lock(&self) -> Result<(), TryLockError> {
        match self {
            File::Real(file) => file.try_lock(),
            #[cfg(feature = "simulated_disk")]
            File::Simulated(file) => file.try_lock(),
        }
    }
}

impl Read for File {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            File::Real(file) => file.read(out),
            #[cfg(feature = "simulated_disk")]
            File::Simulated(file) => file.read(out),
        }
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            File::Real(file) => file.write(bytes),
            #[cfg(feature = "simulated_disk")]
            File::Simulated(file) => file.append(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl FileExt for File {
    fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            File::Real(file) => file.read_at(out, offset),
            #[cfg(feature = "simulated_disk")]
            File::Simulated(file) => file.read_at(out, offset),
        }
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        match self {
            File::Real(file) => file.write_at(bytes, offset),
            #[cfg(feature = "simulated_disk")]
            File::Simulated(file) => file.write_at(bytes, offset),
        }
    }
}

/// Entry of a directory.
#[derive(Debug)]
pub(crate) struct DirEntry {
    /// Name in the directory.
    pub(crate) name: OsString,
    /// Whether it is a directory; a symbolic link is none.
    pub(crate) is_dir: bool,
}

impl DirEntry {
    /// Name as text; bytes that are not UTF-8 are replaced.
    pub(crate) fn text(&self) -> String {
        self.name.to_string_lossy().into_owned()
    }
}

/// Reads a whole file of at most `max_bytes`.
pub(crate) fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    on_simulated_disk!(path, |disk, inside| disk.read(inside));
    read_limited(path, max_bytes)
}

/// Reads a whole regular file of at most `max_bytes`. A collection may come from a stranger: a file could be of any size, and a
/// pipe would block.
pub fn read_limited(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut bytes = Vec::new();
    let found = match metadata.len() {
        length if length > max_bytes => length,
        // The file may grow meanwhile.
        _ => fs::File::open(path)?.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)? as u64,
    };
    if found > max_bytes {
        let cause = format!("{found} bytes are more than the maximum of {max_bytes}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, cause));
    }
    Ok(bytes)
}

/// Creates a directory, also its parents if they are missing. Durable only when the parent of each is synced.
pub(crate) fn create_dir_all(path: &Path) -> io::Result<()> {
    on_simulated_disk!(path, |disk, inside| disk.create_dir_all(inside));
    fs::create_dir_all(path)
}

/// Entries of a directory, sorted by name.
pub(crate) fn list(path: &Path) -> io::Result<Vec<DirEntry>> {
    on_simulated_disk!(path, |disk, inside| disk.list(inside));
    let entry = |entry: io::Result<fs::DirEntry>| {
        let entry = entry?;
        match entry.file_type() {
            // Another process has deleted it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            kind => Ok(Some(DirEntry { name: entry.file_name(), is_dir: kind?.is_dir() })),
        }
    };
    let entries = fs::read_dir(path)?.filter_map(|found| entry(found).transpose());
    let mut entries = entries.collect::<io::Result<Vec<DirEntry>>>()?;
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// Whether a file or directory exists. Unlike [`Path::exists`], it returns an error if that cannot be determined.
pub(crate) fn exists(path: &Path) -> io::Result<bool> {
    on_simulated_disk!(path, |disk, inside| disk.exists(inside));
    path.try_exists()
}

/// Number of a file, the same for all its hard links: device and inode.
pub(crate) fn file_number(path: &Path) -> io::Result<(u64, u64)> {
    on_simulated_disk!(path, |disk, inside| disk.file_number(inside));
    fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Renames a file; replaces an existing one.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    on_simulated_disk!(from, |disk, inside| disk.rename(inside, to));
    fs::rename(from, to)
}

/// Removes a file.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    on_simulated_disk!(path, |disk, inside| disk.remove_file(inside));
    fs::remove_file(path)
}

/// Creates a hard link.
pub(crate) fn hard_link(original: &Path, link: &Path) -> io::Result<()> {
    on_simulated_disk!(original, |disk, inside| disk.hard_link(inside, link));
    fs::hard_link(original, link)
}

/// Makes the entries of a directory durable: syncing a file does not.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    on_simulated_disk!(path, |disk, inside| disk.sync_dir(inside));
    fs::File::open(path)?.sync_all()
}

/// Random number for the files of a directory; on a simulated disk it depends on the seed.
pub(crate) fn random(dir: &Path) -> u64 {
    on_simulated_disk!(dir, |disk, _inside| disk.random());
    // `RandomState` is seeded by the operating system.
    RandomState::new().hash_one(dir)
}

/// Whether this thread must do all work itself: a simulated disk is deterministic only if one thread uses it.
#[cfg(feature = "simulated_disk")]
pub(crate) fn is_single_threaded() -> bool {
    simulated::is_on_this_thread()
}

/// Whether this thread must do all work itself.
#[cfg(not(feature = "simulated_disk"))]
pub(crate) fn is_single_threaded() -> bool {
    false
}
