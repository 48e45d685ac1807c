//! URL texts by page id: compressed blocks in an append-only file.
//!
//! A second append-only file has the lengths of the blocks, so that opening does not read the blocks; in memory this index
//! takes 8 bytes per 256 pages. The last, incomplete block stays in memory, and each commit writes it into its header.

use std::path::{Path, PathBuf};

use model::{PageId, UrlBatch};

use super::batch::NewPage;
use super::compress::{self, TextCompressor};
use super::text_block::{MAX_BLOCK_BYTES, PAGES_PER_BLOCK, TextBlock};
use crate::error::{Result, corrupt};
use crate::file::append_file::AppendFile;
use crate::file::frames::{FrameReader, append_frame};
use crate::manifest::{Extent, FileEntry};
use crate::parallel;

/// URL texts of all pages.
#[derive(Debug)]
pub(super) struct UrlTexts {
    path: PathBuf,
    /// `None` before the first block.
    file: Option<FrameReader>,
    /// Start of each block.
    offsets: Vec<u64>,
    /// Incomplete last block.
    open: TextBlock,
}

impl UrlTexts {
    pub(super) fn empty(dir: &Path) -> UrlTexts {
        UrlTexts { path: dir.join(TEXT), file: None, offsets: Vec::new(), open: TextBlock::default() }
    }

    /// Reads the index of a commit; `open` is its incomplete block.
    pub(super) fn read(dir: &Path, text: &FileEntry, index: &FileEntry, open: TextBlock) -> Result<UrlTexts> {
        let mut offsets = Vec::new();
        let mut end = 0;
        FrameReader::open(dir, index)?.for_each(|_, frame| {
            for length in frame.as_chunks().0 {
                offsets.push(end);
                end += u64::from(u32::from_le_bytes(*length));
            }
            Ok(())
        })?;
        let file = FrameReader::open(dir, text)?;
        if file.length() != end {
            let cause = format!("the blocks end at byte {end}, the texts at {}", file.length());
            return Err(corrupt(&dir.join(&index.name), "at its end", cause));
        }
        Ok(UrlTexts { path: dir.join(TEXT), file: Some(file), offsets, open })
    }

    pub(super) fn pages(&self) -> usize {
        self.offsets.len() * PAGES_PER_BLOCK + self.open.len()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Last block, which is not full yet.
    pub(super) fn open_block(&self) -> &TextBlock {
        &self.open
    }

    /// Reads a block by its index; one that does not exist is empty.
    pub(super) fn block(&self, block: usize) -> Result<TextBlock> {
        if block == self.offsets.len() {
            return Ok(self.open.clone());
        }
        let (Some(&offset), Some(file)) = (self.offsets.get(block), &self.file) else {
            return Ok(TextBlock::default());
        };
        let mut frame = Vec::new();
        file.read(offset, &mut frame)?;
        compress::decompress(&frame, MAX_BLOCK_BYTES)
            .and_then(|bytes| TextBlock::decode(&bytes))
            .filter(TextBlock::is_full)
            .ok_or_else(|| corrupt(&self.path, format!("at byte {offset}"), "invalid block of URLs"))
    }
}

pub(super) const TEXT: &str = "urls/text";
pub(super) const INDEX: &str = "urls/text-index";

/// Writer of URL texts.
pub(super) struct UrlTextsWriter {
    dir: PathBuf,
    text: AppendFile,
    index: AppendFile,
    /// Lengths of the blocks that are not yet in the index.
    lengths: Vec<u8>,
}

/// Pages to be encoded in consecutive blocks.
struct BlockTask<'b> {
    /// Content of the first block so far.
    start: TextBlock,
    pages: &'b [NewPage],
}

impl UrlTextsWriter {
    pub(super) fn open(dir: &Path, text: FileEntry, index: FileEntry) -> Result<UrlTextsWriter> {
        Ok(UrlTextsWriter {
            dir: dir.to_owned(),
            text: AppendFile::open(dir, text)?,
            index: AppendFile::open(dir, index)?,
            lengths: Vec::new(),
        })
    }

