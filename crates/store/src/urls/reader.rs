//! Read access to the URL table at one commit.

use std::path::Path;
use std::sync::Arc;

use model::{CanonicalUrl, PageId, SiteId, UrlHasher};

use super::header::{self, DIR, RUN_PREFIX, SITES, TableHeader};
use super::mem_table::MemTable;
use super::run::{LookupKey, Run};
use super::site_names::SiteNames;
use super::url_texts::{self, UrlTexts};
use crate::error::{Result, corrupt};
use crate::manifest::{FileEntry, Manifest};
use crate::parallel;

/// URL table at one commit; the one of a [`UrlTable`](super::UrlTable) includes uncommitted pages.
///
/// Can be used by any number of threads. Unknown pages and sites are `None`.
#[derive(Debug)]
pub struct UrlReader {
    pub(super) key: u64,
    pub(super) sites: SiteNames,
    pub(super) runs: Vec<Arc<Run>>,
    /// Empty unless it belongs to a writer.
    pub(super) mem_table: MemTable,
    pub(super) texts: UrlTexts,
}

impl UrlReader {
    /// Opens the table at a commit.
    pub fn open(dir: &Path, manifest: &Manifest) -> Result<UrlReader> {
        let files: Vec<&FileEntry> = manifest.files_in(DIR).collect();
        let Some(entry) = files.iter().find(|file| file.name.starts_with(header::PREFIX)) else {
            return Ok(UrlReader::empty(dir, 0));
        };
        let named = |name: &str| {
            let missing = || corrupt(&dir.join(name), "", "missing in the manifest");
            files.iter().find(|file| file.name == name).copied().ok_or_else(missing)
        };
        let header = TableHeader::read(dir, entry)?;
        let hasher = UrlHasher::new(header.key);
        let mut runs: Vec<Arc<Run>> = Vec::new();
        for file in files.iter().filter(|file| file.name.starts_with(RUN_PREFIX)) {
            runs.push(Arc::new(Run::open(dir, file)?));
        }
        let reader = UrlReader {
            key: header.key,
            sites: SiteNames::read(hasher, dir, named(SITES)?)?,
            runs,
            mem_table: MemTable::default(),
            texts: UrlTexts::read(dir, named(url_texts::TEXT)?, named(url_texts::INDEX)?, header.open)?,
        };
        reader
            .check_counts(header.pages, header.sites)
            .map_err(|cause| corrupt(&dir.join(DIR), "", cause))?;
        Ok(reader)
    }

    /// Creates an empty table.
    pub(super) fn empty(dir: &Path, key: u64) -> UrlReader {
        UrlReader {
            key,
            sites: SiteNames::new(UrlHasher::new(key)),
            runs: Vec::new(),
            mem_table: MemTable::default(),
            texts: UrlTexts::empty(dir),
        }
    }

    fn check_counts(&self, pages: u32, sites: u32) -> std::result::Result<(), String> {
        let hashes: u64 = self.runs.iter().map(|run| run.entries()).sum();
        if self.pages() != pages || self.sites() != sites || hashes != u64::from(pages) {
            return Err(format!(
                "the header counts {pages} pages and {sites} sites, the files have {} URLs, {hashes} hashes, {} sites",
                self.pages(),
                self.sites()
            ));
        }
        Ok(())
    }

    /// Number of known pages; all ids are below.
    pub fn pages(&self) -> u32 {
        self.texts.pages() as u32
    }

    /// Number of known sites; ids are 0 to this number minus 1.
    pub fn sites(&self) -> u32 {
        self.sites.len() as u32
    }

    /// Finds the page of a URL. Compares the text, so that it is correct even if two URLs have the same hash.
    pub fn find(&self, url: &CanonicalUrl) -> Result<Option<PageId>> {
        let mut keys = vec![LookupKey { hash: self.hasher().page(url).0, slot: 0 }];
        let mut found = None;
        self.look_up(&mut keys, &mut |_, page| found = Some(PageId(page)))?;
        let Some(page) = found else { return Ok(None) };
        Ok((self.url(page)?.as_deref() == Some(url.as_str())).then_some(page))
    }

    /// Reads the URL of a page.
    pub fn url(&self, page: PageId) -> Result<Option<String>> {
        let (block, index) = url_texts::locate(page);
        let block = self.texts.block(block)?;
        Ok(block.get(index).and_then(|(site, path)| self.join(site, path)))
    }

    /// Reads the URLs of many pages, in their order. Much faster than one by one, and fastest for sorted ids.
    pub fn urls(&self, pages: &[PageId]) -> Result<Vec<Option<String>>> {
        let parts = parallel::map(pages.chunks(URLS_PER_TASK).collect(), |pages| self.urls_in_order(pages));
        Ok(parts.into_iter().collect::<Result<Vec<_>>>()?.concat())
    }

    /// Reads the site of a page.
    pub fn site_of(&self, page: PageId) -> Result<Option<SiteId>> {
        let (block, index) = url_texts::locate(page);
        Ok(self.texts.block(block)?.get(index).map(|(site, _)| site))
    }

    /// Scheme, host and port of a site.
    pub fn site_name(&self, site: SiteId) -> Option<&str> {
        self.sites.name(site)
    }

    /// Finds a site by its name, such as `https://example.com`.
    pub fn find_site(&self, name: &str) -> Option<SiteId> {
        self.sites.find(name)
    }

    /// Calls `visit` with every page from `first` on, its site, and its path with the query, in the order of the ids.
    pub fn scan(
        &self,
        first: PageId,
        mut visit: impl FnMut(PageId, SiteId, &str) -> Result<()>,
    ) -> Result<()> {
        let mut page = first;
        while page.0 < self.pages() {
            let (block_index, index) = url_texts::locate(page);
            let block = self.texts.block(block_index)?;
            for (site, path) in (index..block.len()).filter_map(|index| block.get(index)) {
                visit(page, site, path)?;
                page.0 += 1;
            }
        }
        Ok(())
    }

    /// Calls `on_found` for the sorted keys that are known, and removes them.
    pub(super) fn look_up(
        &self,
        keys: &mut Vec<LookupKey>,
        on_found: &mut impl FnMut(LookupKey, u32),
    ) -> Result<()> {
        let mut buffer = Vec::new();
        self.mem_table.look_up(keys, on_found);
        self.runs.iter().try_for_each(|run| run.look_up(keys, &mut buffer, on_found))
    }

    /// Header to be written by a commit.
    pub(super) fn header(&self) -> TableHeader {
        TableHeader {
            key: self.key,
            pages: self.pages(),
            sites: self.sites(),
            open: self.texts.open_block().clone(),
        }
    }

    pub(super) fn hasher(&self) -> UrlHasher {
        UrlHasher::new(self.key)
    }

    fn urls_in_order(&self, pages: &[PageId]) -> Result<Vec<Option<String>>> {
        let mut last = None;
        let mut urls = Vec::with_capacity(pages.len());
        for &page in pages {
            let (block_index, index) = url_texts::locate(page);
            let block = match last.take() {
                Some((same, block)) if same == block_index => block,
                _ => self.texts.block(block_index)?,
            };
            urls.push(block.get(index).and_then(|(site, path)| self.join(site, path)));
            last = Some((block_index, block));
        }
        Ok(urls)
    }

    pub(super) fn join(&self, site: SiteId, path: &str) -> Option<String> {
        Some([self.sites.name(site)?, path].concat())
    }
}

/// Number of URLs read as one task.
const URLS_PER_TASK: usize = 1024;
