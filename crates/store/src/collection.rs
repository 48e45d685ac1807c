//! Collection, open for writing by one process.
//!
//! The components are public fields with their own methods. This type commits them together, and guarantees that every
//! page and site of the URL table has a state record.
//!
//! After an error of any method the collection must be opened again; it then is at its last commit.

use std::path::Path;

use model::{PageId, SiteId};

use crate::collection_dir::CollectionDir;
use crate::error::{Error, Result};
use crate::failpoint::failpoint;
use crate::links::LinkLog;
use crate::manifest::Manifest;
use crate::pages::{PageStore, PageStoreSettings, RetentionPolicy};
use crate::state::page::{PageRecord, PageState};
use crate::state::site::{SiteRecord, SiteState};
use crate::tables::Tables;
use crate::urls::{DEFAULT_CACHE_ENTRIES, NewPage, ResolvedBatch, UrlTable};
use model::UrlBatch;

/// Settings of a writer. They bound its memory, independently of the size of the collection.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// Settings of the page store.
    pub page_store: PageStoreSettings,
    /// Maximum number of changed page records in memory before a commit rewrites them; about 200 bytes each.
    pub max_dirty_pages: usize,
    /// Maximum number of changed site records in memory; about 250 bytes each.
    pub max_dirty_sites: usize,
    /// Number of pages whose URLs are resolved without disk access; 12 bytes each.
    pub url_cache_entries: usize,
}

impl Default for StoreSettings {
    fn default() -> StoreSettings {
        StoreSettings {
            page_store: PageStoreSettings::default(),
            max_dirty_pages: 1 << 20,
            max_dirty_sites: 1 << 17,
            url_cache_entries: DEFAULT_CACHE_ENTRIES,
        }
    }
}

impl From<PageStoreSettings> for StoreSettings {
    fn from(page_store: PageStoreSettings) -> StoreSettings {
        StoreSettings { page_store, ..StoreSettings::default() }
    }
}

/// Collection, open for writing.
pub struct Collection {
    directory: CollectionDir,
    /// URL table: URLs and their page ids.
    pub urls: UrlTable,
    /// State of each page.
    pub page_state: PageState,
    /// State of each site.
    pub site_state: SiteState,
    /// Stored pages.
    pub page_store: PageStore,
    /// Links between pages.
    pub links: LinkLog,
    /// Parquet tables for external tools.
    pub tables: Tables,
    /// State of the application, committed with the rest; opaque to the store. It should be small, since every commit
    /// writes all of it.
    pub application_state: serde_json::Value,
    /// Whether an operation on several components has failed in the middle.
    has_failed: bool,
}

impl Collection {
    /// Creates a collection in an empty or absent directory.
    pub fn create(dir: &Path, settings: StoreSettings) -> Result<Collection> {
        Collection::from_dir(CollectionDir::create(dir)?, settings)
    }

    /// Opens a collection at its last commit.
    pub fn open(dir: &Path, settings: StoreSettings) -> Result<Collection> {
        Collection::from_dir(CollectionDir::open(dir)?, settings)
    }

    fn from_dir(directory: CollectionDir, settings: StoreSettings) -> Result<Collection> {
        let (dir, manifest) = (directory.dir(), directory.current()?);
        Ok(Collection {
            urls: UrlTable::with_cache(dir, manifest, settings.url_cache_entries)?,
            page_state: PageState::open(dir, manifest, settings.max_dirty_pages)?,
            site_state: SiteState::open(dir, manifest, settings.max_dirty_sites)?,
            page_store: PageStore::open(dir, manifest, settings.page_store)?,
            links: LinkLog::open(dir, manifest)?,
            tables: Tables::open(dir, manifest),
            application_state: manifest.application_state.clone(),
            directory,
            has_failed: false,
        })
    }

    /// Directory of the collection.
    pub fn dir(&self) -> &Path {
        self.directory.dir()
    }

    /// Manifest of the last commit.
    pub fn manifest(&self) -> Result<&Manifest> {
        self.directory.current()
    }

    /// Resolves the URLs of a batch to page ids. `describe` returns the state of each new page; new sites get an
    /// initial one.
    pub fn resolve(
        &mut self,
        batch: &UrlBatch,
        now_s: u32,
        describe: impl FnMut(&NewPage) -> PageRecord,
    ) -> Result<ResolvedBatch> {
        let resolved = self.urls.resolve(batch)?;
        self.describe(resolved, now_s, describe)
    }

