//! Filter of a page stream.
//!
//! Sites, domains and languages are evaluated without the page; status, MIME type and time need its stored record.

use model::{PageId, SiteId};

use super::condition::{host, host_and_port};
use super::evaluator::PredicateEvaluator;
use super::predicate::Predicate;
use crate::cancellation::Cancellation;
use crate::error::{Error, Result};
use crate::page_set::PageSet;
use crate::pages::StoredPage;
use crate::snapshot::Snapshot;
use crate::tables::{DocumentRows, NewestRows, TableReader};

/// Conditions on pages, all of which must be met. An empty list is no condition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageFilter {
    /// Sites: `https://example.org`, or `example.org` for any scheme and port.
    pub sites: Vec<String>,
    /// Domains with all their hosts: `example.org` includes `www.example.org`.
    pub domains: Vec<String>,
    /// Languages by code: `en`.
    pub languages: Vec<String>,
    /// HTTP statuses: 404, or 4 for 400 to 499.
    pub statuses: Vec<u16>,
    /// MIME types that the server declared: `text/html`, or `image/*`.
    pub mime_types: Vec<String>,
    /// Earliest time of the fetch in Unix milliseconds.
    pub since_ms: Option<i64>,
    /// Only fetches before this time, in Unix milliseconds.
    pub before_ms: Option<i64>,
    /// Predicate that must be true.
    pub predicate: Option<Predicate>,
}

impl PageFilter {
    /// Filter that accepts all pages.
    pub fn all() -> PageFilter {
        PageFilter::default()
    }

    /// Finds the selected sites; `None` for all. An unknown name is an error.
    pub fn find_sites(&self, snapshot: &Snapshot) -> Result<Option<SiteSet>> {
        self.find_sites_until(snapshot, &Cancellation::default())
    }

    /// Like [`PageFilter::find_sites`], until the read is cancelled: each name is compared with those of all sites.
    pub(super) fn find_sites_until(
        &self,
        snapshot: &Snapshot,
        cancellation: &Cancellation,
    ) -> Result<Option<SiteSet>> {
        if self.sites.is_empty() && self.domains.is_empty() {
            return Ok(None);
        }
        let mut by_site = SiteSet::default();
        let mut by_domain = SiteSet::default();
        let names = |site: u32| snapshot.urls.site_name(SiteId(site)).unwrap_or_default();
        for name in &self.sites {
            cancellation.check()?;
            let name = name.trim_end_matches('/');
            let found = match snapshot.urls.find_site(name) {
                Some(site) => by_site.insert(site),
                None => by_site
                    .extend(snapshot, |site| host_and_port(names(site)) == name || host(names(site)) == name),
            };
            check_found(found, "site", name)?;
        }
        for domain in &self.domains {
            cancellation.check()?;
            let domain = domain.trim_start_matches('.').to_ascii_lowercase();
            let found = by_domain.extend(snapshot, |site| is_of_domain(host(names(site)), &domain));
            check_found(found, "domain", &domain)?;
        }
        Ok(Some(match (self.sites.is_empty(), self.domains.is_empty()) {
            (false, false) => by_site.and(&by_domain),
            (false, true) => by_site,
            _ => by_domain,
        }))
    }

    /// Finds the pages whose last document is in one of the languages; `None` for all.
    pub(super) fn find_languages(
        &self,
        snapshot: &Snapshot,
        cancellation: &Cancellation,
    ) -> Result<Option<PageSet>> {
        if self.languages.is_empty() {
            return Ok(None);
        }
        let columns = ["page_id", "fetch_time", "language"];
        let documents = TableReader::<DocumentRows>::open_committed(snapshot.dir(), &snapshot.manifest)?;
        let mut pages = PageSet::new(snapshot.page_state.pages() as usize, false);
        let mut newest = NewestRows::new(snapshot.page_state.pages() as usize);
        documents.with_columns(&columns).for_each_row_until(cancellation, |row| {
            if !newest.accept(row.page_id, row.fetch_time) {
                return;
            }
            let language = row.language.unwrap_or_default();
            let matches = self.languages.iter().any(|code| code.eq_ignore_ascii_case(language));
            pages.set(PageId(row.page_id), matches);
        })?;
        Ok(Some(pages))
    }

