//! Which URL has a page? The text of every URL lies in blocks by page id, in a file that only grows.
//!
//! Beside it grows an index, the lengths of the blocks, so that opening need not visit them; in memory the index takes
//! 8 bytes for 256 pages. The last block is not full: it stays in memory, and each commit writes it into its head.

use std::path::{Path, PathBuf};

use model::PageId;

use super::batch::{NewPage, UrlBatch};
use super::compressed::{self, Packer};
use super::text_block::{MAX_BLOCK_BYTES, PAGES_PER_BLOCK, TextBlock};
use crate::error::{Result, damaged};
use crate::frames::{FrameReader, append_frame};
use crate::growing::GrowingFile;
use crate::manifest::{Extent, FileEntry};
use crate::parallel;

/// The text of all pages.
#[derive(Debug)]
pub(super) struct Texts {
    path: PathBuf,
    /// None before the first block.
    file: Option<FrameReader>,
    /// Where each block begins.
    offsets: Vec<u64>,
    /// The pages behind the last full block.
    open: TextBlock,
}

impl Texts {
    pub(super) fn empty(folder: &Path) -> Texts {
        Texts { path: folder.join(TEXT), file: None, offsets: Vec::new(), open: TextBlock::default() }
    }

    /// Reads the index of a commit; `open` is its unfinished block.
    pub(super) fn read(folder: &Path, text: &FileEntry, index: &FileEntry, open: TextBlock) -> Result<Texts> {
        let mut offsets = Vec::new();
        let mut end = 0;
        FrameReader::open(folder, index)?.for_each(|_, frame| {
            for length in frame.as_chunks().0 {
                offsets.push(end);
                end += u64::from(u32::from_le_bytes(*length));
            }
            Ok(())
        })?;
        let file = FrameReader::open(folder, text)?;
        if file.length() != end {
            let what = format!("its blocks end at byte {end}, and the text at {}", file.length());
            return Err(damaged(&folder.join(&index.name), "at its end", what));
        }
        Ok(Texts { path: folder.join(TEXT), file: Some(file), offsets, open })
    }

    pub(super) fn pages(&self) -> usize {
        self.offsets.len() * PAGES_PER_BLOCK + self.open.len()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The unfinished block.
    pub(super) fn open_block(&self) -> &TextBlock {
        &self.open
    }

    /// A block by its number; one that is not there is empty.
    pub(super) fn block(&self, block: usize) -> Result<TextBlock> {
        if block == self.offsets.len() {
            return Ok(self.open.clone());
        }
        let (Some(&offset), Some(file)) = (self.offsets.get(block), &self.file) else {
            return Ok(TextBlock::default());
        };
        let mut frame = Vec::new();
        file.read(offset, &mut frame)?;
        compressed::unpack(&frame, MAX_BLOCK_BYTES)
            .and_then(|bytes| TextBlock::decode(&bytes))
            .filter(TextBlock::is_full)
            .ok_or_else(|| damaged(&self.path, format!("at byte {offset}"), "it is no block of URLs"))
    }
}

/// The names of the files.
pub(super) const TEXT: &str = "urls/text";
pub(super) const INDEX: &str = "urls/text-index";

/// Makes the text of pages last.
pub(super) struct TextWriter {
    folder: PathBuf,
    text: GrowingFile,
    index: GrowingFile,
    /// The lengths of the blocks that the index does not have yet.
    lengths: Vec<u8>,
}

/// The places in the batch of the pages of a block.
struct Task<'b> {
    /// What the block holds already.
    start: TextBlock,
    pages: &'b [NewPage],
}

impl TextWriter {
    pub(super) fn open(folder: &Path, text: FileEntry, index: FileEntry) -> Result<TextWriter> {
        Ok(TextWriter {
            folder: folder.to_owned(),
            text: GrowingFile::open(folder, text)?,
            index: GrowingFile::open(folder, index)?,
            lengths: Vec::new(),
        })
    }

    /// Appends the URLs of new pages, which are links of the batch.
    pub(super) fn append(&mut self, texts: &mut Texts, batch: &UrlBatch, new: &[NewPage]) -> Result<()> {
        if new.is_empty() {
            return Ok(());
        }
        let (tasks, rest) = divide(std::mem::take(&mut texts.open), new);
        texts.open = rest.start;
        fill(&mut texts.open, batch, rest.pages);
        let packed = parallel::map(tasks, |task| pack(task, batch, &texts.path));
        for blocks in packed {
            for block in blocks? {
                let offset = append_frame(&mut self.text, &block)?;
                texts.offsets.push(offset);
                self.lengths.extend_from_slice(&((self.text.length() - offset) as u32).to_le_bytes());
            }
        }
        self.text.write_pending()?;
        // Opened anew, for a reader sees a file as long as it was.
        let extent = Extent { length: self.text.length(), checksum: 0 };
        let so_far = FileEntry { name: TEXT.to_owned(), extents: vec![extent] };
        texts.file = Some(FrameReader::open(&self.folder, &so_far)?);
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

/// The index grows by frames of at most so much, a multiple of 4.
const INDEX_FRAME_BYTES: usize = 1 << 20;

/// So many blocks are a task: about a millisecond.
const BLOCKS_PER_TASK: usize = 16;

/// Divides new pages into tasks that fill whole blocks, the first of which is begun, and a rest that fills none.
fn divide(open: TextBlock, new: &[NewPage]) -> (Vec<Task<'_>>, Task<'_>) {
    let full = (open.len() + new.len()) / PAGES_PER_BLOCK * PAGES_PER_BLOCK;
    if full == 0 {
        return (Vec::new(), Task { start: open, pages: new });
    }
    let (packed, rest) = new.split_at(full - open.len());
    let first_task = (BLOCKS_PER_TASK * PAGES_PER_BLOCK - open.len()).min(packed.len());
    let (first, others) = packed.split_at(first_task);
    let mut tasks = vec![Task { start: open, pages: first }];
    let others = others.chunks(BLOCKS_PER_TASK * PAGES_PER_BLOCK);
    tasks.extend(others.map(|pages| Task { start: TextBlock::default(), pages }));
    (tasks, Task { start: TextBlock::default(), pages: rest })
}

/// The blocks of a task, compressed.
fn pack(task: Task<'_>, batch: &UrlBatch, path: &Path) -> Result<Vec<Vec<u8>>> {
    let Task { start: mut block, mut pages } = task;
    let mut packer = Packer::new(path)?;
    let mut bytes = Vec::new();
    let mut packed = Vec::with_capacity(BLOCKS_PER_TASK);
    while !pages.is_empty() {
        let (now, later) = pages.split_at(PAGES_PER_BLOCK - block.len());
        fill(&mut block, batch, now);
        block.encode(&mut bytes);
        packed.push(packer.pack(&bytes, path)?);
        block.clear();
        pages = later;
    }
    Ok(packed)
}

fn fill(block: &mut TextBlock, batch: &UrlBatch, pages: &[NewPage]) {
    for page in pages {
        block.push(page.site, batch.split(page.link as usize).1);
    }
}

/// The block that a page is in, and its place there.
pub(super) fn place(page: PageId) -> (usize, usize) {
    (page.index() / PAGES_PER_BLOCK, page.index() % PAGES_PER_BLOCK)
}
