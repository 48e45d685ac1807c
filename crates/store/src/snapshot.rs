//! Snapshots: opening a commit for reading, and listing, creating and deleting named snapshots.
//!
//! All of this works beside a writing process: a name is stored in a small pin file, which the writer checks before it
//! deletes a commit.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use model::is_unsafe_to_print;
use xxhash_rust::xxh3::xxh3_64;

use crate::collection_dir::{generations, read_current, read_generation, sync_dir};
use crate::disk::{self, File};
use crate::error::{Context, Error, Result, corrupt};
use crate::layout;
use crate::links::LinkLogReader;
use crate::manifest::Manifest;
use crate::outside_links;
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
/// Maximum size of a pin: a name and a checksum.
const MAX_PIN_BYTES: u64 = 4 << 10;

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
        let name = read_pin(dir, generation)?.map(|pin| pin_name(&pin));
        entries.push(SnapshotInfo { generation, committed_ms: manifest.committed_ms, name });
    }
    Ok(entries)
}

/// Finds a commit by its name or generation; `None` is the newest commit. A name takes precedence.
pub fn find_snapshot(dir: &Path, name_or_generation: Option<&str>) -> Result<Manifest> {
    outside_links::refuse_for_reading(dir)?;
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
        || name.contains(is_unsafe_to_print)
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
    let (pin, unfinished) = (layout::pin(dir, generation), layout::unfinished_pin(dir, generation));
    let mut file = File::create(&unfinished).context("create", &unfinished)?;
    file.write_all(encode_pin(name).as_bytes()).context("write", &unfinished)?;
    // A snapshot that is lost or nameless after a power failure would be noticed too late.
    file.sync().context("sync", &unfinished)?;
    disk::rename(&unfinished, &pin).context("rename", &pin)?;
    sync_dir(&dir.join(layout::MANIFESTS))?;
    // The writer may have deleted the commit before it saw the pin.
    let manifest = layout::manifest(dir, generation);
    if disk::exists(&manifest).context("read", &manifest)? {
        return Ok(());
    }
    disk::remove_file(&pin).context("remove", &pin)?;
    Err(Error::SnapshotNotFound { dir: dir.to_owned(), name: generation.to_string() })
}

/// Deletes a named snapshot; the writer deletes its files with the next commit, or when it opens the collection.
pub fn delete_snapshot(dir: &Path, name: &str) -> Result<()> {
    let entries = list_snapshots(dir)?;
    let entry = entries.iter().find(|entry| entry.name.as_deref() == Some(name));
    let entry =
        entry.ok_or_else(|| Error::SnapshotNotFound { dir: dir.to_owned(), name: name.to_owned() })?;
    let pin = layout::pin(dir, entry.generation);
    disk::remove_file(&pin).context("remove", &pin)?;
    sync_dir(&dir.join(layout::MANIFESTS))
}

/// Verifies the checksum of a pin; absence is no error.
pub(crate) fn check_pin(dir: &Path, generation: u64) -> Result<()> {
    let Some(pin) = read_pin(dir, generation)? else { return Ok(()) };
    let is_valid = encode_pin(&pin_name(&pin)).as_bytes() == pin;
    let wrong = || corrupt(&layout::pin(dir, generation), "", "the name does not match its checksum");
    if is_valid { Ok(()) } else { Err(wrong()) }
}

/// Reads the pin of a commit; `None` if it has none.
fn read_pin(dir: &Path, generation: u64) -> Result<Option<Vec<u8>>> {
    let path = layout::pin(dir, generation);
    match disk::read(&path, MAX_PIN_BYTES) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        pin => pin.context("read", &path).map(Some),
    }
}

/// Content of a pin: the name, and a line with its checksum.
fn encode_pin(name: &str) -> String {
    format!("{name}\nxxh3 {:016x}\n", xxh3_64(name.as_bytes()))
}

