//! Rank columns of the last analysis: one number per page or site, by id.
//!
//! A column is an immutable block file of four-byte numbers, such as `ranks/pages-NAME-GENERATION.f32`: record *n* is the
//! value of page *n*. GENERATION is the analysed commit; pages discovered later have no value. A new column replaces the
//! old one by a rename, so a reader sees either of them, and one that has the old column open can read it to its end.
//! Columns are derived from a commit and not part of one; they may be deleted.
//!
//! This module does not interpret the numbers: the writer of a column names it.

use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::collection_dir::sync_dir;
use crate::disk::{self, File};
use crate::error::{Context, Error, Result};
use crate::file::blocks::{BlockReader, BlockWriter};
use crate::manifest::FileEntry;

const DIR: &str = "ranks";
const UNFINISHED: &str = ".unfinished";
const VALUE_BYTES: usize = 4;
/// Number of blocks read at a time.
const READ_BLOCKS: u64 = 64;
/// Maximum number of attempts to open a column: a writer may replace the file after it was listed.
const MAX_OPEN_ATTEMPTS: usize = 5;

/// Target of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RankTarget {
    /// Pages, by their ids.
    Pages,
    /// Sites, by their ids.
    Sites,
}

impl RankTarget {
    /// Name in file names.
    pub fn as_str(self) -> &'static str {
        match self {
            RankTarget::Pages => "pages",
            RankTarget::Sites => "sites",
        }
    }
}

/// Type of the values of a column.
pub trait RankValue: Copy + Send {
    /// Suffix of the file names.
    const SUFFIX: &'static str;
    /// Encodes a value.
    fn to_bytes(self) -> [u8; VALUE_BYTES];
    /// Decodes a value.
    fn from_bytes(bytes: [u8; VALUE_BYTES]) -> Self;
}

/// Rank or share.
impl RankValue for f32 {
    const SUFFIX: &'static str = ".f32";

    fn to_bytes(self) -> [u8; VALUE_BYTES] {
        self.to_le_bytes()
    }

    fn from_bytes(bytes: [u8; VALUE_BYTES]) -> f32 {
        f32::from_le_bytes(bytes)
    }
}

/// Count or id.
impl RankValue for u32 {
    const SUFFIX: &'static str = ".u32";

    fn to_bytes(self) -> [u8; VALUE_BYTES] {
        self.to_le_bytes()
    }

    fn from_bytes(bytes: [u8; VALUE_BYTES]) -> u32 {
        u32::from_le_bytes(bytes)
    }
}

/// Description of an existing column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RankColumnInfo {
    /// Pages or sites.
    pub target: RankTarget,
    /// Name, such as `pagerank`.
    pub name: String,
    /// Generation of the analysed commit.
    pub generation: u64,
    /// Suffix of the file name: [`RankValue::SUFFIX`].
    pub suffix: &'static str,
}

impl RankColumnInfo {
    /// File of the column.
    pub fn path(&self, collection: &Path) -> PathBuf {
        collection.join(self.file_name())
    }

    fn file_name(&self) -> String {
        let RankColumnInfo { target, name, generation, suffix } = self;
        format!("{DIR}/{}-{name}-{generation:010}{suffix}", target.as_str())
    }

    fn parse(file_name: &str) -> Option<RankColumnInfo> {
        let suffix = [f32::SUFFIX, u32::SUFFIX].into_iter().find(|suffix| file_name.ends_with(suffix))?;
        let (target, rest) = file_name.strip_suffix(suffix)?.split_once('-')?;
        let target =
            [RankTarget::Pages, RankTarget::Sites].into_iter().find(|known| known.as_str() == target)?;
        let (name, generation) = rest.rsplit_once('-')?;
        Some(RankColumnInfo { target, name: name.to_owned(), generation: generation.parse().ok()?, suffix })
    }
}

/// Lists the columns of a collection, those of pages first, by name; of each name only the newest.
pub fn list_ranks(dir: &Path) -> Result<Vec<RankColumnInfo>> {
    let mut entries = all_entries(dir)?;
    entries
        .sort_unstable_by(|a, b| (a.target, &a.name, b.generation).cmp(&(b.target, &b.name, a.generation)));
    entries.dedup_by(|later, first| (later.target, &later.name) == (first.target, &first.name));
    Ok(entries)
}