    /// Appends the URLs of the new pages of a batch.
    pub(super) fn append(&mut self, texts: &mut UrlTexts, batch: &UrlBatch, new: &[NewPage]) -> Result<()> {
        if new.is_empty() {
            return Ok(());
        }
        let (tasks, rest) = divide(std::mem::take(&mut texts.open), new);
        texts.open = rest.start;
        fill(&mut texts.open, batch, rest.pages);
        let compressed = parallel::map(tasks, |task| compress_blocks(task, batch, &texts.path));
        for blocks in compressed {
            for block in blocks? {
                let offset = append_frame(&mut self.text, &block)?;
                texts.offsets.push(offset);
                self.lengths.extend_from_slice(&((self.text.length() - offset) as u32).to_le_bytes());
            }
        }
        self.text.write_pending()?;
        // Reopened, because a reader sees the length of the file at its opening.
        let extent = Extent { length: self.text.length(), checksum: 0 };
        let current = FileEntry { name: TEXT.to_owned(), extents: vec![extent] };
        texts.file = Some(FrameReader::open(&self.dir, &current)?);
        Ok(())
    }

    pub(super) fn commit(&mut self) -> Result<[FileEntry; 2]> {
        for lengths in self.lengths.chunks(INDEX_FRAME_BYTES) {
            append_frame(&mut self.index, lengths)?;
        }
        self.lengths.clear();
        Ok([self.text.commit()?, self.index.commit()?])
    }
}

/// Maximum size of a frame of the index, a multiple of 4.
const INDEX_FRAME_BYTES: usize = 1 << 20;

/// Number of blocks per task: about a millisecond of work.
const BLOCKS_PER_TASK: usize = 16;

/// Divides new pages into tasks that fill complete blocks, the first from `open` on, and the pages of an incomplete one.
fn divide(open: TextBlock, new: &[NewPage]) -> (Vec<BlockTask<'_>>, BlockTask<'_>) {
    let full = (open.len() + new.len()) / PAGES_PER_BLOCK * PAGES_PER_BLOCK;
    if full == 0 {
        return (Vec::new(), BlockTask { start: open, pages: new });
    }
    let (complete, rest) = new.split_at(full - open.len());
    let first_task = (BLOCKS_PER_TASK * PAGES_PER_BLOCK - open.len()).min(complete.len());
    let (first, others) = complete.split_at(first_task);
    let mut tasks = vec![BlockTask { start: open, pages: first }];
    let others = others.chunks(BLOCKS_PER_TASK * PAGES_PER_BLOCK);
    tasks.extend(others.map(|pages| BlockTask { start: TextBlock::default(), pages }));
    (tasks, BlockTask { start: TextBlock::default(), pages: rest })
}

/// Encodes and compresses the blocks of a task.
fn compress_blocks(task: BlockTask<'_>, batch: &UrlBatch, path: &Path) -> Result<Vec<Vec<u8>>> {
    let BlockTask { start: mut block, mut pages } = task;
    let mut compressor = TextCompressor::new(path)?;
    let mut bytes = Vec::new();
    let mut blocks = Vec::with_capacity(BLOCKS_PER_TASK);
    while !pages.is_empty() {
        let (in_block, later) = pages.split_at(PAGES_PER_BLOCK - block.len());
        fill(&mut block, batch, in_block);
        block.encode(&mut bytes);
        blocks.push(compressor.compress(&bytes, path)?);
        block.clear();
        pages = later;
    }
    Ok(blocks)
}

fn fill(block: &mut TextBlock, batch: &UrlBatch, pages: &[NewPage]) {
    for page in pages {
        block.push(page.site, batch.split(page.link_index as usize).1);
    }
}

/// Block of a page, and its index in the block.
pub(super) fn locate(page: PageId) -> (usize, usize) {
    (page.index() / PAGES_PER_BLOCK, page.index() % PAGES_PER_BLOCK)
}
