//! How does a commit become the truth, and what is left of a crash? The folder of a collection: its lock, its
//! manifests, and which files stay.
//!
//! A commit is three steps: the files are synced (by those who wrote them), the manifest is written and synced under
//! its generation, and a link to it takes the name `MANIFEST`. The rename is the moment at which the commit exists.
//! Opening undoes whatever did not get that far. Files go when no kept manifest names them.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Context, Error, Result};
use crate::failpoint::failpoint;
use crate::layout;
use crate::manifest::{FORMAT_VERSION, FileEntry, Manifest};

/// So many commits are kept besides the pinned ones, so that whoever has just read `MANIFEST` finds its files.
const RECENT_COMMITS: usize = 4;

/// A collection's folder, open for writing.
#[derive(Debug)]
pub(crate) struct Directory {
    folder: PathBuf,
    /// Held as long as this lives; the system lets go of it when the process dies.
    _lock: File,
    /// The kept commits, oldest first; the last is the newest.
    kept: Vec<Manifest>,
}

impl Directory {
    /// Makes a collection of an empty or absent folder.
    pub(crate) fn create(folder: &Path) -> Result<Directory> {
        if folder.join(layout::MANIFEST).exists() {
            return Err(Error::AlreadyACollection { path: folder.to_owned() });
        }
        for name in layout::COMPONENTS.into_iter().chain([layout::MANIFESTS]) {
            let path = folder.join(name);
            fs::create_dir_all(&path).context("create", &path)?;
        }
        let mut directory = Directory { folder: folder.to_owned(), _lock: lock(folder)?, kept: Vec::new() };
        directory.put(Manifest::empty())?;
        Ok(directory)
    }

