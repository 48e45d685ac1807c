//! How important is each page and each site? What the last analysis found, as columns of numbers by id.
//!
//! A column is one immutable file, `ranks/pages-NAME-GENERATION.f32` or alike, a block file of four-byte numbers: the
//! number of page *n* is record *n*. GENERATION is the commit that was analysed; pages that became known later have no
//! number. A new column takes the place of the old one by a rename, so a reader sees the one or the other, and whoever
//! has the old one open reads it to its end. Columns are no part of a commit: they follow from it, and may be deleted.
//!
//! This module does not know what the numbers mean: whoever writes a column names it.

use std::fs;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;

use crate::blocks::{BlockReader, BlockWriter};
use crate::directory::sync_folder;
use crate::error::{Context, Error, Result};
use crate::manifest::FileEntry;

const FOLDER: &str = "ranks";
const UNFINISHED: &str = ".unfinished";
const VALUE_BYTES: usize = 4;
/// So many blocks are read at a time.
const READ_BLOCKS: u64 = 64;
/// Another writer may replace the file between the look for its name and the opening; not so often.
const OPEN_TRIES: usize = 5;

/// What a column has a number for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ranked {
    /// Each page, by its id.
    Pages,
    /// Each site, by its id.
    Sites,
}

impl Ranked {
    /// As it stands in names of files.
    pub fn as_str(self) -> &'static str {
        match self {
            Ranked::Pages => "pages",
            Ranked::Sites => "sites",
        }
    }
}

/// A kind of number that columns are made of.
pub trait RankValue: Copy + Send {
    /// The end of the names of its files.
    const SUFFIX: &'static str;
    /// As it lies in a file.
    fn to_bytes(self) -> [u8; VALUE_BYTES];
    /// What [`RankValue::to_bytes`] was given.
    fn from_bytes(bytes: [u8; VALUE_BYTES]) -> Self;
}

/// A rank or a share.
impl RankValue for f32 {
    const SUFFIX: &'static str = ".f32";

    fn to_bytes(self) -> [u8; VALUE_BYTES] {
        self.to_le_bytes()
    }

    fn from_bytes(bytes: [u8; VALUE_BYTES]) -> f32 {
        f32::from_le_bytes(bytes)
    }
}

/// A count or a number of something.
impl RankValue for u32 {
    const SUFFIX: &'static str = ".u32";

    fn to_bytes(self) -> [u8; VALUE_BYTES] {
        self.to_le_bytes()
    }

    fn from_bytes(bytes: [u8; VALUE_BYTES]) -> u32 {
        u32::from_le_bytes(bytes)
    }
}

/// A column that is there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RankEntry {
    /// Of pages or of sites.
    pub of: Ranked,
    /// Such as `pagerank`.
    pub name: String,
    /// The commit that it describes.
    pub generation: u64,
    /// The end of its file's name: [`RankValue::SUFFIX`].
    pub suffix: &'static str,
}

impl RankEntry {
    fn file_name(&self) -> String {
        let RankEntry { of, name, generation, suffix } = self;
        format!("{FOLDER}/{}-{name}-{generation:010}{suffix}", of.as_str())
    }

    fn parse(file_name: &str) -> Option<RankEntry> {
        let suffix = [f32::SUFFIX, u32::SUFFIX].into_iter().find(|suffix| file_name.ends_with(suffix))?;
        let (of, rest) = file_name.strip_suffix(suffix)?.split_once('-')?;
        let of = [Ranked::Pages, Ranked::Sites].into_iter().find(|ranked| ranked.as_str() == of)?;
        let (name, generation) = rest.rsplit_once('-')?;
        Some(RankEntry { of, name: name.to_owned(), generation: generation.parse().ok()?, suffix })
    }
}

/// The columns of a collection, those of pages first, by name; of one name the newest only.
pub fn list_ranks(folder: &Path) -> Result<Vec<RankEntry>> {
    let mut entries = all_entries(folder)?;
    entries.sort_unstable_by(|a, b| (a.of, &a.name, b.generation).cmp(&(b.of, &b.name, a.generation)));
    entries.dedup_by(|later, first| (later.of, &later.name) == (first.of, &first.name));
    Ok(entries)
}

fn all_entries(folder: &Path) -> Result<Vec<RankEntry>> {
    let folder = folder.join(FOLDER);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut entries = Vec::new();
    for entry in fs::read_dir(&folder).context("list", &folder)? {
        let name = entry.context("list", &folder)?.file_name();
        entries.extend(RankEntry::parse(&name.to_string_lossy()));
    }
    Ok(entries)
}

/// Writes a column in place of the one of that name, if there is one. The values are by id, and together they are the
/// column. The name consists of letters, digits and hyphens.
pub fn write_ranks<V: RankValue>(
    folder: &Path,
    of: Ranked,
    name: &str,
    generation: u64,
    values: impl IntoIterator<Item = V>,
) -> Result<()> {
    debug_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{name}");
    let ranks = folder.join(FOLDER);
    fs::create_dir_all(&ranks).context("create", &ranks)?;
    let entry = RankEntry { of, name: name.to_owned(), generation, suffix: V::SUFFIX };
    let unfinished = format!("{FOLDER}/{}-{name}{UNFINISHED}", of.as_str());
    let mut writer = BlockWriter::create(folder, &unfinished, VALUE_BYTES)?;
    for value in values {
        writer.push(&value.to_bytes())?;
    }
    writer.finish()?;
    let path = folder.join(entry.file_name());
    fs::rename(folder.join(&unfinished), &path).context("rename", &path)?;
    sync_folder(&ranks)?;
    for old in all_entries(folder)? {
        if (old.of, old.name.as_str()) == (of, name) && old != entry {
            let path = folder.join(old.file_name());
            fs::remove_file(&path).context("remove", &path)?;
        }
    }
    Ok(())
}

