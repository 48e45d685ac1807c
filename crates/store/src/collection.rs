//! What is a crawl on disk? One folder with everything that was learned, opened by the one process that writes.
//!
//! The components are public fields: each has its own methods, and this type only holds them together. It sees to it
//! that they are committed as one, and that every page and site that the URL table numbers has its state.
//!
//! After an error of any method the collection must be opened again: it then stands at its last commit.

use std::collections::BTreeMap;
use std::path::Path;

use model::{PageId, SiteId};

use crate::directory::Directory;
use crate::error::{Error, Result};
use crate::failpoint::failpoint;
use crate::link_log::LinkLog;
use crate::manifest::Manifest;
use crate::page_state::{PageRecord, PageState};
use crate::page_store::{Keep, PageSettings, PageStore};
use crate::site_state::{SiteRecord, SiteState};
use crate::tables::Tables;
use crate::url_table::{DEFAULT_CACHE_ENTRIES, NewPage, Resolved, UrlBatch, UrlTable};

/// How a collection is written. The numbers bound its memory, whatever its size.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// How bodies are stored.
    pub bodies: PageSettings,
    /// So many pages that have changed are kept in memory before a commit writes their state anew; some 200 bytes each.
    pub changed_pages: usize,
    /// The same for sites; some 250 bytes each.
    pub changed_sites: usize,
    /// So many pages are found by their URL without a look at the disk; 12 bytes each.
    pub cached_urls: usize,
}

impl Default for StoreSettings {
    fn default() -> StoreSettings {
        StoreSettings {
            bodies: PageSettings::default(),
            changed_pages: 1 << 20,
            changed_sites: 1 << 17,
            cached_urls: DEFAULT_CACHE_ENTRIES,
        }
    }
}

/// Those of the bodies, and the defaults for the rest.
impl From<PageSettings> for StoreSettings {
    fn from(bodies: PageSettings) -> StoreSettings {
        StoreSettings { bodies, ..StoreSettings::default() }
    }
}

/// A collection, open for writing.
pub struct Collection {
    directory: Directory,
    /// URLs and their numbers.
    pub urls: UrlTable,
    /// What is known about each page.
    pub pages: PageState,
    /// What is known about each site.
    pub sites: SiteState,
    /// The pages themselves.
    pub bodies: PageStore,
    /// Which page links to which.
    pub links: LinkLog,
    /// What others may ask.
    pub tables: Tables,
    /// Numbers that are committed with the rest, for whoever has to know what a commit holds: few, for every commit
    /// writes all of them.
    pub notes: BTreeMap<String, u64>,
}

impl Collection {
    /// Makes a new collection of an empty or absent folder.
    pub fn create(folder: &Path, settings: StoreSettings) -> Result<Collection> {
        Collection::of(Directory::create(folder)?, settings)
    }

    /// Opens a collection at its last commit.
    pub fn open(folder: &Path, settings: StoreSettings) -> Result<Collection> {
        Collection::of(Directory::open(folder)?, settings)
    }

    fn of(directory: Directory, settings: StoreSettings) -> Result<Collection> {
        let (folder, manifest) = (directory.folder(), directory.current()?);
        Ok(Collection {
            urls: UrlTable::with_cache(folder, manifest, settings.cached_urls)?,
            pages: PageState::open(folder, manifest, settings.changed_pages)?,
            sites: SiteState::open(folder, manifest, settings.changed_sites)?,
            bodies: PageStore::open(folder, manifest, settings.bodies)?,
            links: LinkLog::open(folder, manifest)?,
            tables: Tables::open(folder, manifest),
            notes: manifest.notes.clone(),
            directory,
        })
    }

    /// The collection's folder.
    pub fn folder(&self) -> &Path {
        self.directory.folder()
    }

    /// The last commit.
    pub fn manifest(&self) -> Result<&Manifest> {
        self.directory.current()
    }

    /// Numbers the URLs of a batch. New pages get the state that `describe` gives them, new sites a fresh one.
    pub fn resolve(
        &mut self,
        batch: &UrlBatch,
        now_s: u32,
        describe: impl FnMut(&NewPage) -> PageRecord,
    ) -> Result<Resolved> {
        let resolved = self.urls.resolve(batch)?;
        self.describe(resolved, now_s, describe)
    }

    /// The same, but pages that nobody knew are refused if `admit` says so of their site, which may be as new.
    pub fn resolve_where(
        &mut self,
        batch: &UrlBatch,
        now_s: u32,
        admit: impl FnMut(Option<SiteId>) -> bool,
        describe: impl FnMut(&NewPage) -> PageRecord,
    ) -> Result<Resolved> {
        let resolved = self.urls.resolve_where(batch, admit)?;
        self.describe(resolved, now_s, describe)
    }

    fn describe(
        &mut self,
        resolved: Resolved,
        now_s: u32,
        mut describe: impl FnMut(&NewPage) -> PageRecord,
    ) -> Result<Resolved> {
        let new_sites = self.urls.known().sites() - self.sites.reader().sites();
        self.sites.append((0..new_sites).map(|_| SiteRecord::new(now_s)))?;
        self.pages.append(resolved.new.iter().map(&mut describe))?;
        Ok(resolved)
    }

    /// Whether a commit should come soon: changes stay in memory until then.
    pub fn is_full(&self) -> bool {
        self.pages.is_full() || self.sites.is_full()
    }

    /// Makes everything so far last.
    pub fn commit(&mut self, now_ms: i64) -> Result<&Manifest> {
        if self.urls.known().pages() != self.pages.reader().pages() {
            return Err(Error::Full { what: "pages were numbered without a state" });
        }
        let generation = self.directory.current()?.generation + 1;
        failpoint("commit: begins");
        let mut files = self.urls.commit(generation)?;
        failpoint("commit: urls");
        files.extend(self.pages.commit(generation)?);
        failpoint("commit: page state");
        files.extend(self.sites.commit(generation)?);
        failpoint("commit: site state");
        files.extend(self.bodies.commit(generation)?);
        failpoint("commit: bodies");
        files.extend(self.links.commit(generation)?);
        failpoint("commit: links");
        files.extend(self.tables.commit(generation)?);
        failpoint("commit: tables");
        self.directory.commit(files, self.notes.clone(), now_ms)?;
        Tables::show(self.directory.folder(), self.directory.current()?)?;
        failpoint("commit: ends");
        self.directory.current()
    }

    /// Lets go of all commits but the newest and those that somebody keeps, and of the files that only they name, which
    /// gives their space back at once.
    pub fn expire_old_commits(&mut self) -> Result<()> {
        self.directory.expire_all()
    }

    /// Drops superseded versions of some pages, if there are enough of them, and says whether it did. The next commit
    /// makes it last; the space is given back with the commits that name the old files.
    pub fn compact(&mut self, keep: Keep) -> Result<bool> {
        let moved = self.bodies.compact(keep)?;
        if moved.is_empty() {
            return Ok(false);
        }
        let parts = self.pages.reader().scan_records(|affected: &mut Vec<PageId>, id, page| {
            if page.stored.is_some_and(|old| moved.new_place(old) != Some(old)) {
                affected.push(id);
            }
        })?;
        let mut pages = parts.concat();
        pages.sort_unstable();
        self.pages.update(&pages, |_, page| {
            page.stored = page.stored.and_then(|old| moved.new_place(old));
        })?;
        Ok(true)
    }
}
