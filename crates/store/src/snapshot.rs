//! Snapshots: opening a commit for reading, and listing, creating and deleting named snapshots.
//!
//! All of this works beside a writing process: a name is stored in a small pin file, which the writer checks before it
//! deletes a commit.

use std::fs;
use std::path::{Path, PathBuf};

use crate::collection_dir::{generations, read_current, read_generation};
use crate::error::{Context, Error, Result};
use crate::layout;
use crate::links::LinkLogReader;
use crate::manifest::Manifest;
use crate::pages::PageStoreReader;
use crate::state::page::PageStateReader;
use crate::state::site::SiteStateReader;
use crate::urls::UrlReader;

/// Collection at one commit, for reading. A crawl may continue at the same time.
pub struct Snapshot {
    /// Manifest of the commit.
    pub manifest: Manifest,
    /// URL table: URLs and their page ids.
    pub urls: UrlReader,
    /// State of each page.
    pub page_state: PageStateReader,
    /// State of each site.
    pub site_state: SiteStateReader,
    /// Stored pages.
    pub page_store: PageStoreReader,
    /// Links between pages.
    pub links: LinkLogReader,
    dir: PathBuf,
}

impl Snapshot {
    /// Opens a snapshot by its name or generation; `None` is the newest commit.
    pub fn open(dir: &Path, name_or_generation: Option<&str>) -> Result<Snapshot> {
        let manifest = find_snapshot(dir, name_or_generation)?;
        Ok(Snapshot {
            urls: UrlReader::open(dir, &manifest)?,
            page_state: PageStateReader::open(dir, &manifest)?,
            site_state: SiteStateReader::open(dir, &manifest)?,
            page_store: PageStoreReader::open(dir, &manifest)?,
            links: LinkLogReader::open(dir, &manifest)?,
            dir: dir.to_owned(),
            manifest,
        })
    }

    /// Directory of the collection.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

/// Commit that can be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// Generation of the commit.
    pub generation: u64,
    /// Time of the commit in Unix milliseconds.
    pub committed_ms: i64,
    /// Name of the snapshot; `None` for a commit that is deleted after some more commits.
    pub name: Option<String>,
}

/// Maximum length of the name of a snapshot.
pub const MAX_SNAPSHOT_NAME_BYTES: usize = 100;

/// Lists the commits that can be opened, oldest first.
pub fn list_snapshots(dir: &Path) -> Result<Vec<SnapshotInfo>> {
    let current = read_current(dir)?.generation;
    let mut entries = Vec::new();
    for generation in generations(dir)? {
        // The writer may be about to commit a newer one, or may have just deleted one.
        if generation > current {
            continue;
        }
        let manifest = match read_generation(dir, generation) {
            Ok(manifest) => manifest,
            Err(Error::SnapshotNotFound { .. }) => continue,
            Err(error) => return Err(error),
        };
        let pin = layout::pin(dir, generation);
        let name = fs::read_to_string(&pin).ok().map(|name| name.trim_end().to_owned());
        entries.push(SnapshotInfo { generation, committed_ms: manifest.committed_ms, name });
    }
    Ok(entries)
}

/// Finds a commit by its name or generation; `None` is the newest commit. A name takes precedence.
pub fn find_snapshot(dir: &Path, name_or_generation: Option<&str>) -> Result<Manifest> {
    let Some(requested) = name_or_generation else { return read_current(dir) };
    let entries = list_snapshots(dir)?;
    let found = entries
        .iter()
        .find(|entry| entry.name.as_deref() == Some(requested))
        .or_else(|| entries.iter().find(|entry| requested.parse() == Ok(entry.generation)));
    match found {
        Some(entry) => read_generation(dir, entry.generation),
        None => Err(Error::SnapshotNotFound { dir: dir.to_owned(), name: requested.to_owned() }),
    }
}

/// Creates a named snapshot of a commit; `None` is the newest commit. The name must be valid and unused.
pub fn name_snapshot(dir: &Path, name: &str, generation: Option<u64>) -> Result<()> {
    let invalid = |message: String| Err(Error::InvalidSnapshotName { message });
    let digits = name.bytes().all(|byte| byte.is_ascii_digit());
    if name.trim() != name
        || digits
        || name.len() > MAX_SNAPSHOT_NAME_BYTES
        || name.contains(char::is_control)
    {
        return invalid(format!(
            "invalid snapshot name `{name}`: it must contain a letter, must not begin or end with a space, must \
             not contain control characters, and must have at most {MAX_SNAPSHOT_NAME_BYTES} bytes"
        ));
    }
    let entries = list_snapshots(dir)?;
    if let Some(entry) = entries.iter().find(|entry| entry.name.as_deref() == Some(name)) {
        return invalid(format!(
            "snapshot `{name}` already exists (generation {}); delete it first",
            entry.generation
        ));
    }
    let commit = match generation {
        Some(generation) => entries.iter().find(|entry| entry.generation == generation),
        None => entries.last(),
    };
    match commit {
        Some(SnapshotInfo { name: Some(other), generation, .. }) => invalid(format!(
            "generation {generation} already has the name `{other}`; delete that snapshot first"
        )),
        Some(entry) => pin_generation(dir, entry.generation, name),
        None => Err(Error::SnapshotNotFound {
            dir: dir.to_owned(),
            name: generation.unwrap_or_default().to_string(),
        }),
    }
}