fn all_entries(dir: &Path) -> Result<Vec<RankColumnInfo>> {
    let dir = dir.join(DIR);
    if !disk::exists(&dir).context("list", &dir)? {
        return Ok(Vec::new());
    }
    let mut entries = Vec::new();
    for entry in disk::list(&dir).context("list", &dir)? {
        entries.extend(RankColumnInfo::parse(&entry.text()));
    }
    Ok(entries)
}

/// Writes a column and replaces the one of the same name. The values are in the order of the ids. The name consists of
/// letters, digits and hyphens.
pub fn write_ranks<V: RankValue>(
    dir: &Path,
    target: RankTarget,
    name: &str,
    generation: u64,
    values: impl IntoIterator<Item = V>,
) -> Result<()> {
    debug_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{name}");
    let ranks = dir.join(DIR);
    disk::create_dir_all(&ranks).context("create", &ranks)?;
    sync_dir(dir)?;
    let entry = RankColumnInfo { target, name: name.to_owned(), generation, suffix: V::SUFFIX };
    let unfinished = format!("{DIR}/{}-{name}{UNFINISHED}", target.as_str());
    let mut writer = BlockWriter::create(dir, &unfinished, VALUE_BYTES)?;
    for value in values {
        writer.push(&value.to_bytes())?;
    }
    writer.finish()?;
    let path = dir.join(entry.file_name());
    disk::rename(&dir.join(&unfinished), &path).context("rename", &path)?;
    sync_dir(&ranks)?;
    for old in all_entries(dir)? {
        if (old.target, old.name.as_str()) == (target, name) && old != entry {
            let path = dir.join(old.file_name());
            disk::remove_file(&path).context("remove", &path)?;
        }
    }
    // An old column of a later commit would take precedence.
    sync_dir(&ranks)
}

/// Column, open for reading by any number of threads.
#[derive(Debug)]
pub struct RankColumn<V> {
    blocks: BlockReader,
    generation: u64,
    value: PhantomData<V>,
}