/// Name in a pin; a damaged one keeps its commit, too.
fn pin_name(pin: &[u8]) -> String {
    String::from_utf8_lossy(pin).lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

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
        let first = commit(&mut directory, "urls/run-1");
        pin_generation(dir.path(), first, "before").unwrap();
        for number in 0..10 {
            commit(&mut directory, &format!("urls/run-{}", number + 2));
        }
        let there = |name: &str| dir.path().join(name).exists();
        assert!(there("urls/run-1") && there("urls/run-11") && !there("urls/run-2"));
        let pinned = find_snapshot(dir.path(), Some("before")).unwrap();
        assert_eq!(pinned.generation, first);
        assert_eq!(find_snapshot(dir.path(), None).unwrap().generation, 11);
        assert!(matches!(find_snapshot(dir.path(), Some("2")), Err(Error::SnapshotNotFound { .. })));

        delete_snapshot(dir.path(), "before").unwrap();
        commit(&mut directory, "urls/run-99");
        assert!(!there("urls/run-1"));
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
        commit(&mut directory, "urls/run-1");
        drop(directory);
        fs::write(dir.path().join("pages/weir-000001.warc.gz"), "written").unwrap();
        fs::write(dir.path().join("pages/notes.txt"), "of a user").unwrap();
        fs::create_dir_all(dir.path().join("pages/more")).unwrap();
        fs::create_dir_all(dir.path().join("scratch")).unwrap();
        fs::write(dir.path().join("scratch/merge"), "half").unwrap();
        fs::write(layout::manifest(dir.path(), 2), "half").unwrap();
        fs::write(dir.path().join("weir.toml"), "").unwrap();
        let directory = CollectionDir::open(dir.path()).unwrap();
        assert_eq!(directory.current().unwrap().generation, 1);
        assert!(!dir.path().join("pages/weir-000001.warc.gz").exists());
        assert!(dir.path().join("pages/notes.txt").exists() && dir.path().join("pages/more").exists());
        assert!(!dir.path().join("scratch/merge").exists());
        assert!(dir.path().join("weir.toml").exists(), "files of other components are not touched");
    }

    #[test]
    fn a_pin_is_written_as_a_whole_and_a_damaged_one_is_detected() {
        let dir = tempfile::tempdir().unwrap();
        let _directory = CollectionDir::create(dir.path()).unwrap();
        pin_generation(dir.path(), 0, "before").unwrap();
        let pin = layout::pin(dir.path(), 0);
        let checksum = xxh3_64(b"before");
        assert_eq!(fs::read_to_string(&pin).unwrap(), format!("before\nxxh3 {checksum:016x}\n"));
        check_pin(dir.path(), 0).unwrap();
        let bytes = fs::read(&pin).unwrap();
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            for damaged in [flipped, bytes[..at].to_vec()] {
                fs::write(&pin, damaged).unwrap();
                assert!(check_pin(dir.path(), 0).is_err(), "byte {at}");
                assert!(list_snapshots(dir.path()).unwrap()[0].name.is_some(), "the commit is kept");
            }
        }
        assert!(!layout::unfinished_pin(dir.path(), 0).exists());
    }

    #[test]
    fn a_missing_manifest_of_the_current_commit_is_restored() {
        let dir = tempfile::tempdir().unwrap();
        let mut directory = CollectionDir::create(dir.path()).unwrap();
        for number in 1..4 {
            commit(&mut directory, &format!("urls/run-{number}"));
        }
        drop(directory);
        fs::remove_file(layout::manifest(dir.path(), 3)).unwrap();
        let directory = CollectionDir::open(dir.path()).unwrap();
        assert_eq!(directory.current().unwrap().generation, 3);
        assert!(dir.path().join("urls/run-3").exists() && layout::manifest(dir.path(), 3).exists());
        drop(directory);
        let other = Manifest { generation: 3, ..Manifest::empty() }.encode().unwrap();
        fs::remove_file(layout::manifest(dir.path(), 3)).unwrap();
        fs::write(layout::manifest(dir.path(), 3), other).unwrap();
        let error = CollectionDir::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("it differs from MANIFEST"), "{error}");
    }

    #[test]
    fn a_collection_is_not_created_among_files_of_a_user() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["pages/weir-000000.warc.gz", "letter", "manifests/mine"] {
            let path = dir.path().join("new").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "dear").unwrap();
            let error = CollectionDir::create(&dir.path().join("new")).unwrap_err();
            assert!(matches!(error, Error::NotEmpty { .. }), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), "dear");
            fs::remove_dir_all(dir.path().join("new")).unwrap();
        }
        // An interrupted creation does not prevent the next one.
        drop(CollectionDir::create(&dir.path().join("new")).unwrap());
        fs::remove_file(dir.path().join("new/MANIFEST")).unwrap();
        fs::write(dir.path().join("new/weir.toml"), "").unwrap();
        CollectionDir::create(&dir.path().join("new")).unwrap();
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
