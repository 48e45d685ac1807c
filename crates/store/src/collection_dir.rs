//! Directory of a collection: its lock, its manifests, and the deletion of obsolete files.
//!
//! A commit has three steps: the components sync their files, the manifest is written and synced under its generation,
//! and a link to it is renamed to `MANIFEST`. The rename is the commit point; opening rolls back everything that did not
//! reach it. A file is deleted when no retained manifest references it.

use std::collections::{BTreeSet, HashSet};
use std::fs::TryLockError;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::disk::{self, DirEntry, File};
use crate::error::{Context, Error, Result, corrupt};
use crate::failpoint::failpoint;
use crate::layout;
use crate::manifest::{FORMAT_VERSION, FileEntry, Manifest};
use crate::outside_links;

/// Maximum size of a manifest: that of a collection of about 40 TB.
const MAX_MANIFEST_BYTES: u64 = 256 << 20;

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
        if exists(&dir.join(layout::MANIFEST))? {
            return Err(Error::AlreadyACollection { path: dir.to_owned() });
        }
        check_unused(dir)?;
        let new_parents = dir
            .ancestors()
            .skip(1)
            .take_while(|parent| disk::exists(parent).is_ok_and(|exists| !exists))
            .count();
        for name in layout::COMPONENTS.into_iter().chain([layout::MANIFESTS]) {
            let path = dir.join(name);
            disk::create_dir_all(&path).context("create", &path)?;
        }
        // Before MANIFEST: a collection without one of its directories could be neither opened nor created again.
        sync_dir(dir)?;
        let mut directory = CollectionDir { dir: dir.to_owned(), _lock: lock(dir)?, retained: Vec::new() };
        directory.write_manifest(Manifest::empty())?;
        for parent in dir.ancestors().skip(1).take(new_parents + 1) {
            sync_parent(parent)?;
        }
        Ok(directory)
    }

    /// Opens a collection at its last commit and deletes the leftovers of a crash.
    pub(crate) fn open(dir: &Path) -> Result<CollectionDir> {
        // Checked before locking: a directory that is not a collection must not get a lock file.
        outside_links::refuse_for_manifest(dir)?;
        read_current(dir)?;
        outside_links::refuse_for_writing(dir)?;
        let lock = lock(dir)?;
        let current = read_current(dir)?;
        restore_expired(dir)?;
        clear_scratch(dir)?;
        let mut retained = Vec::new();
        for generation in generations(dir)? {
            let path = layout::manifest(dir, generation);
            if generation > current.generation {
                disk::remove_file(&path).context("remove", &path)?;
            } else {
                retained.push(read(&path)?);
            }
        }
        retain_current(dir, current, &mut retained)?;
        // The process that wrote MANIFEST may have died before it was durable. Files of older commits are needed until then.
        sync_dir(dir)?;
        sync_parent(dir.parent().unwrap_or(dir))?;
        let mut directory = CollectionDir { dir: dir.to_owned(), _lock: lock, retained };
        directory.expire_commits(RECENT_COMMITS)?;
        directory.delete_unreferenced()?;
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
        self.expire_commits(RECENT_COMMITS)?;
        self.delete_unreferenced()?;
        self.current()
    }

    /// Deletes all commits but the newest and the pinned ones. A reader that is about to open another one must retry.
    pub(crate) fn expire_all(&mut self) -> Result<()> {
        let expired = self.expire_commits(1)?;
        // No other files: those written since the last commit are not referenced yet.
        let referenced = self.referenced();
        let obsolete = expired.iter().flat_map(|manifest| &manifest.files).map(|file| file.name.as_str());
        let obsolete: BTreeSet<&str> = obsolete.filter(|name| !referenced.contains(name)).collect();
        obsolete.into_iter().try_for_each(|name| remove_if_exists(&self.dir.join(name)))
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
        file.sync().context("sync", &path)?;
        sync_dir(&self.dir.join(layout::MANIFESTS))?;
        failpoint("commit: manifest synced");
        let next = self.dir.join(layout::NEXT_MANIFEST);
        remove_if_exists(&next)?;
        disk::hard_link(&path, &next).context("link", &next)?;
        failpoint("commit: manifest linked");
        let current = self.dir.join(layout::MANIFEST);
        disk::rename(&next, &current).context("rename", &current)?;
        failpoint("commit: manifest renamed");
        sync_dir(&self.dir)?;
        failpoint("commit: done");
        self.retained.push(manifest);
        Ok(())
    }

    /// Deletes old commits that are not pinned, without their files; returns them.
    fn expire_commits(&mut self, recent_commits: usize) -> Result<Vec<Manifest>> {
        let old = self.retained.len().saturating_sub(recent_commits);
        let mut expired = HashSet::new();
        for generation in self.retained[..old].iter().map(|manifest| manifest.generation) {
            if !self.is_pinned(generation)? && self.expire(generation)? {
                expired.insert(generation);
            }
        }
        if !expired.is_empty() {
            // Before the files: after a power failure no manifest must come back without them.
            sync_dir(&self.dir.join(layout::MANIFESTS))?;
        }
        failpoint("cleanup: commits expired");
        Ok(self.retained.extract_if(.., |manifest| expired.contains(&manifest.generation)).collect())
    }

    /// Names of the files that a retained commit references.
    fn referenced(&self) -> HashSet<&str> {
        let files = self.retained.iter().flat_map(|manifest| &manifest.files);
        files.map(|file| file.name.as_str()).collect()
    }

    fn is_pinned(&self, generation: u64) -> Result<bool> {
        exists(&layout::pin(&self.dir, generation))
    }

    /// Deletes a commit, unless another process pins it at the same time. Returns whether it was deleted.
    ///
    /// The race with [`pin_generation`](crate::pin_generation) is resolved by order: the pin is written before its
    /// process checks the manifest, and the manifest is moved aside before the pin is checked here.
    fn expire(&self, generation: u64) -> Result<bool> {
        let path = layout::manifest(&self.dir, generation);
        let aside = layout::expired(&self.dir, generation);
        failpoint("cleanup: commit expires");
        match disk::rename(&path, &aside) {
            // An earlier attempt has failed after this.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            outcome => outcome.context("rename", &path)?,
        }
        if self.is_pinned(generation)? {
            disk::rename(&aside, &path).context("rename", &aside)?;
            return Ok(false);
        }
        remove_if_exists(&aside)?;
        Ok(true)
    }

    /// Deletes the files that no commit references. There must be no changes since the last commit.
    fn delete_unreferenced(&self) -> Result<()> {
        let referenced = self.referenced();
        for component in layout::COMPONENTS {
            let dir = self.dir.join(component);
            for file_name in file_names(&dir)? {
                // Files that a user has put here remain; `weir check` lists them.
                if layout::is_component_file(component, &file_name)
                    && !referenced.contains(format!("{component}/{file_name}").as_str())
                {
                    let path = dir.join(file_name);
                    disk::remove_file(&path).context("remove", &path)?;
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
    if !exists(&path)? {
        return Err(Error::NotACollection { path: dir.to_owned() });
    }
    read(&path)
}

/// Reads the commit of a generation.
pub(crate) fn read_generation(dir: &Path, generation: u64) -> Result<Manifest> {
    let path = layout::manifest(dir, generation);
    if !exists(&path)? {
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

/// Checks that a directory is absent, empty, or has no more than an interrupted creation leaves, and settings.
fn check_unused(dir: &Path) -> Result<()> {
    let entries = match disk::list(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.context("list", dir)?,
    };
    for entry in entries {
        let is_ours = match entry.text().as_str() {
            layout::LOCK | layout::NEXT_MANIFEST | layout::SETTINGS => true,
            layout::MANIFESTS => {
                let names = file_names(&dir.join(layout::MANIFESTS))?;
                names.iter().all(|name| layout::generation(name) == Some(0))
            }
            component if layout::COMPONENTS.contains(&component) => {
                file_names(&dir.join(component))?.is_empty()
            }
            _ => false,
        };
        if !is_ours {
            return Err(Error::NotEmpty { path: dir.to_owned() });
        }
    }
    Ok(())
}

/// Makes the current commit the last of the retained ones. Without this, a missing manifest would make an older commit the current one, and
/// its successor's files would be deleted as unreferenced.
fn retain_current(dir: &Path, current: Manifest, retained: &mut Vec<Manifest>) -> Result<()> {
    let path = layout::manifest(dir, current.generation);
    match retained.last() {
        Some(last) if *last == current => Ok(()),
        Some(last) if last.generation == current.generation => {
            Err(corrupt(&path, "", "it differs from MANIFEST, which has the same generation"))
        }
        _ => {
            disk::hard_link(&dir.join(layout::MANIFEST), &path).context("link", &path)?;
            retained.push(current);
            Ok(())
        }
    }
}

/// Restores manifests whose deletion was interrupted by a crash; the next cleanup decides about them again.
fn restore_expired(dir: &Path) -> Result<()> {
    let names = file_names(&dir.join(layout::MANIFESTS))?;
    for generation in names.iter().filter_map(|name| layout::expired_generation(name)) {
        let aside = layout::expired(dir, generation);
        disk::rename(&aside, &layout::manifest(dir, generation)).context("rename", &aside)?;
    }
    Ok(())
}

/// Deletes the files of unfinished background work.
fn clear_scratch(dir: &Path) -> Result<()> {
    let scratch = dir.join(layout::SCRATCH);
    disk::create_dir_all(&scratch).context("create", &scratch)?;
    for file_name in file_names(&scratch)? {
        let path = scratch.join(file_name);
        disk::remove_file(&path).context("remove", &path)?;
    }
    Ok(())
}

/// Names of the files of a directory, without subdirectories.
fn file_names(dir: &Path) -> Result<Vec<String>> {
    let entries = disk::list(dir).context("list", dir)?;
    Ok(entries.iter().filter(|entry| !entry.is_dir).map(DirEntry::text).collect())
}

fn read(path: &Path) -> Result<Manifest> {
    Manifest::decode(&disk::read(path, MAX_MANIFEST_BYTES).context("read", path)?, path)
}

fn lock(dir: &Path) -> Result<File> {
    let path = dir.join(layout::LOCK);
    let file = File::create_append(&path).context("open", &path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Locked { path: dir.to_owned() }),
        Err(TryLockError::Error(source)) => Err(Error::Io { operation: "lock", path, source }),
    }
}

fn remove_if_exists(path: &Path) -> Result<()> {
    match disk::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).context("remove", path),
        _ => Ok(()),
    }
}

/// Syncs a directory: syncing a file does not make its directory entry durable.
pub(crate) fn sync_dir(path: &Path) -> Result<()> {
    disk::sync_dir(path).context("sync", path)
}

/// Makes a new collection durable in the directory above it, which may be unreadable.
fn sync_parent(parent: &Path) -> Result<()> {
    let parent = if parent == Path::new("") { Path::new(".") } else { parent };
    match disk::sync_dir(parent) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
        outcome => outcome.context("sync", parent),
    }
}

/// Whether a file exists. An error is not taken for its absence: a pinned commit would be deleted.
fn exists(path: &Path) -> Result<bool> {
    disk::exists(path).context("read", path)
}
