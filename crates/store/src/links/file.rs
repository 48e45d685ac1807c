//! File of the link log: written sequentially, read as a stream of pages.

use std::path::{Path, PathBuf};

use model::PageId;

use super::block::Block;
use super::link::Link;
use crate::error::{Context, Result, corrupt};
use crate::file::append_file::AppendFile;
use crate::file::frames::{FrameReader, append_frame};
use crate::manifest::FileEntry;

/// Writer of a link file.
pub(super) struct LinkFileWriter {
    file: AppendFile,
    block: Block,
}

impl LinkFileWriter {
    pub(super) fn create(dir: &Path, name: &str) -> Result<LinkFileWriter> {
        Ok(LinkFileWriter { file: AppendFile::create(dir, name)?, block: Block::default() })
    }

    /// Appends a page; its id must be above all previous ones.
    pub(super) fn push(&mut self, source: PageId, links: &[Link]) -> Result<()> {
        self.block.push(source, links);
        if self.block.is_full() { self.end_block() } else { Ok(()) }
    }

    /// Syncs the file; returns the entry for the manifest.
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

/// Reader of the pages of a link file, in order.
pub(super) struct LinkFileReader {
    path: PathBuf,
    frames: FrameReader,
    next_frame: u64,
    payload: Vec<u8>,
    block: Block,
    /// Index of the current page in the block.
    index: usize,
}

impl LinkFileReader {
    /// Opens a file at its first page.
    pub(super) fn open(dir: &Path, entry: &FileEntry) -> Result<LinkFileReader> {
        let mut stream = LinkFileReader {
            path: dir.join(&entry.name),
            frames: FrameReader::open(dir, entry)?,
            next_frame: 0,
            payload: Vec::new(),
            block: Block::default(),
            index: 0,
        };
        stream.load()?;
        Ok(stream)
    }

    /// Current page; `None` at the end.
    pub(super) fn source(&self) -> Option<PageId> {
        self.block.source(self.index)
    }

    /// Links of the current page.
    pub(super) fn links(&self) -> &[Link] {
        self.block.links(self.index)
    }

    /// Moves to the next page.
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
            decoded.map_err(|cause| corrupt(&self.path, format!("at byte {offset}"), cause))?;
        }
        Ok(())
    }
}
