//! Do the components of a commit say the same? Every page has a URL, a state, a site, and is stored where its state
//! says.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use model::{PageId, UrlRules};

use super::{Affects, Findings};
use crate::error::{Result, damaged};
use crate::manifest::Manifest;
use crate::page_state::{PageRecord, PageStateReader};
use crate::page_store::{PageLocation, PageReader, Verify};
use crate::site_state::SiteStateReader;
use crate::url_table::UrlReader;

/// What is compared.
pub(super) struct CrossCheck<'c, 'f> {
    pub(super) folder: &'c Path,
    pub(super) urls: &'c UrlReader,
    pub(super) pages: &'c PageStateReader,
    pub(super) sites: &'c SiteStateReader,
    pub(super) bodies: Option<&'c PageReader>,
    pub(super) findings: &'c Findings<'f>,
}

/// So many pages are looked at together.
const GROUP_PAGES: u32 = 1 << 14;

impl CrossCheck<'_, '_> {
    pub(super) fn run(&self, manifest: &Manifest) -> Result<()> {
        let counts = [
            ("pages", self.urls.pages(), self.pages.pages()),
            ("sites", self.urls.sites(), self.sites.sites()),
        ];
        for (name, known, with_state) in counts {
            if known != with_state {
                let what = format!("the URL table has {known} {name}, the state {with_state}");
                let path = self.folder.join("state");
                self.findings.add(damaged(&path, "as a whole", what), Some(Affects::Commit))?;
                return Ok(());
            }
        }
        if manifest
            .files_in("urls")
            .chain(manifest.files_in("state"))
            .any(|file| self.findings.has(&file.name))
        {
            // Every page would be reported for it.
            return Ok(());
        }
        let next = AtomicU32::new(0);
        let worker = || self.check_groups(&next);
        thread::scope(|scope| {
            let other = scope.spawn(worker);
            let own = worker();
            other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).and(own)
        })
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
            let mut stored: Vec<(PageLocation, usize)> = Vec::new();
            for (index, (page, url)) in records.iter().zip(&urls).enumerate() {
                if let Some(what) = self.wrong_state(page, url.as_deref()) {
                    let path = self.folder.join("state");
                    let id = ids[index].0;
                    let affects = Affects::PageState(Some(id..id + 1));
                    self.findings.add(damaged(&path, format!("for page {id}"), what), Some(affects))?;
                }
                stored.extend(page.stored.map(|location| (location, index)));
            }
            // In the order in which they lie on the disk.
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
            return Some(format!("{url} is not of the site {}", page.site.0));
        }
        let original = page.duplicate_of.filter(|original| original.0 >= self.pages.pages())?;
        Some(format!("{url} is called a duplicate of page {}, which there is not", original.0))
    }

    fn check_stored(&self, location: &PageLocation, page: PageId, url: &str) -> Result<()> {
        let Some(bodies) = self.bodies else { return Ok(()) };
        let file = format!("pages/{}", location.file_name());
        let affects = || Some(Affects::StoredPage(Some(url.to_owned())));
        match bodies.read(location, Verify::Checksum) {
            // The record was read before; what is wrong with it is known.
            Err(_) if self.findings.has(&file) => Ok(()),
            Err(error) => self.findings.add(error, affects()),
            Ok(stored) if is_of(stored.url(), url) => Ok(()),
            Ok(stored) => {
                let what = format!("there is {}, where page {} should be: {url}", stored.url(), page.0);
                let at = format!("at byte {}", location.offset);
                self.findings.add(damaged(&self.folder.join(&file), at, what), affects())
            }
        }
    }
}

/// Whether a record is of a page. Records that others have written may spell its URL in their own way.
fn is_of(target: &str, url: &str) -> bool {
    target == url || UrlRules::default().canonical(target).is_ok_and(|canonical| canonical.as_str() == url)
}
