//! Consistency check between the components of a commit: every page has a URL, a state record and a site, and its stored
//! record is where its state record says.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use model::{PageId, UrlRules};

use super::log::CorruptionLog;
use super::scope::CorruptionScope;
use crate::error::{Result, corrupt};
use crate::manifest::Manifest;
use crate::pages::{PageStoreReader, RecordLocation, VerifyLevel};
use crate::parallel;
use crate::state::page::{PageRecord, PageStateReader};
use crate::state::site::SiteStateReader;
use crate::urls::UrlReader;

/// Components to compare.
pub(super) struct ConsistencyCheck<'c, 'f> {
    pub(super) dir: &'c Path,
    pub(super) urls: &'c UrlReader,
    pub(super) pages: &'c PageStateReader,
    pub(super) sites: &'c SiteStateReader,
    pub(super) page_store: Option<&'c PageStoreReader>,
    pub(super) log: &'c CorruptionLog<'f>,
}

/// Number of pages checked together.
const GROUP_PAGES: u32 = 1 << 14;

impl ConsistencyCheck<'_, '_> {
    pub(super) fn run(&self, manifest: &Manifest) -> Result<()> {
        let counts = [
            ("pages", self.urls.pages(), self.pages.pages()),
            ("sites", self.urls.sites(), self.sites.sites()),
        ];
        for (name, known, with_state) in counts {
            if known != with_state {
                let cause = format!("the URL table has {known} {name}, the state has {with_state}");
                let path = self.dir.join("state");
                self.log.add(corrupt(&path, "", cause), Some(CorruptionScope::Commit))?;
                return Ok(());
            }
        }
        if manifest.files_in("urls").chain(manifest.files_in("state")).any(|file| self.log.has(&file.name)) {
            // Otherwise one corrupt file would be reported once for each of its pages.
            return Ok(());
        }
        let next = AtomicU32::new(0);
        let worker = || self.check_groups(&next);
        let (other, own) = parallel::join(worker, worker);
        other.and(own)
    }

    fn check_groups(&self, next: &AtomicU32) -> Result<()> {
        loop {
            let first = next.fetch_add(GROUP_PAGES, Ordering::Relaxed);
            if first >= self.pages.pages() {
                return Ok(());
            }
            let end = first.saturating_add(GROUP_PAGES).min(self.pages.pages());
            let ids: Vec<PageId> = (first..end).map(PageId).collect();
            let records = self.pages.get_many(&ids)?;
            let urls = self.urls.urls(&ids)?;
            let mut stored: Vec<(RecordLocation, usize)> = Vec::new();
            for (index, (page, url)) in records.iter().zip(&urls).enumerate() {
                if let Some(cause) = self.wrong_state(page, url.as_deref()) {
                    let path = self.dir.join("state");
                    let id = ids[index].0;
                    let scope = CorruptionScope::PageState(Some(id..id + 1));
                    self.log.add(corrupt(&path, format!("for page {id}"), cause), Some(scope))?;
                }
                stored.extend(page.record_location.map(|location| (location, index)));
            }
            // Read in the order of the disk.
            stored.sort_unstable();
            for (location, index) in stored {
                self.check_stored(&location, ids[index], urls[index].as_deref().unwrap_or_default())?;
            }
        }
    }

    fn wrong_state(&self, page: &PageRecord, url: Option<&str>) -> Option<String> {
        let Some(url) = url else { return Some("the page has no URL".to_owned()) };
        let site = self.urls.site_name(page.site);
        if !site.and_then(|site| url.strip_prefix(site)).is_some_and(|path| path.starts_with('/')) {
            return Some(format!("{url} does not belong to site {}", page.site.0));
        }
        let original = page.duplicate_of.filter(|original| original.0 >= self.pages.pages())?;
        Some(format!("{url} is marked as a duplicate of page {}, which does not exist", original.0))
    }

    fn check_stored(&self, location: &RecordLocation, page: PageId, url: &str) -> Result<()> {
        let Some(page_store) = self.page_store else { return Ok(()) };
        let file = format!("pages/{}", location.file_name());
        let scope = || Some(CorruptionScope::StoredPage(Some(url.to_owned())));
        match page_store.read(location, VerifyLevel::Checksum) {
            // The page store has already reported this file.
            Err(_) if self.log.has(&file) => Ok(()),
            Err(error) => self.log.add(error, scope()),
            Ok(stored) if belongs_to(stored.url(), url) => Ok(()),
            Ok(stored) => {
                let cause = format!("found the record of {}, expected page {}: {url}", stored.url(), page.0);
                let location = format!("at byte {}", location.offset);
                self.log.add(corrupt(&self.dir.join(&file), location, cause), scope())
            }
        }
    }
}

/// Whether a record belongs to a page. Imported records may have another spelling of its URL.
fn belongs_to(target: &str, url: &str) -> bool {
    target == url || UrlRules::default().canonical(target).is_ok_and(|canonical| canonical.as_str() == url)
}