    /// Opens a collection at its last commit and removes what a crash has left behind.
    pub(crate) fn open(folder: &Path) -> Result<Directory> {
        // A folder that is no collection gets no lock file either.
        read_current(folder)?;
        let lock = lock(folder)?;
        let current = read_current(folder)?;
        restore_expired(folder)?;
        clear_scratch(folder)?;
        let mut kept = Vec::new();
        for generation in generations(folder)? {
            let path = layout::manifest(folder, generation);
            if generation > current.generation {
                fs::remove_file(&path).context("remove", &path)?;
            } else {
                kept.push(read(&path)?);
            }
        }
        let mut directory = Directory { folder: folder.to_owned(), _lock: lock, kept };
        directory.sweep(RECENT_COMMITS)?;
        Ok(directory)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The newest commit.
    pub(crate) fn current(&self) -> Result<&Manifest> {
        self.kept.last().ok_or_else(|| Error::NotACollection { path: self.folder.clone() })
    }

    /// Makes `files`, which are synced, the next commit.
    pub(crate) fn commit(
        &mut self,
        files: Vec<FileEntry>,
        notes: BTreeMap<String, u64>,
        now_ms: i64,
    ) -> Result<&Manifest> {
        let generation = self.current()?.generation + 1;
        self.put(Manifest { version: FORMAT_VERSION, generation, committed_ms: now_ms, files, notes })?;
        self.sweep(RECENT_COMMITS)?;
        self.current()
    }

    /// Lets go of all commits but the newest and the pinned ones. Whoever is about to open another has to try again.
    pub(crate) fn expire_all(&mut self) -> Result<()> {
        self.sweep(1)
    }

    /// Writes a manifest and makes it the newest.
    fn put(&mut self, manifest: Manifest) -> Result<()> {
        for name in layout::COMPONENTS {
            sync_folder(&self.folder.join(name))?;
        }
        failpoint("commit: files synced");
        let path = layout::manifest(&self.folder, manifest.generation);
        let mut file = File::create(&path).context("create", &path)?;
        file.write_all(&manifest.encode()?).context("write", &path)?;
        failpoint("commit: manifest written");
        file.sync_all().context("sync", &path)?;
        sync_folder(&self.folder.join(layout::MANIFESTS))?;
        failpoint("commit: manifest synced");
        let next = self.folder.join(layout::NEXT_MANIFEST);
        remove_if_there(&next)?;
        fs::hard_link(&path, &next).context("link", &next)?;
        failpoint("commit: manifest linked");
        let current = self.folder.join(layout::MANIFEST);
        fs::rename(&next, &current).context("rename", &current)?;
        failpoint("commit: manifest renamed");
        sync_folder(&self.folder)?;
        failpoint("commit: done");
        self.kept.push(manifest);
        Ok(())
    }

    /// Lets go of old commits that nobody pinned, then of the files that no commit names.
    fn sweep(&mut self, recent_commits: usize) -> Result<()> {
        let newest = self.kept.len();
        let mut kept = Vec::with_capacity(newest);
        for (number, manifest) in std::mem::take(&mut self.kept).into_iter().enumerate() {
            let recent = number + recent_commits >= newest;
            if recent || self.is_pinned(manifest.generation) || !self.expire(manifest.generation)? {
                kept.push(manifest);
            }
        }
        self.kept = kept;
        failpoint("sweep: commits expired");
        self.remove_unnamed()
    }

    fn is_pinned(&self, generation: u64) -> bool {
        layout::pin(&self.folder, generation).exists()
    }

    /// Removes a commit, unless somebody pins it at this very moment: whoever pins looks again whether the manifest is
    /// still there, and here the pin is looked for again once it is not.
    fn expire(&self, generation: u64) -> Result<bool> {
        let path = layout::manifest(&self.folder, generation);
        let aside = layout::expired(&self.folder, generation);
        failpoint("sweep: commit expires");
        fs::rename(&path, &aside).context("rename", &path)?;
        if self.is_pinned(generation) {
            fs::rename(&aside, &path).context("rename", &aside)?;
            return Ok(false);
        }
        fs::remove_file(&aside).context("remove", &aside)?;
        Ok(true)
    }

    fn remove_unnamed(&self) -> Result<()> {
        let named: HashSet<&str> =
            self.kept.iter().flat_map(|manifest| &manifest.files).map(|file| file.name.as_str()).collect();
        for component in layout::COMPONENTS {
            let folder = self.folder.join(component);
            for file_name in file_names(&folder)? {
                if !named.contains(format!("{component}/{file_name}").as_str()) {
                    let path = folder.join(file_name);
                    fs::remove_file(&path).context("remove", &path)?;
                    failpoint("sweep: file removed");
                }
            }
        }
        Ok(())
    }
}

/// The newest commit of a collection, for reading.
pub(crate) fn read_current(folder: &Path) -> Result<Manifest> {
    let path = folder.join(layout::MANIFEST);
    if !path.exists() {
        return Err(Error::NotACollection { path: folder.to_owned() });
    }
    read(&path)
}

/// The commit of that generation, if it is kept.
pub(crate) fn read_generation(folder: &Path, generation: u64) -> Result<Manifest> {
    let path = layout::manifest(folder, generation);
    if !path.exists() {
        return Err(Error::NoSnapshot { name: generation.to_string() });
    }
    read(&path)
}

/// The generations whose manifests are there, oldest first.
pub(crate) fn generations(folder: &Path) -> Result<Vec<u64>> {
    let names = file_names(&folder.join(layout::MANIFESTS))?;
    let mut generations: Vec<u64> = names.iter().filter_map(|name| layout::generation(name)).collect();
    generations.sort_unstable();
    Ok(generations)
}

/// Puts manifests back that were on their way out; whether they go is decided anew.
fn restore_expired(folder: &Path) -> Result<()> {
    let names = file_names(&folder.join(layout::MANIFESTS))?;
    for generation in names.iter().filter_map(|name| layout::expired_generation(name)) {
        let aside = layout::expired(folder, generation);
        fs::rename(&aside, layout::manifest(folder, generation)).context("rename", &aside)?;
    }
    Ok(())
}

/// Removes what background work had not finished.
fn clear_scratch(folder: &Path) -> Result<()> {
    let scratch = folder.join(layout::SCRATCH);
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

fn file_names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).context("list", folder)? {
        let entry = entry.context("list", folder)?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(layout::LOCK);
    let file = File::options().create(true).append(true).open(&path).context("open", &path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Locked { path: folder.to_owned() }),
        Err(TryLockError::Error(source)) => Err(Error::Io { operation: "lock", path, source }),
    }
}

fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).context("remove", path),
        _ => Ok(()),
    }
}

/// Makes names last: a file that is synced can still lose its entry in the folder.
pub(crate) fn sync_folder(path: &Path) -> Result<()> {
    File::open(path).and_then(|folder| folder.sync_all()).context("sync", path)
}
