//! Which commits can still be read? Lists snapshots, keeps them by name, lets them go.
//!
//! Works beside a process that writes: a pin is one small file, and the writer looks for it before it removes a commit.

use std::fs;
use std::path::{Path, PathBuf};

use crate::directory::{generations, read_current, read_generation};
use crate::error::{Context, Error, Result};
use crate::layout;
use crate::link_log::LinkLogReader;
use crate::manifest::Manifest;
use crate::page_state::PageStateReader;
use crate::page_store::PageReader;
use crate::site_state::SiteStateReader;
use crate::url_table::UrlReader;

/// A collection as it was at one commit, for reading. A crawl may go on beside it.
pub struct Snapshot {
    /// The commit.
    pub manifest: Manifest,
    /// URLs and their numbers.
    pub urls: UrlReader,
    /// What is known about each page.
    pub pages: PageStateReader,
    /// What is known about each site.
    pub sites: SiteStateReader,
    /// The pages themselves.
    pub bodies: PageReader,
    /// Which page links to which.
    pub links: LinkLogReader,
    folder: PathBuf,
}

impl Snapshot {
    /// Opens the commit meant by a name or a generation, or the newest one.
    pub fn open(folder: &Path, wanted: Option<&str>) -> Result<Snapshot> {
        let manifest = find_snapshot(folder, wanted)?;
        Ok(Snapshot {
            urls: UrlReader::open(folder, &manifest)?,
            pages: PageStateReader::open(folder, &manifest)?,
            sites: SiteStateReader::open(folder, &manifest)?,
            bodies: PageReader::open(folder, &manifest)?,
            links: LinkLogReader::open(folder, &manifest)?,
            folder: folder.to_owned(),
            manifest,
        })
    }

    /// The collection's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// A commit that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotEntry {
    /// The number of the commit.
    pub generation: u64,
    /// When it was committed, in Unix milliseconds.
    pub committed_ms: i64,
    /// The name it was kept under; `None` for a commit that will go when newer ones come.
    pub name: Option<String>,
}

/// The longest name of a snapshot.
pub const SNAPSHOT_NAME_LIMIT_BYTES: usize = 100;

/// The commits that can be read, oldest first.
pub fn list_snapshots(folder: &Path) -> Result<Vec<SnapshotEntry>> {
    let current = read_current(folder)?.generation;
    let mut entries = Vec::new();
    for generation in generations(folder)? {
        // One that a writer is just about to commit, or has just let go of, is not there.
        if generation > current {
            continue;
        }
        let manifest = match read_generation(folder, generation) {
            Ok(manifest) => manifest,
            Err(Error::NoSnapshot { .. }) => continue,
            Err(error) => return Err(error),
        };
        let pin = layout::pin(folder, generation);
        let name = fs::read_to_string(&pin).ok().map(|name| name.trim_end().to_owned());
        entries.push(SnapshotEntry { generation, committed_ms: manifest.committed_ms, name });
    }
    Ok(entries)
}

/// The commit meant by a name or a generation, or the newest one.
pub fn find_snapshot(folder: &Path, wanted: Option<&str>) -> Result<Manifest> {
    let Some(wanted) = wanted else { return read_current(folder) };
    let entries = list_snapshots(folder)?;
    let found = entries
        .iter()
        .find(|entry| entry.name.as_deref() == Some(wanted))
        .or_else(|| entries.iter().find(|entry| wanted.parse() == Ok(entry.generation)));
    match found {
        Some(entry) => read_generation(folder, entry.generation),
        None => Err(Error::NoSnapshot { name: wanted.to_owned() }),
    }
}

/// Keeps a commit, or the newest one, under a name that can be one and that no other has.
pub fn keep_snapshot(folder: &Path, name: &str, generation: Option<u64>) -> Result<()> {
    let refused = |sentence: String| Err(Error::SnapshotName { sentence });
    let digits = name.bytes().all(|byte| byte.is_ascii_digit());
    if name.trim() != name
        || digits
        || name.len() > SNAPSHOT_NAME_LIMIT_BYTES
        || name.contains(char::is_control)
    {
        return refused(format!(
            "`{name}` cannot be a name: it needs a letter, no space at its ends, no control character, and at most \
             {SNAPSHOT_NAME_LIMIT_BYTES} bytes"
        ));
    }
    let entries = list_snapshots(folder)?;
    if let Some(entry) = entries.iter().find(|entry| entry.name.as_deref() == Some(name)) {
        return refused(format!("commit {} is kept as `{name}` already; drop it first", entry.generation));
    }
    let wanted = match generation {
        Some(generation) => entries.iter().find(|entry| entry.generation == generation),
        None => entries.last(),
    };
    match wanted {
        Some(SnapshotEntry { name: Some(other), generation, .. }) => {
            refused(format!("commit {generation} is kept as `{other}` already; drop that first"))
        }
        Some(entry) => pin_snapshot(folder, entry.generation, name),
        None => Err(Error::NoSnapshot { name: generation.unwrap_or_default().to_string() }),
    }
}

