//! What is known about a URL, a page, a site? The reader answers for one commit and never changes.

use std::path::Path;
use std::sync::Arc;

use model::{CanonicalUrl, PageId, SiteId, UrlHasher};

use super::head::{self, Head};
use super::recent::Recent;
use super::run::{Run, Wanted};
use super::sites::Sites;
use super::texts::{self, Texts};
use super::{FOLDER, RUN_PREFIX, SITES};
use crate::error::{Result, damaged};
use crate::manifest::{FileEntry, Manifest};
use crate::parallel;

/// The URLs of a collection at one commit; what a [`UrlTable`](super::UrlTable) holds also counts what came since.
///
/// Any number of threads may ask at once. A page or site that is not known is `None`.
#[derive(Debug)]
pub struct UrlReader {
    pub(super) key: u64,
    pub(super) sites: Sites,
    pub(super) runs: Vec<Arc<Run>>,
    /// Always empty but in a table that is being written.
    pub(super) recent: Recent,
    pub(super) texts: Texts,
}

impl UrlReader {
    /// Opens the URLs of the collection in this folder as they were at the commit of this manifest.
    pub fn open(folder: &Path, manifest: &Manifest) -> Result<UrlReader> {
        let files: Vec<&FileEntry> = manifest.files_in(FOLDER).collect();
        let Some(entry) = files.iter().find(|file| file.name.starts_with(head::PREFIX)) else {
            return Ok(UrlReader::empty(folder, 0));
        };
        let named = |name: &str| {
            let missing = || damaged(&folder.join(name), "as a whole", "the manifest does not name it");
            files.iter().find(|file| file.name == name).copied().ok_or_else(missing)
        };
        let head = Head::read(folder, entry)?;
        let hasher = UrlHasher::new(head.key);
        let mut runs: Vec<Arc<Run>> = Vec::new();
        for file in files.iter().filter(|file| file.name.starts_with(RUN_PREFIX)) {
            runs.push(Arc::new(Run::open(folder, file)?));
        }
        let reader = UrlReader {
            key: head.key,
            sites: Sites::read(hasher, folder, named(SITES)?)?,
            runs,
            recent: Recent::default(),
            texts: Texts::read(folder, named(texts::TEXT)?, named(texts::INDEX)?, head.open)?,
        };
        reader
            .check_counts(head.pages, head.sites)
            .map_err(|what| damaged(&folder.join(FOLDER), "as a whole", what))?;
        Ok(reader)
    }

    /// Knows nothing.
    pub(super) fn empty(folder: &Path, key: u64) -> UrlReader {
        UrlReader {
            key,
            sites: Sites::new(UrlHasher::new(key)),
            runs: Vec::new(),
            recent: Recent::default(),
            texts: Texts::empty(folder),
        }
    }

    fn check_counts(&self, pages: u32, sites: u32) -> std::result::Result<(), String> {
        let hashes: u64 = self.runs.iter().map(|run| run.entries()).sum();
        if self.pages() != pages || self.sites() != sites || hashes != u64::from(pages) {
            return Err(format!(
                "its head counts {pages} pages and {sites} sites, its files {} URLs, {hashes} hashes, {} sites",
                self.pages(),
                self.sites()
            ));
        }
        Ok(())
    }

    /// How many pages are known; their ids are the numbers below.
    pub fn pages(&self) -> u32 {
        self.texts.pages() as u32
    }

    /// How many sites are known; their ids are the numbers below.
    pub fn sites(&self) -> u32 {
        self.sites.len() as u32
    }

    /// The page of a URL. Compares the text, so it is right even where two URLs have one hash.
    pub fn find(&self, url: &CanonicalUrl) -> Result<Option<PageId>> {
        let mut wanted = vec![Wanted { hash: self.hasher().page(url).0, place: 0 }];
        let mut found = None;
        self.look_up(&mut wanted, &mut |_, page| found = Some(PageId(page)))?;
        let Some(page) = found else { return Ok(None) };
        Ok((self.url(page)?.as_deref() == Some(url.as_str())).then_some(page))
    }

    /// The URL of a page.
    pub fn url(&self, page: PageId) -> Result<Option<String>> {
        let (block, place) = texts::place(page);
        let block = self.texts.block(block)?;
        Ok(block.get(place).and_then(|(site, path)| self.join(site, path)))
    }

    /// The URLs of many pages, in their order. Takes much less time than one by one, and least if the ids are sorted.
    pub fn urls(&self, pages: &[PageId]) -> Result<Vec<Option<String>>> {
        let parts = parallel::map(pages.chunks(URLS_PER_TASK).collect(), |pages| self.urls_in_order(pages));
        Ok(parts.into_iter().collect::<Result<Vec<_>>>()?.concat())
    }

    /// The site of a page.
    pub fn site_of(&self, page: PageId) -> Result<Option<SiteId>> {
        let (block, place) = texts::place(page);
        Ok(self.texts.block(block)?.get(place).map(|(site, _)| site))
    }

    /// Scheme, host and port of a site.
    pub fn site_name(&self, site: SiteId) -> Option<&str> {
        self.sites.name(site)
    }

    /// The site of that name, such as `https://example.com`.
    pub fn find_site(&self, name: &str) -> Option<SiteId> {
        self.sites.find(name)
    }

    /// Calls `each` with every page from `first` on, its site, and its path with the query, in the order of the ids.
    pub fn scan(
        &self,
        first: PageId,
        mut each: impl FnMut(PageId, SiteId, &str) -> Result<()>,
    ) -> Result<()> {
        let mut page = first;
        while page.0 < self.pages() {
            let (number, place) = texts::place(page);
            let block = self.texts.block(number)?;
            for (site, path) in (place..block.len()).filter_map(|place| block.get(place)) {
                each(page, site, path)?;
                page.0 += 1;
            }
        }
        Ok(())
    }

    /// Calls `found` for those of the sorted hashes that are known, and leaves the others.
    pub(super) fn look_up(
        &self,
        wanted: &mut Vec<Wanted>,
        found: &mut impl FnMut(Wanted, u32),
    ) -> Result<()> {
        let mut buffer = Vec::new();
        self.recent.look_up(wanted, found);
        self.runs.iter().try_for_each(|run| run.look_up(wanted, &mut buffer, found))
    }

    /// What a commit writes into its head.
    pub(super) fn head(&self) -> Head {
        Head {
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
            let (number, place) = texts::place(page);
            let block = match last.take() {
                Some((same, block)) if same == number => block,
                _ => self.texts.block(number)?,
            };
            urls.push(block.get(place).and_then(|(site, path)| self.join(site, path)));
            last = Some((number, block));
        }
        Ok(urls)
    }

    pub(super) fn join(&self, site: SiteId, path: &str) -> Option<String> {
        Some([self.sites.name(site)?, path].concat())
    }
}

/// So many URLs are read as one task.
const URLS_PER_TASK: usize = 1024;
