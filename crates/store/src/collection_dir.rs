//! Directory of a collection: its lock, its manifests, and the deletion of obsolete files.
//!
//! A commit has three steps: the components sync their files, the manifest is written and synced under its generation,
//! and a link to it is renamed to `MANIFEST`. The rename is the commit point; opening rolls back everything that did not
//! reach it. A file is deleted when no retained manifest references it.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Context, Error, Result};
use crate::failpoint::failpoint;
use crate::layout;
use crate::manifest::{FORMAT_VERSION, FileEntry, Manifest};

/// Number of commits retained besides the pinned ones, so that a reader that has just read `MANIFEST` finds its files.
const RECENT_COMMITS: usize = 4;

/// Directory of a collection, open for writing.
#[derive(Debug)]
pub(crate) struct CollectionDir {
    dir: PathBuf,
    /// Lock file, held until drop; the operating system releases it when the process dies.
    _lock: File,
    /// Retained commits, oldest first.
    retained: Vec<Manifest>,
}

impl CollectionDir {
    /// Creates a collection in an empty or absent directory.
    pub(crate) fn create(dir: &Path) -> Result<CollectionDir> {
        if dir.join(layout::MANIFEST).exists() {
            return Err(Error::AlreadyACollection { path: dir.to_owned() });
        }
        for name in layout::COMPONENTS.into_iter().chain([layout::MANIFESTS]) {
            let path = dir.join(name);
            fs::create_dir_all(&path).context("create", &path)?;
        }
        let mut directory = CollectionDir { dir: dir.to_owned(), _lock: lock(dir)?, retained: Vec::new() };
        directory.write_manifest(Manifest::empty())?;
        Ok(directory)
    }