/// Pins a commit under a name until [`delete_snapshot`]. Does not check the name.
pub fn pin_generation(dir: &Path, generation: u64, name: &str) -> Result<()> {
    let pin = layout::pin(dir, generation);
    fs::write(&pin, name).context("write", &pin)?;
    // The writer may have deleted the commit before it saw the pin.
    if layout::manifest(dir, generation).exists() {
        return Ok(());
    }
    fs::remove_file(&pin).context("remove", &pin)?;
    Err(Error::SnapshotNotFound { dir: dir.to_owned(), name: generation.to_string() })
}

/// Deletes a named snapshot; the writer deletes its files with the next commit, or when it opens the collection.
pub fn delete_snapshot(dir: &Path, name: &str) -> Result<()> {
    let entries = list_snapshots(dir)?;
    let entry = entries.iter().find(|entry| entry.name.as_deref() == Some(name));
    let entry =
        entry.ok_or_else(|| Error::SnapshotNotFound { dir: dir.to_owned(), name: name.to_owned() })?;
    let pin = layout::pin(dir, entry.generation);
    fs::remove_file(&pin).context("remove", &pin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collection_dir::CollectionDir;
    use crate::manifest::FileEntry;

    fn commit(directory: &mut CollectionDir, name: &str) -> u64 {
        let path = directory.dir().join(name);
        fs::write(path, name).unwrap();
        let files = vec![FileEntry::complete(name, name.len() as u64, 0)];
        directory.commit(files, Default::default(), 1_000).unwrap().generation
    }

    #[test]
    fn a_pinned_commit_keeps_its_files_and_others_are_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let mut directory = CollectionDir::create(dir.path()).unwrap();
        let first = commit(&mut directory, "urls/a");
        pin_generation(dir.path(), first, "before").unwrap();
        for number in 0..10 {
            commit(&mut directory, &format!("urls/{number}"));
        }
        let there = |name: &str| dir.path().join(name).exists();
        assert!(there("urls/a") && there("urls/9") && !there("urls/0"));
        let pinned = find_snapshot(dir.path(), Some("before")).unwrap();
        assert_eq!(pinned.generation, first);
        assert_eq!(find_snapshot(dir.path(), None).unwrap().generation, 11);
        assert!(matches!(find_snapshot(dir.path(), Some("2")), Err(Error::SnapshotNotFound { .. })));

        delete_snapshot(dir.path(), "before").unwrap();
        commit(&mut directory, "urls/z");
        assert!(!there("urls/a"));
    }

    #[test]
    fn a_second_writer_is_rejected_and_readers_need_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let directory = CollectionDir::create(dir.path()).unwrap();
        let error = CollectionDir::open(dir.path()).unwrap_err();
        assert!(matches!(error, Error::Locked { .. }), "{error}");
        assert_eq!(list_snapshots(dir.path()).unwrap().len(), 1);
        drop(directory);
        CollectionDir::open(dir.path()).unwrap();
    }

    #[test]
    fn unreferenced_files_are_deleted_on_opening() {
        let dir = tempfile::tempdir().unwrap();
        let mut directory = CollectionDir::create(dir.path()).unwrap();
        commit(&mut directory, "urls/a");
        drop(directory);
        fs::write(dir.path().join("pages/half"), "written").unwrap();
        fs::create_dir_all(dir.path().join("scratch")).unwrap();
        fs::write(dir.path().join("scratch/merge"), "half").unwrap();
        fs::write(layout::manifest(dir.path(), 2), "half").unwrap();
        fs::write(dir.path().join("weir.toml"), "").unwrap();
        let directory = CollectionDir::open(dir.path()).unwrap();
        assert_eq!(directory.current().unwrap().generation, 1);
        assert!(!dir.path().join("pages/half").exists());
        assert!(!dir.path().join("scratch/merge").exists());
        assert!(dir.path().join("weir.toml").exists(), "files of other components are not touched");
    }

    #[test]
    fn a_directory_without_a_collection_is_not_changed() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(CollectionDir::open(dir.path()), Err(Error::NotACollection { .. })));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        CollectionDir::create(dir.path()).unwrap();
        assert!(matches!(CollectionDir::create(dir.path()), Err(Error::AlreadyACollection { .. })));
    }
}