/// Keeps a commit under a name until it is let go.
pub fn pin_snapshot(folder: &Path, generation: u64, name: &str) -> Result<()> {
    let pin = layout::pin(folder, generation);
    fs::write(&pin, name).context("write", &pin)?;
    // The writer may have removed the commit in between.
    if layout::manifest(folder, generation).exists() {
        return Ok(());
    }
    fs::remove_file(&pin).context("remove", &pin)?;
    Err(Error::NoSnapshot { name: generation.to_string() })
}

/// Lets a kept commit go; the writer removes it with its next commit, or when it next opens.
pub fn unpin_snapshot(folder: &Path, wanted: &str) -> Result<()> {
    let entries = list_snapshots(folder)?;
    let entry = entries.iter().find(|entry| entry.name.as_deref() == Some(wanted));
    let entry = entry.ok_or_else(|| Error::NoSnapshot { name: wanted.to_owned() })?;
    let pin = layout::pin(folder, entry.generation);
    fs::remove_file(&pin).context("remove", &pin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::Directory;
    use crate::manifest::FileEntry;

    fn commit(directory: &mut Directory, name: &str) -> u64 {
        let path = directory.folder().join(name);
        fs::write(path, name).unwrap();
        let files = vec![FileEntry::complete(name, name.len() as u64, 0)];
        directory.commit(files, Default::default(), 1_000).unwrap().generation
    }

    #[test]
    fn a_pinned_commit_keeps_its_files_and_others_go() {
        let folder = tempfile::tempdir().unwrap();
        let mut directory = Directory::create(folder.path()).unwrap();
        let first = commit(&mut directory, "urls/a");
        pin_snapshot(folder.path(), first, "before the storm").unwrap();
        for number in 0..10 {
            commit(&mut directory, &format!("urls/{number}"));
        }
        let there = |name: &str| folder.path().join(name).exists();
        assert!(there("urls/a") && there("urls/9") && !there("urls/0"));
        let pinned = find_snapshot(folder.path(), Some("before the storm")).unwrap();
        assert_eq!(pinned.generation, first);
        assert_eq!(find_snapshot(folder.path(), None).unwrap().generation, 11);
        assert!(matches!(find_snapshot(folder.path(), Some("2")), Err(Error::NoSnapshot { .. })));

        unpin_snapshot(folder.path(), "before the storm").unwrap();
        commit(&mut directory, "urls/z");
        assert!(!there("urls/a"));
    }

    #[test]
    fn two_writers_do_not_meet_and_readers_need_no_leave() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::create(folder.path()).unwrap();
        let error = Directory::open(folder.path()).unwrap_err();
        assert!(matches!(error, Error::Locked { .. }), "{error}");
        assert_eq!(list_snapshots(folder.path()).unwrap().len(), 1);
        drop(directory);
        Directory::open(folder.path()).unwrap();
    }

    #[test]
    fn what_no_manifest_names_is_gone_after_opening() {
        let folder = tempfile::tempdir().unwrap();
        let mut directory = Directory::create(folder.path()).unwrap();
        commit(&mut directory, "urls/a");
        drop(directory);
        fs::write(folder.path().join("pages/half"), "written").unwrap();
        fs::create_dir_all(folder.path().join("scratch")).unwrap();
        fs::write(folder.path().join("scratch/merge"), "half").unwrap();
        fs::write(layout::manifest(folder.path(), 2), "half").unwrap();
        fs::write(folder.path().join("weir.toml"), "").unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        assert_eq!(directory.current().unwrap().generation, 1);
        assert!(!folder.path().join("pages/half").exists());
        assert!(!folder.path().join("scratch/merge").exists());
        assert!(folder.path().join("weir.toml").exists(), "what is not the store's is left alone");
    }

    #[test]
    fn a_folder_that_is_no_collection_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Directory::open(folder.path()), Err(Error::NotACollection { .. })));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        Directory::create(folder.path()).unwrap();
        assert!(matches!(Directory::create(folder.path()), Err(Error::AlreadyACollection { .. })));
    }
}