    /// Opens a collection at its last commit and deletes the leftovers of a crash.
    pub(crate) fn open(dir: &Path) -> Result<CollectionDir> {
        // Checked before locking: a directory that is not a collection must not get a lock file.
        read_current(dir)?;
        let lock = lock(dir)?;
        let current = read_current(dir)?;
        restore_expired(dir)?;
        clear_scratch(dir)?;
        let mut retained = Vec::new();
        for generation in generations(dir)? {
            let path = layout::manifest(dir, generation);
            if generation > current.generation {
                fs::remove_file(&path).context("remove", &path)?;
            } else {
                retained.push(read(&path)?);
            }
        }
        let mut directory = CollectionDir { dir: dir.to_owned(), _lock: lock, retained };
        directory.delete_obsolete(RECENT_COMMITS)?;
        Ok(directory)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the newest commit.
    pub(crate) fn current(&self) -> Result<&Manifest> {
        self.retained.last().ok_or_else(|| Error::NotACollection { path: self.dir.clone() })
    }

    /// Commits `files`, which must be synced.
    pub(crate) fn commit(
        &mut self,
        files: Vec<FileEntry>,
        application_state: serde_json::Value,
        now_ms: i64,
    ) -> Result<&Manifest> {
        let generation = self.current()?.generation + 1;
        self.write_manifest(Manifest {
            version: FORMAT_VERSION,
            generation,
            committed_ms: now_ms,
            files,
            application_state,
        })?;
        self.delete_obsolete(RECENT_COMMITS)?;
        self.current()
    }

    /// Deletes all commits but the newest and the pinned ones. A reader that is about to open another one must retry.
    pub(crate) fn expire_all(&mut self) -> Result<()> {
        self.delete_obsolete(1)
    }

    /// Writes a manifest and makes it the current one.
    fn write_manifest(&mut self, manifest: Manifest) -> Result<()> {
        for name in layout::COMPONENTS {
            sync_dir(&self.dir.join(name))?;
        }
        failpoint("commit: files synced");
        let path = layout::manifest(&self.dir, manifest.generation);
        let mut file = File::create(&path).context("create", &path)?;
        file.write_all(&manifest.encode()?).context("write", &path)?;
        failpoint("commit: manifest written");
        file.sync_all().context("sync", &path)?;
        sync_dir(&self.dir.join(layout::MANIFESTS))?;
        failpoint("commit: manifest synced");
        let next = self.dir.join(layout::NEXT_MANIFEST);
        remove_if_exists(&next)?;
        fs::hard_link(&path, &next).context("link", &next)?;
        failpoint("commit: manifest linked");
        let current = self.dir.join(layout::MANIFEST);
        fs::rename(&next, &current).context("rename", &current)?;
        failpoint("commit: manifest renamed");
        sync_dir(&self.dir)?;
        failpoint("commit: done");
        self.retained.push(manifest);
        Ok(())
    }

    /// Deletes old commits that are not pinned, then the files that no commit references.
    fn delete_obsolete(&mut self, recent_commits: usize) -> Result<()> {
        let newest = self.retained.len();
        let mut retained = Vec::with_capacity(newest);
        for (index, manifest) in std::mem::take(&mut self.retained).into_iter().enumerate() {
            let recent = index + recent_commits >= newest;
            if recent || self.is_pinned(manifest.generation) || !self.expire(manifest.generation)? {
                retained.push(manifest);
            }
        }
        self.retained = retained;
        failpoint("cleanup: commits expired");
        self.delete_unreferenced()
    }

    fn is_pinned(&self, generation: u64) -> bool {
        layout::pin(&self.dir, generation).exists()
    }

    /// Deletes a commit, unless another process pins it at the same time. Returns whether it was deleted.
    ///
    /// The race with [`pin_generation`](crate::pin_generation) is resolved by order: the pin is written before its
    /// process checks the manifest, and the manifest is moved aside before the pin is checked here.
    fn expire(&self, generation: u64) -> Result<bool> {
        let path = layout::manifest(&self.dir, generation);
        let aside = layout::expired(&self.dir, generation);
        failpoint("cleanup: commit expires");
        fs::rename(&path, &aside).context("rename", &path)?;
        if self.is_pinned(generation) {
            fs::rename(&aside, &path).context("rename", &aside)?;
            return Ok(false);
        }
        fs::remove_file(&aside).context("remove", &aside)?;
        Ok(true)
    }

    fn delete_unreferenced(&self) -> Result<()> {
        let referenced: HashSet<&str> = self
            .retained
            .iter()
            .flat_map(|manifest| &manifest.files)
            .map(|file| file.name.as_str())
            .collect();
        for component in layout::COMPONENTS {
            let dir = self.dir.join(component);
            for file_name in file_names(&dir)? {
                if !referenced.contains(format!("{component}/{file_name}").as_str()) {
                    let path = dir.join(file_name);
                    fs::remove_file(&path).context("remove", &path)?;
                    failpoint("cleanup: file removed");
                }
            }
        }
        Ok(())
    }
}

/// Reads the newest commit of a collection.
pub(crate) fn read_current(dir: &Path) -> Result<Manifest> {
    let path = dir.join(layout::MANIFEST);
    if !path.exists() {
        return Err(Error::NotACollection { path: dir.to_owned() });
    }
    read(&path)
}

/// Reads the commit of a generation.
pub(crate) fn read_generation(dir: &Path, generation: u64) -> Result<Manifest> {
    let path = layout::manifest(dir, generation);
    if !path.exists() {
        return Err(Error::SnapshotNotFound { dir: dir.to_owned(), name: generation.to_string() });
    }
    read(&path)
}

/// Lists the generations that have a manifest, oldest first.
pub(crate) fn generations(dir: &Path) -> Result<Vec<u64>> {
    let names = file_names(&dir.join(layout::MANIFESTS))?;
    let mut generations: Vec<u64> = names.iter().filter_map(|name| layout::generation(name)).collect();
    generations.sort_unstable();
    Ok(generations)
}

/// Restores manifests whose deletion was interrupted by a crash; the next cleanup decides about them again.
fn restore_expired(dir: &Path) -> Result<()> {
    let names = file_names(&dir.join(layout::MANIFESTS))?;
    for generation in names.iter().filter_map(|name| layout::expired_generation(name)) {
        let aside = layout::expired(dir, generation);
        fs::rename(&aside, layout::manifest(dir, generation)).context("rename", &aside)?;
    }
    Ok(())
}

/// Deletes the files of unfinished background work.
fn clear_scratch(dir: &Path) -> Result<()> {
    let scratch = dir.join(layout::SCRATCH);
    fs::create_dir_all(&scratch).context("create", &scratch)?;
    for file_name in file_names(&scratch)? {
        let path = scratch.join(file_name);
        fs::remove_file(&path).context("remove", &path)?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Manifest> {
    Manifest::decode(&fs::read(path).context("read", path)?, path)
}

fn file_names(dir: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).context("list", dir)? {
        let entry = entry.context("list", dir)?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

fn lock(dir: &Path) -> Result<File> {
    let path = dir.join(layout::LOCK);
    let file = File::options().create(true).append(true).open(&path).context("open", &path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Locked { path: dir.to_owned() }),
        Err(TryLockError::Error(source)) => Err(Error::Io { operation: "lock", path, source }),
    }
}

fn remove_if_exists(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).context("remove", path),
        _ => Ok(()),
    }
}

/// Syncs a directory: syncing a file does not make its directory entry durable.
pub(crate) fn sync_dir(path: &Path) -> Result<()> {
    File::open(path).and_then(|dir| dir.sync_all()).context("sync", path)
}
