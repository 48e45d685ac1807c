//! Which number has a site, and which name? All names are in memory, some 45 bytes a site with their index.
//!
//! The file holds the names in the order of their numbers, one frame or a few for each commit: lines, compressed.

use std::path::Path;

use model::{SiteId, UrlHasher};

use super::compressed;
use crate::error::{Error, Result, damaged};
use crate::frames::{FrameReader, append_frame};
use crate::growing::GrowingFile;
use crate::manifest::FileEntry;

/// Names are put into frames of about so much text.
const FRAME_TEXT_BYTES: usize = 1 << 20;

/// The sites of a collection.
#[derive(Debug)]
pub(super) struct Sites {
    hasher: UrlHasher,
    names: String,
    /// Where each name ends.
    ends: Vec<u32>,
    /// An open hash table, a power of two, at most two thirds full: 32 bits of the hash above the site's number.
    index: Vec<u64>,
}

const EMPTY: u64 = u64::MAX;

impl Sites {
    pub(super) fn new(hasher: UrlHasher) -> Sites {
        Sites { hasher, names: String::new(), ends: Vec::new(), index: vec![EMPTY; 16] }
    }

    /// Reads the sites of a commit.
    pub(super) fn read(hasher: UrlHasher, folder: &Path, entry: &FileEntry) -> Result<Sites> {
        let mut sites = Sites::new(hasher);
        FrameReader::open(folder, entry)?.for_each(|offset, frame| {
            let wrong = |what: &str| damaged(&folder.join(&entry.name), format!("at byte {offset}"), what);
            let bytes = compressed::unpack(frame, MAX_FRAME_TEXT_BYTES).ok_or_else(|| wrong("no zstd"))?;
            let text = str::from_utf8(&bytes).map_err(|_| wrong("no text"))?;
            for name in text.lines() {
                if sites.id(name)?.1 {
                    continue;
                }
                return Err(wrong("a site has two numbers"));
            }
            Ok(())
        })?;
        Ok(sites)
    }

    /// Appends the sites from number `first` on to the file.
    pub(super) fn write(&self, first: usize, file: &mut GrowingFile) -> Result<()> {
        let mut text = String::new();
        for site in first..self.len() {
            text.push_str(self.name_at(site));
            text.push('\n');
            if text.len() >= FRAME_TEXT_BYTES || site + 1 == self.len() {
                append_frame(file, &compressed::pack(text.as_bytes(), file.path())?)?;
                text.clear();
            }
        }
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn name(&self, site: SiteId) -> Option<&str> {
        (site.index() < self.len()).then(|| self.name_at(site.index()))
    }

    pub(super) fn find(&self, name: &str) -> Option<SiteId> {
        self.probe(name, self.hasher.text(name).0).ok()
    }

    /// The number of a site, and whether it is new.
    pub(super) fn id(&mut self, name: &str) -> Result<(SiteId, bool)> {
        let hash = self.hasher.text(name).0;
        let place = match self.probe(name, hash) {
            Ok(site) => return Ok((site, false)),
            Err(place) => place,
        };
        let site = self.ends.len() as u32;
        let end =
            u32::try_from(self.names.len() + name.len()).map_err(|_| Error::Full { what: "site names" })?;
        self.names.push_str(name);
        self.ends.push(end);
        self.index[place] = slot(hash, site);
        if self.ends.len() * 3 > self.index.len() * 2 {
            self.grow();
        }
        Ok((SiteId(site), true))
    }

    /// The site of that name, or the place in the index where it belongs.
    fn probe(&self, name: &str, hash: u64) -> std::result::Result<SiteId, usize> {
        let mask = self.index.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let found = self.index[place];
            if found == EMPTY {
                return Err(place);
            }
            if found >> 32 == hash >> 32 && self.name_at(found as u32 as usize) == name {
                return Ok(SiteId(found as u32));
            }
            place = (place + 1) & mask;
        }
    }

    fn grow(&mut self) {
        self.index = vec![EMPTY; self.index.len() * 2];
        for site in 0..self.len() {
            let name = self.name_at(site);
            let hash = self.hasher.text(name).0;
            if let Err(place) = self.probe(name, hash) {
                self.index[place] = slot(hash, site as u32);
            }
        }
    }

    fn name_at(&self, site: usize) -> &str {
        let start = site.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.names[start..self.ends[site] as usize]
    }
}

/// A name is never longer than a URL.
const MAX_FRAME_TEXT_BYTES: usize = FRAME_TEXT_BYTES + (1 << 16) + 1;

fn slot(hash: u64, site: u32) -> u64 {
    hash >> 32 << 32 | u64::from(site)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_numbered_as_they_come_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let hasher = UrlHasher::new(5);
        let name = |n: u32| format!("https://www.site-{n}.example");
        let mut sites = Sites::new(hasher);
        let mut file = GrowingFile::create(folder.path(), "sites").unwrap();
        for range in [0..3_u32, 3..3, 3..100_000] {
            let written = sites.len();
            for n in range {
                assert_eq!(sites.id(&name(n)).unwrap(), (SiteId(n), true));
                assert_eq!(sites.id(&name(n)).unwrap(), (SiteId(n), false));
            }
            sites.write(written, &mut file).unwrap();
        }
        let entry = file.commit().unwrap();
        let read = Sites::read(hasher, folder.path(), &entry).unwrap();
        assert_eq!(read.len(), 100_000);
        for n in 0..100_000 {
            assert_eq!(read.find(&name(n)), Some(SiteId(n)));
            assert_eq!(read.name(SiteId(n)), Some(&*name(n)));
        }
        assert_eq!(read.find("https://www.site-x.example"), None);
        assert_eq!(read.name(SiteId(100_000)), None);
    }
}