impl<V: RankValue> RankColumn<V> {
    /// Opens the newest column of this name and type; `None` if there is none.
    pub fn open(dir: &Path, target: RankTarget, name: &str) -> Result<Option<RankColumn<V>>> {
        let mut attempts = 0;
        loop {
            let entries = list_ranks(dir)?;
            let matches = |entry: &&RankColumnInfo| {
                (entry.target, entry.name.as_str(), entry.suffix) == (target, name, V::SUFFIX)
            };
            let Some(entry) = entries.iter().find(matches) else { return Ok(None) };
            match RankColumn::open_entry(dir, entry) {
                Err(Error::Io { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound && attempts < MAX_OPEN_ATTEMPTS =>
                {
                    attempts += 1;
                }
                column => return column.map(Some),
            }
        }
    }

    fn open_entry(dir: &Path, entry: &RankColumnInfo) -> Result<RankColumn<V>> {
        let file_name = entry.file_name();
        let path = dir.join(&file_name);
        let length = File::open(&path).and_then(|file| file.length()).context("open", &path)?;
        let blocks = BlockReader::open(dir, &FileEntry::complete(&file_name, length, 0), VALUE_BYTES)?;
        Ok(RankColumn { blocks, generation: entry.generation, value: PhantomData })
    }

    /// Generation of the analysed commit.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Number of values: those of the ids below.
    pub fn len(&self) -> u64 {
        self.blocks.records()
    }

    /// Whether it has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads the value of a page or site, with one disk read; `None` if it was discovered later.
    pub fn get(&self, id: u32) -> Result<Option<V>> {
        let id = u64::from(id);
        if id >= self.len() {
            return Ok(None);
        }
        let per_block = self.blocks.records_per_block() as u64;
        let mut bytes = Vec::new();
        self.blocks.read_blocks(id / per_block, 1, &mut bytes)?;
        Ok(values(&bytes).nth((id % per_block) as usize))
    }

    /// Reads the values of consecutive pages or sites; the result is shorter if the column ends earlier.
    pub fn read(&self, ids: Range<u32>) -> Result<Vec<V>> {
        let end = u64::from(ids.end).min(self.len());
        let start = u64::from(ids.start).min(end);
        if start == end {
            return Ok(Vec::new());
        }
        let per_block = self.blocks.records_per_block() as u64;
        let (first, last) = (start / per_block, (end - 1) / per_block);
        let mut bytes = Vec::new();
        self.blocks.read_blocks(first, last - first + 1, &mut bytes)?;
        let before = (start - first * per_block) as usize;
        Ok(values(&bytes).skip(before).take((end - start) as usize).collect())
    }

    /// All numbers, by id.
    pub fn read_all(&self) -> Result<Vec<V>> {
        let mut all = Vec::with_capacity(self.len() as usize);
        let mut bytes = Vec::new();
        for first in (0..self.blocks.blocks()).step_by(READ_BLOCKS as usize) {
            self.blocks.read_blocks(first, READ_BLOCKS.min(self.blocks.blocks() - first), &mut bytes)?;
            all.extend(values::<V>(&bytes));
        }
        Ok(all)
    }
}

fn values<V: RankValue>(bytes: &[u8]) -> impl Iterator<Item = V> {
    bytes.as_chunks::<VALUE_BYTES>().0.iter().map(|bytes| V::from_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_new_column_replaces_the_old_one_and_readers_keep_theirs() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        assert!(RankColumn::<f32>::open(dir, RankTarget::Pages, "pagerank").unwrap().is_none());
        write_ranks(dir, RankTarget::Pages, "pagerank", 3, (0..10_000).map(|n| n as f32)).unwrap();
        let old = RankColumn::<f32>::open(dir, RankTarget::Pages, "pagerank").unwrap().unwrap();
        write_ranks(dir, RankTarget::Pages, "pagerank", 4, (0..20_000).map(|n| 0.5 * n as f32)).unwrap();
        write_ranks(dir, RankTarget::Sites, "in-degree", 4, [7u32, 8]).unwrap();
        assert_eq!(
            (old.generation(), old.get(9_999).unwrap(), old.get(10_000).unwrap()),
            (3, Some(9_999.0), None)
        );
        let new = RankColumn::<f32>::open(dir, RankTarget::Pages, "pagerank").unwrap().unwrap();
        assert_eq!((new.generation(), new.len(), new.get(19_999).unwrap()), (4, 20_000, Some(9_999.5)));
        assert!(new.read_all().unwrap().into_iter().eq((0..20_000).map(|n| 0.5 * n as f32)));
        for ids in [0..0, 0..1, 1_000..9_000, 4_090..4_100, 19_990..30_000, 20_000..20_001] {
            let wanted = ids.clone().take_while(|id| *id < 20_000).map(|id| 0.5 * id as f32);
            assert!(new.read(ids.clone()).unwrap().into_iter().eq(wanted), "{ids:?}");
        }
        let listed = list_ranks(dir).unwrap();
        let listed: Vec<_> =
            listed.iter().map(|entry| (entry.target, entry.name.as_str(), entry.generation)).collect();
        assert_eq!(listed, [(RankTarget::Pages, "pagerank", 4), (RankTarget::Sites, "in-degree", 4)]);
        assert_eq!(fs::read_dir(dir.join("ranks")).unwrap().count(), 2, "the old file is gone");
        assert!(RankColumn::<f32>::open(dir, RankTarget::Sites, "in-degree").unwrap().is_none());
    }

    #[test]
    fn an_empty_column_and_a_damaged_one() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        write_ranks(dir, RankTarget::Pages, "hub", 1, [] as [f32; 0]).unwrap();
        let empty = RankColumn::<f32>::open(dir, RankTarget::Pages, "hub").unwrap().unwrap();
        assert!(empty.is_empty() && empty.read_all().unwrap().is_empty() && empty.get(0).unwrap().is_none());
        write_ranks(dir, RankTarget::Pages, "hub", 1, [1.0f32; 5_000]).unwrap();
        let path = dir.join("ranks/pages-hub-0000000001.f32");
        let mut bytes = fs::read(&path).unwrap();
        bytes[18_000] ^= 1;
        fs::write(&path, bytes).unwrap();
        let column = RankColumn::<f32>::open(dir, RankTarget::Pages, "hub").unwrap().unwrap();
        assert_eq!(column.get(0).unwrap(), Some(1.0));
        assert!(matches!(column.get(4_999), Err(Error::Corrupt { .. })));
        assert!(matches!(column.read_all(), Err(Error::Corrupt { .. })));
    }
}