/// A column, for reading. Any number of threads may read it at once.
#[derive(Debug)]
pub struct RankColumn<V> {
    blocks: BlockReader,
    generation: u64,
    value: PhantomData<V>,
}

impl<V: RankValue> RankColumn<V> {
    /// Opens the newest column of this name; `None` if there is none of this kind of numbers.
    pub fn open(folder: &Path, of: Ranked, name: &str) -> Result<Option<RankColumn<V>>> {
        let mut tries = 0;
        loop {
            let entries = list_ranks(folder)?;
            let wanted =
                |entry: &&RankEntry| (entry.of, entry.name.as_str(), entry.suffix) == (of, name, V::SUFFIX);
            let Some(entry) = entries.iter().find(wanted) else { return Ok(None) };
            match RankColumn::open_entry(folder, entry) {
                Err(Error::Io { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound && tries < OPEN_TRIES =>
                {
                    tries += 1;
                }
                column => return column.map(Some),
            }
        }
    }

    fn open_entry(folder: &Path, entry: &RankEntry) -> Result<RankColumn<V>> {
        let file_name = entry.file_name();
        let path = folder.join(&file_name);
        let length = fs::metadata(&path).context("open", &path)?.len();
        let blocks = BlockReader::open(folder, &FileEntry::complete(&file_name, length, 0), VALUE_BYTES)?;
        Ok(RankColumn { blocks, generation: entry.generation, value: PhantomData })
    }

    /// The commit that the column describes.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// How many numbers it has; those are for the ids below.
    pub fn len(&self) -> u64 {
        self.blocks.records()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of one page or site; `None` if it became known later. One read of the disk.
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

    /// The numbers of consecutive pages or sites, as far as it has them.
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
    use super::*;

    #[test]
    fn a_new_column_replaces_the_old_one_and_readers_keep_theirs() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert!(RankColumn::<f32>::open(folder, Ranked::Pages, "pagerank").unwrap().is_none());
        write_ranks(folder, Ranked::Pages, "pagerank", 3, (0..10_000).map(|n| n as f32)).unwrap();
        let old = RankColumn::<f32>::open(folder, Ranked::Pages, "pagerank").unwrap().unwrap();
        write_ranks(folder, Ranked::Pages, "pagerank", 4, (0..20_000).map(|n| 0.5 * n as f32)).unwrap();
        write_ranks(folder, Ranked::Sites, "in-degree", 4, [7u32, 8]).unwrap();
        assert_eq!(
            (old.generation(), old.get(9_999).unwrap(), old.get(10_000).unwrap()),
            (3, Some(9_999.0), None)
        );
        let new = RankColumn::<f32>::open(folder, Ranked::Pages, "pagerank").unwrap().unwrap();
        assert_eq!((new.generation(), new.len(), new.get(19_999).unwrap()), (4, 20_000, Some(9_999.5)));
        assert!(new.read_all().unwrap().into_iter().eq((0..20_000).map(|n| 0.5 * n as f32)));
        for ids in [0..0, 0..1, 1_000..9_000, 4_090..4_100, 19_990..30_000, 20_000..20_001] {
            let wanted = ids.clone().take_while(|id| *id < 20_000).map(|id| 0.5 * id as f32);
            assert!(new.read(ids.clone()).unwrap().into_iter().eq(wanted), "{ids:?}");
        }
        let listed = list_ranks(folder).unwrap();
        let listed: Vec<_> =
            listed.iter().map(|entry| (entry.of, entry.name.as_str(), entry.generation)).collect();
        assert_eq!(listed, [(Ranked::Pages, "pagerank", 4), (Ranked::Sites, "in-degree", 4)]);
        assert_eq!(fs::read_dir(folder.join("ranks")).unwrap().count(), 2, "the old file is gone");
        assert!(RankColumn::<f32>::open(folder, Ranked::Sites, "in-degree").unwrap().is_none());
    }

    #[test]
    fn an_empty_column_and_a_damaged_one() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        write_ranks(folder, Ranked::Pages, "hub", 1, [] as [f32; 0]).unwrap();
        let empty = RankColumn::<f32>::open(folder, Ranked::Pages, "hub").unwrap().unwrap();
        assert!(empty.is_empty() && empty.read_all().unwrap().is_empty() && empty.get(0).unwrap().is_none());
        write_ranks(folder, Ranked::Pages, "hub", 1, [1.0f32; 5_000]).unwrap();
        let path = folder.join("ranks/pages-hub-0000000001.f32");
        let mut bytes = fs::read(&path).unwrap();
        bytes[18_000] ^= 1;
        fs::write(&path, bytes).unwrap();
        let column = RankColumn::<f32>::open(folder, Ranked::Pages, "hub").unwrap().unwrap();
        assert_eq!(column.get(0).unwrap(), Some(1.0));
        assert!(matches!(column.get(4_999), Err(Error::Damaged { .. })));
        assert!(matches!(column.read_all(), Err(Error::Damaged { .. })));
    }
}
