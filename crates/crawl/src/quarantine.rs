//! Quarantine: harvested data that cannot be ingested, moved aside so that the crawl continues.
//!
//! ```text
//! quarantine/segment-000007-KEY-000001         segment of a worker
//! quarantine/segment-000007-KEY-000001.cause   why it is here
//! quarantine/harvest-000008/                   harvest directory that was copied from another machine
//! quarantine/harvest-000008.cause
//! ```
//!
//! Nothing reads the quarantine except for reports: the pages are fetched again. It can be deleted at any time.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use model::printable_line;
use serde::Serialize;

/// Directory in the collection.
const DIR: &str = "quarantine";
/// Extension of the file with the cause.
const CAUSE: &str = "cause";
/// Maximum number of items whose content is kept, and its size; of further ones only the cause is kept.
const MAX_ITEMS: usize = 100;
const MAX_BYTES: u64 = 1 << 30;
/// Maximum number of items of which the cause is kept.
const MAX_CAUSES: usize = 10_000;
/// Maximum length of a cause that is read.
const MAX_CAUSE_BYTES: u64 = 1 << 10;

/// Item in quarantine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuarantinedItem {
    /// Path in the collection.
    pub path: String,
    /// Reason why it cannot be ingested.
    pub cause: String,
}

/// Lists the quarantine of the collection in a directory.
pub fn list_quarantine(collection: &Path) -> io::Result<Vec<QuarantinedItem>> {
    let mut items = Vec::new();
    for path in entries(collection)? {
        if path.extension().is_some_and(|extension| extension == CAUSE) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let mut text = Vec::new();
            File::open(&path)?.take(MAX_CAUSE_BYTES).read_to_end(&mut text)?;
            let cause = printable_line(String::from_utf8_lossy(&text).trim());
            items.push(QuarantinedItem { path: format!("{DIR}/{name}"), cause });
        }
    }
    items.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    Ok(items)
}

/// Keeps a segment of a worker; `blob` is its name in the blob store. Returns its path in the collection.
pub(crate) fn keep_segment(
    collection: &Path,
    blob: &str,
    content: Option<&[u8]>,
    cause: &str,
) -> io::Result<PathBuf> {
    let target = target(collection, &format!("segment-{}", blob.replace('/', "-")))?;
    if let Some(content) = content
        && has_room(collection)?
    {
        fs::write(&target, content)?;
    }
    keep_cause(&target, cause)?;
    Ok(target)
}

/// Moves the harvest of a batch away. Returns its path in the collection; `None` if there is only room for the cause.
pub(crate) fn keep_harvest(
    collection: &Path,
    batch: u64,
    harvest: &Path,
    cause: &str,
) -> io::Result<Option<PathBuf>> {
    let target = target(collection, &format!("harvest-{batch:06}"))?;
    if target.exists() {
        fs::remove_dir_all(&target)?;
    }
    if !has_room(collection)? {
        keep_cause(&target, cause)?;
        return Ok(None);
    }
    fs::rename(harvest, &target)?;
    // On a full disk the harvest can be moved, and only its cause not written: the caller reports it too.
    let _ = keep_cause(&target, cause);
    Ok(Some(target))
}

fn target(collection: &Path, name: &str) -> io::Result<PathBuf> {
    let dir = collection.join(DIR);
    fs::create_dir_all(&dir)?;
    Ok(dir.join(name))
}

fn keep_cause(target: &Path, cause: &str) -> io::Result<()> {
    let collection = target.parent().and_then(Path::parent).unwrap_or(target);
    if entries(collection)?.len() >= MAX_CAUSES {
        return Ok(());
    }
    fs::write(target.with_extension(CAUSE), format!("{cause}\n"))
}

/// Whether the content of another item may be kept.
fn has_room(collection: &Path) -> io::Result<bool> {
    let (mut items, mut bytes) = (0, 0_u64);
    for path in entries(collection)? {
        if path.extension().is_none_or(|extension| extension != CAUSE) {
            items += 1;
            bytes = bytes.saturating_add(size(path)?);
        }
    }
    Ok(items < MAX_ITEMS && bytes < MAX_BYTES)
}

/// Size of a file, or of all files in a directory.
fn size(path: PathBuf) -> io::Result<u64> {
    let (mut paths, mut bytes) = (vec![path], 0_u64);
    while let Some(path) = paths.pop() {
        let metadata = fs::symlink_metadata(&path)?;
        bytes = bytes.saturating_add(metadata.len());
        if metadata.is_dir() {
            for entry in fs::read_dir(&path)? {
                paths.push(entry?.path());
            }
        }
    }
    Ok(bytes)
}

fn entries(collection: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(collection.join(DIR)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.map(|entry| Ok(entry?.path())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quarantine_keeps_a_limited_number_of_segments_and_names_them_with_their_causes() {
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(list_quarantine(temp.path()).unwrap(), []);
        for number in 0..MAX_ITEMS + 2 {
            let blob = format!("000007/{number:06}");
            keep_segment(temp.path(), &blob, Some(b"content"), "the \x1b[31msegment is corrupt").unwrap();
        }
        let items = list_quarantine(temp.path()).unwrap();
        assert_eq!(items.len(), MAX_ITEMS + 2);
        assert_eq!(items[0].path, "quarantine/segment-000007-000000");
        assert_eq!(items[0].cause, "the ?[31msegment is corrupt");
        let is_kept =
            |number: usize| temp.path().join(format!("quarantine/segment-000007-{number:06}")).exists();
        assert!(is_kept(MAX_ITEMS - 1) && !is_kept(MAX_ITEMS));
    }

    #[test]
    fn a_harvest_is_moved_as_a_whole() {
        let temp = tempfile::tempdir().unwrap();
        let harvest = temp.path().join("harvests/000008");
        for _ in 0..2 {
            fs::create_dir_all(&harvest).unwrap();
            fs::write(harvest.join("HARVEST"), b"x").unwrap();
            keep_harvest(temp.path(), 8, &harvest, "it is incomplete").unwrap();
            assert!(!harvest.exists() && temp.path().join("quarantine/harvest-000008/HARVEST").exists());
        }
        assert_eq!(list_quarantine(temp.path()).unwrap()[0].cause, "it is incomplete");
    }

    #[test]
    fn the_files_of_a_harvest_count_and_further_items_have_only_a_cause() {
        let temp = tempfile::tempdir().unwrap();
        let keep = |batch: u64, bytes: u64| {
            let harvest = temp.path().join(format!("harvests/{batch:06}"));
            fs::create_dir_all(harvest.join("pages")).unwrap();
            // A sparse file, which takes no space.
            File::create(harvest.join("pages/records")).unwrap().set_len(bytes).unwrap();
            keep_harvest(temp.path(), batch, &harvest, &"long ".repeat(1_000)).unwrap().is_some()
        };
        assert!(keep(1, MAX_BYTES));
        assert!(!keep(2, 1));
        keep_segment(temp.path(), "000003/1", Some(b"content"), "it is corrupt").unwrap();
        assert!(!temp.path().join("quarantine/segment-000003-1").exists());
        let items = list_quarantine(temp.path()).unwrap();
        assert_eq!(items.len(), 3);
        assert!(items.iter().all(|item| item.cause.len() as u64 <= MAX_CAUSE_BYTES));
    }
}
