//! What of the URL table is small and new in every commit? The head: the key of the hashes, the counts, and the URLs
//! of the last pages, which do not fill a block yet.

use std::path::Path;

use super::compressed;
use super::text_block::{MAX_BLOCK_BYTES, TextBlock};
use crate::error::{Result, damaged};
use crate::frames::{FrameReader, append_frame};
use crate::growing::GrowingFile;
use crate::manifest::FileEntry;

/// The names of heads begin so; the generation follows.
pub(super) const PREFIX: &str = "urls/head-";

const FIXED_BYTES: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) key: u64,
    pub(super) pages: u32,
    pub(super) sites: u32,
    pub(super) open: TextBlock,
}

impl Head {
    /// Writes the head of a commit.
    pub(super) fn write(&self, folder: &Path, generation: u64) -> Result<FileEntry> {
        let mut file = GrowingFile::create(folder, &format!("{PREFIX}{generation:010}"))?;
        let mut frame = Vec::new();
        frame.extend_from_slice(&self.key.to_le_bytes());
        frame.extend_from_slice(&self.pages.to_le_bytes());
        frame.extend_from_slice(&self.sites.to_le_bytes());
        let mut block = Vec::new();
        self.open.encode(&mut block);
        frame.extend(compressed::pack(&block, file.path())?);
        append_frame(&mut file, &frame)?;
        file.commit()
    }

    /// Reads the head of a commit.
    pub(super) fn read(folder: &Path, entry: &FileEntry) -> Result<Head> {
        let mut frame = Vec::new();
        FrameReader::open(folder, entry)?.read(0, &mut frame)?;
        decode(&frame).ok_or_else(|| damaged(&folder.join(&entry.name), "as a whole", "it is no head"))
    }
}

fn decode(frame: &[u8]) -> Option<Head> {
    let (fixed, packed) = frame.split_first_chunk::<FIXED_BYTES>()?;
    let (key, counts) = fixed.split_first_chunk()?;
    let (pages, sites) = counts.split_first_chunk()?;
    let block = compressed::unpack(packed, MAX_BLOCK_BYTES)?;
    Some(Head {
        key: u64::from_le_bytes(*key),
        pages: u32::from_le_bytes(*pages),
        sites: u32::from_le_bytes(sites.try_into().ok()?),
        open: TextBlock::decode(&block)?,
    })
}
