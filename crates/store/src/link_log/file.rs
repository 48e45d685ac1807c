//! One file of links: written once, front to back, and read as a stream of pages.

use std::path::{Path, PathBuf};

use model::PageId;

use super::Link;
use super::block::Block;
use crate::error::{Context, Result, damaged};
use crate::frames::{FrameReader, append_frame};
use crate::growing::GrowingFile;
use crate::manifest::FileEntry;

/// Writes a file of links.
pub(super) struct LinkFileWriter {
    file: GrowingFile,
    block: Block,
}

impl LinkFileWriter {
    pub(super) fn create(folder: &Path, name: &str) -> Result<LinkFileWriter> {
        Ok(LinkFileWriter { file: GrowingFile::create(folder, name)?, block: Block::default() })
    }

    /// Appends a page, which comes behind all others so far.
    pub(super) fn push(&mut self, source: PageId, links: &[Link]) -> Result<()> {
        self.block.push(source, links);
        if self.block.is_full() { self.end_block() } else { Ok(()) }
    }

    /// Syncs the file, and says how the manifest is to name it.
    pub(super) fn finish(mut self) -> Result<FileEntry> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        self.file.commit()
    }

    fn end_block(&mut self) -> Result<()> {
        let payload = self.block.encode().context("compress for", self.file.path())?;
        append_frame(&mut self.file, &payload)?;
        self.block.clear();
        Ok(())
    }
}

/// The pages of a file, one after the other.
pub(super) struct PageStream {
    path: PathBuf,
    frames: FrameReader,
    next_frame: u64,
    payload: Vec<u8>,
    block: Block,
    /// Of the current page in the block.
    index: usize,
}

impl PageStream {
    /// Opens a file at its first page.
    pub(super) fn open(folder: &Path, entry: &FileEntry) -> Result<PageStream> {
        let mut stream = PageStream {
            path: folder.join(&entry.name),
            frames: FrameReader::open(folder, entry)?,
            next_frame: 0,
            payload: Vec::new(),
            block: Block::default(),
            index: 0,
        };
        stream.load()?;
        Ok(stream)
    }

    /// The current page; `None` at the end.
    pub(super) fn source(&self) -> Option<PageId> {
        self.block.source(self.index)
    }

    /// The links of the current page.
    pub(super) fn links(&self) -> &[Link] {
        self.block.links(self.index)
    }

    /// Goes on to the next page.
    pub(super) fn advance(&mut self) -> Result<()> {
        self.index += 1;
        if self.block.source(self.index).is_none() { self.load() } else { Ok(()) }
    }

    /// Reads the next block, if there is one.
    fn load(&mut self) -> Result<()> {
        self.index = 0;
        self.block.clear();
        if self.next_frame < self.frames.length() {
            let offset = self.next_frame;
            self.next_frame = self.frames.read(offset, &mut self.payload)?;
            let decoded = self.block.decode(&self.payload);
            decoded.map_err(|what| damaged(&self.path, format!("at byte {offset}"), what))?;
        }
        Ok(())
    }
}
