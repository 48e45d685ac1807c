//! Expected content of a collection, and its comparison with a snapshot.

use std::collections::BTreeMap;
use std::path::Path;

use model::{PageId, SiteId, UrlRules};
use store::{PageStage, Snapshot, VerifyLevel, check, count_rows};

/// Number of URLs in use.
pub(super) const URLS: usize = 120;
/// Number of sites in use.
const SITES: usize = 6;

/// Content of a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) generation: u64,
    /// Pages by id.
    pub(super) pages: Vec<PageModel>,
    /// Sites by id.
    pub(super) sites: Vec<SiteModel>,
    /// Rows of the table `links`.
    pub(super) link_rows: u64,
    pub(super) application_state: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageModel {
    /// Number of the URL.
    pub(super) url: usize,
    pub(super) last_visit_s: u32,
    pub(super) body: Option<Vec<u8>>,
    /// Targets of the links; `None` if it was never parsed.
    pub(super) links: Option<Vec<u32>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SiteModel {
    name: usize,
    pub(super) earliest_request_ms: u64,
    pub(super) robots: Option<Vec<u8>>,
}

pub(super) fn url(number: usize) -> String {
    format!("http://site{}.test/directory/{number}?query={}", number % SITES, number * 31)
}

impl Model {
    /// Id of a URL, assigned if it is new.
    pub(super) fn resolve(&mut self, url: usize) -> PageId {
        if let Some(known) = self.pages.iter().position(|page| page.url == url) {
            return PageId(known as u32);
        }
        let name = url % SITES;
        if !self.sites.iter().any(|site| site.name == name) {
            self.sites.push(SiteModel { name, earliest_request_ms: 0, robots: None });
        }
        self.pages.push(PageModel { url, last_visit_s: 0, body: None, links: None });
        PageId(self.pages.len() as u32 - 1)
    }

    /// Compares the model with a commit; `None` is the newest.
    pub(super) fn verify(&self, dir: &Path, snapshot: Option<&str>) {
        let snapshot = Snapshot::open(dir, snapshot).unwrap();
        assert_eq!(snapshot.manifest.generation, self.generation);
        let state = self.application_state;
        assert_eq!(snapshot.manifest.application_state.as_u64().unwrap_or_default(), state);
        assert_eq!(snapshot.urls.pages() as usize, self.pages.len());
        assert_eq!(snapshot.page_state.pages() as usize, self.pages.len());
        for (id, page) in self.pages.iter().enumerate() {
            verify_page(&snapshot, PageId(id as u32), page);
        }
        assert_eq!(snapshot.urls.sites() as usize, self.sites.len());
        assert_eq!(snapshot.site_state.sites() as usize, self.sites.len());
        for (id, site) in self.sites.iter().enumerate() {
            let id = SiteId(id as u32);
            let record = snapshot.site_state.get(id).unwrap().unwrap();
            assert_eq!(record.earliest_request_ms, site.earliest_request_ms, "{id:?}");
            assert_eq!(snapshot.site_state.robots_text(id).unwrap(), site.robots, "{id:?}");
        }
        let mut found = BTreeMap::new();
        let outcome = snapshot.links.for_each(|source, links| {
            found.insert(source.0, links.iter().map(|link| link.target.0).collect::<Vec<u32>>());
            Ok(())
        });
        outcome.unwrap();
        let parsed = self.pages.iter().zip(0u32..).filter_map(|(page, id)| Some((id, page.links.clone()?)));
        assert_eq!(found, parsed.collect());
        assert_eq!(count_rows(dir, &snapshot.manifest, "links").unwrap(), self.link_rows);
    }
}

fn verify_page(snapshot: &Snapshot, id: PageId, page: &PageModel) {
    let expected = url(page.url);
    assert_eq!(snapshot.urls.url(id).unwrap().as_deref(), Some(expected.as_str()));
    let canonical = UrlRules::default().canonical(&expected).unwrap();
    assert_eq!(snapshot.urls.find(&canonical).unwrap(), Some(id));
    let record = snapshot.page_state.get(id).unwrap().unwrap();
    assert_eq!(record.last_visit_s, page.last_visit_s, "{id:?}");
    assert_eq!(record.stage == PageStage::Fetched, page.body.is_some(), "{id:?}");
    let stored = record.record_location.map(|location| {
        let stored = snapshot.page_store.read(&location, VerifyLevel::Digests).unwrap();
        assert_eq!(stored.url(), expected);
        stored.body().into_owned()
    });
    assert_eq!(stored, page.body, "{id:?}");
}

/// Asserts that `weir check` finds nothing in all retained commits.
pub(super) fn verify_soundness(dir: &Path) {
    let mut events = Vec::new();
    let report = check(dir, None, |event| events.push(format!("{event:?}"))).unwrap();
    events.retain(|event| event.starts_with("Corruption"));
    assert_eq!((report.corruptions, &events), (0, &Vec::new()));
}
