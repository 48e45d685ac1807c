//! Header of the URL table, written in every commit: the hash key, the counts, and the URLs of the last, incomplete block.
//! Also the names of the files.

use std::path::Path;

use super::compress;
use super::text_block::{MAX_BLOCK_BYTES, TextBlock};
use crate::error::{Result, corrupt};
use crate::file::append_file::AppendFile;
use crate::file::frames::{FrameReader, append_frame};
use crate::manifest::FileEntry;

/// Directory of the table.
pub(super) const DIR: &str = "urls";
/// File of the site names.
pub(super) const SITES: &str = "urls/sites";
/// Prefix of the runs; the generation follows.
pub(super) const RUN_PREFIX: &str = "urls/run-";
/// Prefix of the headers; the generation follows.
pub(super) const PREFIX: &str = "urls/head-";

const FIXED_BYTES: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableHeader {
    pub(super) key: u64,
    pub(super) pages: u32,
    pub(super) sites: u32,
    pub(super) open: TextBlock,
}

impl TableHeader {
    /// Writes the header of a commit.
    pub(super) fn write(&self, dir: &Path, generation: u64) -> Result<FileEntry> {
        let mut file = AppendFile::create(dir, &format!("{PREFIX}{generation:010}"))?;
        let mut frame = Vec::new();
        frame.extend_from_slice(&self.key.to_le_bytes());
        frame.extend_from_slice(&self.pages.to_le_bytes());
        frame.extend_from_slice(&self.sites.to_le_bytes());
        let mut block = Vec::new();
        self.open.encode(&mut block);
        frame.extend(compress::compress(&block, file.path())?);
        append_frame(&mut file, &frame)?;
        file.commit()
    }

    /// Reads the header of a commit.
    pub(super) fn read(dir: &Path, entry: &FileEntry) -> Result<TableHeader> {
        let mut frame = Vec::new();
        FrameReader::open(dir, entry)?.read(0, &mut frame)?;
        decode(&frame).ok_or_else(|| corrupt(&dir.join(&entry.name), "", "invalid header of the URL table"))
    }
}

fn decode(frame: &[u8]) -> Option<TableHeader> {
    let (fixed, compressed) = frame.split_first_chunk::<FIXED_BYTES>()?;
    let (key, counts) = fixed.split_first_chunk()?;
    let (pages, sites) = counts.split_first_chunk()?;
    let block = compress::decompress(compressed, MAX_BLOCK_BYTES)?;
    Some(TableHeader {
        key: u64::from_le_bytes(*key),
        pages: u32::from_le_bytes(*pages),
        sites: u32::from_le_bytes(sites.try_into().ok()?),
        open: TextBlock::decode(&block)?,
    })
}
