//! Names of the sites by id and ids by name, in memory; about 45 bytes per site with the index.
//!
//! The file has the names in the order of their ids, in one or more frames for each commit: lines, compressed.

use std::path::Path;

use model::{SiteId, UrlHasher};

use super::compress;
use crate::error::{Error, Result, corrupt};
use crate::file::append_file::AppendFile;
use crate::file::frames::{FrameReader, append_frame};
use crate::manifest::FileEntry;

/// Approximate size of the text of a frame.
const FRAME_TEXT_BYTES: usize = 1 << 20;

/// Names of all sites.
#[derive(Debug)]
pub(super) struct SiteNames {
    hasher: UrlHasher,
    names: String,
    /// End of each name.
    ends: Vec<u32>,
    /// Hash table with open addressing, at most two thirds full: the top 32 bits of the hash above the site id.
    index: Vec<u64>,
}

const EMPTY: u64 = u64::MAX;

impl SiteNames {
    pub(super) fn new(hasher: UrlHasher) -> SiteNames {
        SiteNames { hasher, names: String::new(), ends: Vec::new(), index: vec![EMPTY; 16] }
    }

    /// Reads the sites of a commit.
    pub(super) fn read(hasher: UrlHasher, dir: &Path, entry: &FileEntry) -> Result<SiteNames> {
        let mut sites = SiteNames::new(hasher);
        FrameReader::open(dir, entry)?.for_each(|offset, frame| {
            let wrong = |cause: &str| corrupt(&dir.join(&entry.name), format!("at byte {offset}"), cause);
            let bytes = compress::decompress(frame, MAX_FRAME_TEXT_BYTES)
                .ok_or_else(|| wrong("invalid compressed data"))?;
            let text = str::from_utf8(&bytes).map_err(|_| wrong("invalid UTF-8"))?;
            for name in text.lines() {
                if sites.id(name)?.1 {
                    continue;
                }
                return Err(wrong("a site has two ids"));
            }
            Ok(())
        })?;
        Ok(sites)
    }

    /// Appends the sites from id `first` on to the file.
    pub(super) fn write(&self, first: usize, file: &mut AppendFile) -> Result<()> {
        let mut text = String::new();
        for site in first..self.len() {
            text.push_str(self.name_at(site));
            text.push('\n');
            if text.len() >= FRAME_TEXT_BYTES || site + 1 == self.len() {
                append_frame(file, &compress::compress(text.as_bytes(), file.path())?)?;
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

    /// Returns the id of a site, and whether it is new.
    pub(super) fn id(&mut self, name: &str) -> Result<(SiteId, bool)> {
        let hash = self.hasher.text(name).0;
        let index_slot = match self.probe(name, hash) {
            Ok(site) => return Ok((site, false)),
            Err(index_slot) => index_slot,
        };
        let site = self.ends.len() as u32;
        let end = u32::try_from(self.names.len() + name.len())
            .map_err(|_| Error::LimitExceeded { limit: "more than 4 GiB of site names" })?;
        self.names.push_str(name);
        self.ends.push(end);
        self.index[index_slot] = slot(hash, site);
        if self.ends.len() * 3 > self.index.len() * 2 {
            self.grow();
        }
        Ok((SiteId(site), true))
    }

    /// Finds a site by name; the error is the slot of the index where it belongs.
    fn probe(&self, name: &str, hash: u64) -> std::result::Result<SiteId, usize> {
        let mask = self.index.len() - 1;
        let mut index_slot = hash as usize & mask;
        loop {
            let found = self.index[index_slot];
            if found == EMPTY {
                return Err(index_slot);
            }
            if found >> 32 == hash >> 32 && self.name_at(found as u32 as usize) == name {
                return Ok(SiteId(found as u32));
            }
            index_slot = (index_slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        self.index = vec![EMPTY; self.index.len() * 2];
        for site in 0..self.len() {
            let name = self.name_at(site);
            let hash = self.hasher.text(name).0;
            if let Err(index_slot) = self.probe(name, hash) {
                self.index[index_slot] = slot(hash, site as u32);
            }
        }
    }

    fn name_at(&self, site: usize) -> &str {
        let start = site.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.names[start..self.ends[site] as usize]
    }
}

/// A name is not longer than a URL.
const MAX_FRAME_TEXT_BYTES: usize = FRAME_TEXT_BYTES + (1 << 16) + 1;

fn slot(hash: u64, site: u32) -> u64 {
    hash >> 32 << 32 | u64::from(site)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_get_consecutive_ids_and_are_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let hasher = UrlHasher::new(5);
        let name = |n: u32| format!("https://www.site-{n}.example");
        let mut sites = SiteNames::new(hasher);
        let mut file = AppendFile::create(dir.path(), "sites").unwrap();
        for range in [0..3_u32, 3..3, 3..100_000] {
            let written = sites.len();
            for n in range {
                assert_eq!(sites.id(&name(n)).unwrap(), (SiteId(n), true));
                assert_eq!(sites.id(&name(n)).unwrap(), (SiteId(n), false));
            }
            sites.write(written, &mut file).unwrap();
        }
        let entry = file.commit().unwrap();
        let read = SiteNames::read(hasher, dir.path(), &entry).unwrap();
        assert_eq!(read.len(), 100_000);
        for n in 0..100_000 {
            assert_eq!(read.find(&name(n)), Some(SiteId(n)));
            assert_eq!(read.name(SiteId(n)), Some(&*name(n)));
        }
        assert_eq!(read.find("https://www.site-x.example"), None);
        assert_eq!(read.name(SiteId(100_000)), None);
    }
}