    /// Compiles the predicate.
    pub(super) fn compile_predicate(
        &self,
        snapshot: &Snapshot,
        cancellation: &Cancellation,
    ) -> Result<Option<PredicateEvaluator>> {
        let predicate = self.predicate.as_ref();
        predicate.map(|predicate| PredicateEvaluator::new(predicate, snapshot, cancellation)).transpose()
    }

    /// Whether the record of a page must be read, not regarding the predicate.
    pub(super) fn needs_record(&self) -> bool {
        !self.statuses.is_empty()
            || !self.mime_types.is_empty()
            || self.since_ms.is_some()
            || self.before_ms.is_some()
    }

    /// Whether a record matches, not regarding the predicate.
    pub(super) fn matches_record(&self, page: &StoredPage) -> bool {
        let time_ms = page.fetched_at_ms();
        let in_time = self.since_ms.is_none_or(|since| time_ms >= since)
            && self.before_ms.is_none_or(|before| time_ms < before);
        in_time && self.has_status(page.status().unwrap_or(0)) && self.has_mime_type(page.mime_type())
    }

    fn has_status(&self, status: u16) -> bool {
        let is = |accepted: &u16| *accepted == status || *accepted == status / 100;
        self.statuses.is_empty() || self.statuses.iter().any(is)
    }

    fn has_mime_type(&self, mime_type: &str) -> bool {
        let is = |accepted: &String| match accepted.strip_suffix('*') {
            Some(start) => mime_type.get(..start.len()).is_some_and(|mime| mime.eq_ignore_ascii_case(start)),
            None => accepted.eq_ignore_ascii_case(mime_type),
        };
        self.mime_types.is_empty() || self.mime_types.iter().any(is)
    }
}

/// Set of sites.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SiteSet(Vec<SiteId>);

impl SiteSet {
    /// Whether the set contains a site.
    pub fn contains(&self, site: SiteId) -> bool {
        self.0.binary_search(&site).is_ok()
    }

    /// Iterates over the sites in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = SiteId> + '_ {
        self.0.iter().copied()
    }

    fn insert(&mut self, site: SiteId) -> bool {
        if let Err(index) = self.0.binary_search(&site) {
            self.0.insert(index, site);
        }
        true
    }

    /// Adds the sites that match; returns whether there is one.
    fn extend(&mut self, snapshot: &Snapshot, matches: impl Fn(u32) -> bool) -> bool {
        let found: Vec<SiteId> =
            (0..snapshot.urls.sites()).filter(|site| matches(*site)).map(SiteId).collect();
        self.0.extend(&found);
        self.0.sort_unstable();
        self.0.dedup();
        !found.is_empty()
    }

    fn and(&self, other: &SiteSet) -> SiteSet {
        SiteSet(self.iter().filter(|site| other.contains(*site)).collect())
    }
}

fn check_found(found: bool, kind: &'static str, name: &str) -> Result<()> {
    if found { Ok(()) } else { Err(Error::UnknownSite { kind, name: name.to_owned() }) }
}

fn is_of_domain(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_match_only_their_domains() {
        assert!(is_of_domain("example.org", "example.org") && is_of_domain("a.b.example.org", "example.org"));
        assert!(!is_of_domain("badexample.org", "example.org") && !is_of_domain("org", "example.org"));
        for (site, expected) in [
            ("https://a.test:8080", "a.test"),
            ("http://[::1]:80", "[::1]"),
            ("http://[::1]", "[::1]"),
            ("ftp://a", "a"),
        ] {
            assert_eq!(host(site), expected);
        }
    }

    #[test]
    fn statuses_and_mime_types_match_exactly_or_by_class() {
        let filter = PageFilter {
            statuses: vec![2, 404],
            mime_types: vec!["text/HTML".to_owned(), "image/*".to_owned()],
            ..PageFilter::all()
        };
        assert_eq!(
            [200, 299, 404, 410, 0].map(|status| filter.has_status(status)),
            [true, true, true, false, false]
        );
        let types = ["text/html", "IMAGE/png", "text/plain", "", "im"];
        assert_eq!(types.map(|name| filter.has_mime_type(name)), [true, true, false, false, false]);
    }
}
