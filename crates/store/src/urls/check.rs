//! Integrity check of the URL table: reads all texts and looks each of them up.

use std::ops::Range;

use model::PageId;

use super::header::DIR;
use super::reader::UrlReader;
use super::run::LookupKey;
use super::text_block::PAGES_PER_BLOCK;
use super::url_texts;
use crate::error::{Error, Result, corrupt};

/// Number of pages looked up together.
const GROUP_PAGES: usize = 1 << 20;

impl UrlReader {
    /// Reads everything. Calls `on_corrupt` with pages whose texts are corrupt and continues; other corruption is the
    /// error.
    pub(crate) fn check(&self, mut on_corrupt: impl FnMut(Range<u32>, Error) -> Result<()>) -> Result<()> {
        let mut group = LookupGroup { reader: self, keys: Vec::new(), lost: Vec::new() };
        for first in (0..self.pages()).step_by(PAGES_PER_BLOCK) {
            let (block_index, _) = url_texts::locate(PageId(first));
            let pages = first..first.saturating_add(PAGES_PER_BLOCK as u32).min(self.pages());
            match self.texts.block(block_index) {
                Err(error) => on_corrupt(pages, error)?,
                Ok(block) => {
                    for (index, page) in pages.enumerate() {
                        let url = block.get(index).and_then(|(site, path)| self.join(site, path));
                        match url {
                            Some(url) => group.push(self.hasher().text(&url).0, page)?,
                            None => group.lost.push(page),
                        }
                    }
                }
            }
        }
        group.look_up()?;
        match group.lost.iter().min() {
            None => Ok(()),
            Some(page) => {
                let count = group.lost.len();
                let cause = format!("{count} pages are not found by their URLs; the first is page {page}");
                Err(corrupt(&self.texts.path().with_file_name(DIR), "", cause))
            }
        }
    }
}

struct LookupGroup<'r> {
    reader: &'r UrlReader,
    keys: Vec<LookupKey>,
    lost: Vec<u32>,
}

impl LookupGroup<'_> {
    fn push(&mut self, hash: u64, page: u32) -> Result<()> {
        self.keys.push(LookupKey { hash, slot: page });
        if self.keys.len() == GROUP_PAGES { self.look_up() } else { Ok(()) }
    }

    fn look_up(&mut self) -> Result<()> {
        self.keys.sort_unstable_by_key(|key| key.hash);
        let lost = &mut self.lost;
        self.reader.look_up(&mut self.keys, &mut |key, page| {
            if key.slot != page {
                lost.push(key.slot);
            }
        })?;
        lost.extend(self.keys.drain(..).map(|key| key.slot));
        Ok(())
    }
}
