//! Is every page found by its URL? Reads all texts back and looks all of them up.

use std::ops::Range;

use model::PageId;

use super::reader::UrlReader;
use super::run::Wanted;
use super::text_block::PAGES_PER_BLOCK;
use super::{FOLDER, texts};
use crate::error::{Error, Result, damaged};

/// So many pages are looked up together.
const GROUP_PAGES: usize = 1 << 20;

impl UrlReader {
    /// Reads everything back. Calls `each` with pages whose texts are damaged, and goes on; other damage is the error.
    pub(crate) fn check(&self, mut each: impl FnMut(Range<u32>, Error) -> Result<()>) -> Result<()> {
        let mut group = Group { reader: self, wanted: Vec::new(), lost: Vec::new() };
        for first in (0..self.pages()).step_by(PAGES_PER_BLOCK) {
            let (number, _) = texts::place(PageId(first));
            let pages = first..first.saturating_add(PAGES_PER_BLOCK as u32).min(self.pages());
            match self.texts.block(number) {
                Err(error) => each(pages, error)?,
                Ok(block) => {
                    for (place, page) in pages.enumerate() {
                        let url = block.get(place).and_then(|(site, path)| self.join(site, path));
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
                let what = format!("{count} pages are not found by their URLs; the first is page {page}");
                Err(damaged(&self.texts.path().with_file_name(FOLDER), "as a whole", what))
            }
        }
    }
}

struct Group<'r> {
    reader: &'r UrlReader,
    wanted: Vec<Wanted>,
    lost: Vec<u32>,
}

impl Group<'_> {
    fn push(&mut self, hash: u64, page: u32) -> Result<()> {
        self.wanted.push(Wanted { hash, place: page });
        if self.wanted.len() == GROUP_PAGES { self.look_up() } else { Ok(()) }
    }

    fn look_up(&mut self) -> Result<()> {
        self.wanted.sort_unstable_by_key(|wanted| wanted.hash);
        let lost = &mut self.lost;
        self.reader.look_up(&mut self.wanted, &mut |wanted, page| {
            if wanted.place != page {
                lost.push(wanted.place);
            }
        })?;
        lost.extend(self.wanted.drain(..).map(|wanted| wanted.place));
        Ok(())
    }
}