    /// Resolves as [`Collection::resolve`], but adds an unknown page only if `admit` accepts its site (`None` if the
    /// site is unknown too).
    pub fn resolve_admitted(
        &mut self,
        batch: &UrlBatch,
        now_s: u32,
        admit: impl FnMut(Option<SiteId>) -> bool,
        describe: impl FnMut(&NewPage) -> PageRecord,
    ) -> Result<ResolvedBatch<Option<PageId>>> {
        let resolved = self.urls.resolve_admitted(batch, admit)?;
        self.describe(resolved, now_s, describe)
    }

    fn describe<P>(
        &mut self,
        resolved: ResolvedBatch<P>,
        now_s: u32,
        mut describe: impl FnMut(&NewPage) -> PageRecord,
    ) -> Result<ResolvedBatch<P>> {
        let new_sites = self.urls.reader().sites() - self.site_state.reader().sites();
        self.site_state.append((0..new_sites).map(|_| SiteRecord::new(now_s)))?;
        self.page_state.append(resolved.new_pages.iter().map(&mut describe))?;
        Ok(resolved)
    }

    /// Whether a commit is due: changes stay in memory until then.
    pub fn should_commit(&self) -> bool {
        self.page_state.should_commit() || self.site_state.should_commit()
    }

    /// Commits all changes. After an error every further commit is refused: components may have dropped changes.
    pub fn commit(&mut self, now_ms: i64) -> Result<&Manifest> {
        self.begin()?;
        self.commit_components(now_ms)?;
        self.has_failed = false;
        self.directory.current()
    }

    /// Begins an operation on several components; it ends when `has_failed` is reset.
    fn begin(&mut self) -> Result<()> {
        if self.has_failed {
            return Err(Error::NeedsReopen { path: self.dir().to_owned() });
        }
        self.has_failed = true;
        Ok(())
    }

    fn commit_components(&mut self, now_ms: i64) -> Result<()> {
        if self.urls.reader().pages() != self.page_state.reader().pages() {
            return Err(Error::LimitExceeded { limit: "pages without a state record" });
        }
        let generation = self.directory.current()?.generation + 1;
        failpoint("commit: begins");
        let mut files = self.urls.commit(generation)?;
        failpoint("commit: urls");
        files.extend(self.page_state.commit(generation)?);
        failpoint("commit: page state");
        files.extend(self.site_state.commit(generation)?);
        failpoint("commit: site state");
        files.extend(self.page_store.commit(generation)?);
        failpoint("commit: page store");
        files.extend(self.links.commit(generation)?);
        failpoint("commit: links");
        files.extend(self.tables.commit(generation)?);
        failpoint("commit: tables");
        self.directory.commit(files, self.application_state.clone(), now_ms)?;
        Tables::refresh_view(self.directory.dir(), self.directory.current()?)?;
        failpoint("commit: ends");
        Ok(())
    }

    /// Deletes all commits but the newest and the named snapshots, with the files that only they reference. Frees the
    /// space immediately.
    pub fn expire_old_commits(&mut self) -> Result<()> {
        self.directory.expire_all()
    }

    /// Compacts files with many superseded versions of pages; returns whether it did. The next commit makes it durable;
    /// the space is freed with the commits that reference the old files.
    pub fn compact(&mut self, retention: RetentionPolicy) -> Result<bool> {
        self.begin()?;
        let moved = self.page_store.compact(retention)?;
        if moved.is_empty() {
            self.has_failed = false;
            return Ok(false);
        }
        let parts = self.page_state.reader().scan_records(|affected: &mut Vec<PageId>, id, page| {
            if page.record_location.is_some_and(|old| moved.new_location(old) != Some(old)) {
                affected.push(id);
            }
        })?;
        let generation = self.directory.current()?.generation + 1;
        self.tables.fetches.relocate(generation, &moved)?;
        let mut pages = parts.concat();
        pages.sort_unstable();
        self.page_state.update(&pages, |_, page| {
            page.record_location = page.record_location.and_then(|old| moved.new_location(old));
        })?;
        self.has_failed = false;
        Ok(true)
    }
}
