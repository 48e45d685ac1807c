//! Which pages are wanted? Conditions as a user names them, and how a page is held against them.
//!
//! Sites, domains and languages are known without the page; what its record says (status, type, date) is only known when it
//! is read.

use model::{PageId, SiteId};

use super::evaluator::PredicateEvaluator;
use super::predicate::Predicate;
use crate::error::{Error, Result};
use crate::page_set::PageSet;
use crate::pages::StoredPage;
use crate::snapshot::Snapshot;
use crate::tables::{DocumentRows, TableReader};

/// Which pages are wanted: those that meet every condition; one that lists nothing is met by all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageFilter {
    /// Of one of these sites: `https://example.org`, or `example.org` for whatever scheme and port it was met with.
    pub sites: Vec<String>,
    /// Of a host of one of these domains: `example.org` has `www.example.org`, too.
    pub domains: Vec<String>,
    /// In one of these languages, by their code: `en`.
    pub languages: Vec<String>,
    /// With one of these statuses of HTTP: 404, or 4 for all from 400 to 499.
    pub statuses: Vec<u16>,
    /// Of one of these types, as their server declares: `text/html`, or `image/*`.
    pub mime_types: Vec<String>,
    /// Fetched then or later, in Unix milliseconds.
    pub since_ms: Option<i64>,
    /// Fetched before then.
    pub before_ms: Option<i64>,
    /// Of which this is true.
    pub predicate: Option<Predicate>,
}

impl PageFilter {
    /// All pages.
    pub fn all() -> PageFilter {
        PageFilter::default()
    }

    /// The sites that are meant; none if all are. A name that the collection does not know is an error.
    pub fn find_sites(&self, snapshot: &Snapshot) -> Result<Option<SiteSet>> {
        if self.sites.is_empty() && self.domains.is_empty() {
            return Ok(None);
        }
        let mut by_site = SiteSet::default();
        let mut by_domain = SiteSet::default();
        let names = |site: u32| snapshot.urls.site_name(SiteId(site)).unwrap_or_default();
        for wanted in &self.sites {
            let wanted = wanted.trim_end_matches('/');
            let found = match snapshot.urls.find_site(wanted) {
                Some(site) => by_site.insert(site),
                None => by_site.extend(snapshot, |site| {
                    host_and_port(names(site)) == wanted || host(names(site)) == wanted
                }),
            };
            known(found, "site", wanted)?;
        }
        for wanted in &self.domains {
            let wanted = wanted.trim_start_matches('.').to_ascii_lowercase();
            known(
                by_domain.extend(snapshot, |site| is_of_domain(host(names(site)), &wanted)),
                "domain",
                &wanted,
            )?;
        }
        Ok(Some(match (self.sites.is_empty(), self.domains.is_empty()) {
            (false, false) => by_site.and(&by_domain),
            (false, true) => by_site,
            _ => by_domain,
        }))
    }

    /// The pages whose last document is in one of the languages; none if all count.
    pub(super) fn find_languages(&self, snapshot: &Snapshot) -> Result<Option<PageSet>> {
        if self.languages.is_empty() {
            return Ok(None);
        }
        let columns = ["page_id", "language"];
        let documents = TableReader::<DocumentRows>::open_committed(snapshot.dir(), &snapshot.manifest)?;
        let mut pages = PageSet::new(snapshot.page_state.pages() as usize, false);
        // Rows are in the order of the crawl: the last one of a page is about what is stored.
        documents.with_columns(&columns).for_each_row(|row| {
            let language = row.language.unwrap_or_default();
            let wanted = self.languages.iter().any(|wanted| wanted.eq_ignore_ascii_case(language));
            pages.set(PageId(row.page_id), wanted);
        })?;
        Ok(Some(pages))
    }

    /// The predicate, ready to be asked.
    pub(super) fn compile_predicate(&self, snapshot: &Snapshot) -> Result<Option<PredicateEvaluator>> {
        self.predicate.as_ref().map(|predicate| PredicateEvaluator::new(predicate, snapshot)).transpose()
    }

    /// Whether a page has to be read to know whether it is wanted, whatever the predicate needs.
    pub(super) fn needs_record(&self) -> bool {
        !self.statuses.is_empty()
            || !self.mime_types.is_empty()
            || self.since_ms.is_some()
            || self.before_ms.is_some()
    }

    /// Whether what was read is wanted, whatever the predicate says.
    pub(super) fn matches_record(&self, page: &StoredPage) -> bool {
        let time_ms = page.fetched_at_ms();
        let in_time = self.since_ms.is_none_or(|since| time_ms >= since)
            && self.before_ms.is_none_or(|before| time_ms < before);
        in_time && self.has_status(page.status().unwrap_or(0)) && self.has_mime_type(page.mime_type())
    }

    fn has_status(&self, status: u16) -> bool {
        let is = |wanted: &u16| *wanted == status || *wanted == status / 100;
        self.statuses.is_empty() || self.statuses.iter().any(is)
    }

    fn has_mime_type(&self, mime_type: &str) -> bool {
        let is = |wanted: &String| match wanted.strip_suffix('*') {
            Some(start) => mime_type.get(..start.len()).is_some_and(|mime| mime.eq_ignore_ascii_case(start)),
            None => wanted.eq_ignore_ascii_case(mime_type),
        };
        self.mime_types.is_empty() || self.mime_types.iter().any(is)
    }
}

/// Some of the sites of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SiteSet(Vec<SiteId>);

impl SiteSet {
    /// Whether it has this one.
    pub fn contains(&self, site: SiteId) -> bool {
        self.0.binary_search(&site).is_ok()
    }

    /// They, in their order.
    pub fn iter(&self) -> impl Iterator<Item = SiteId> + '_ {
        self.0.iter().copied()
    }

    fn insert(&mut self, site: SiteId) -> bool {
        if let Err(place) = self.0.binary_search(&site) {
            self.0.insert(place, site);
        }
        true
    }

    /// Adds those that are wanted; tells whether there is one.
    fn extend(&mut self, snapshot: &Snapshot, wanted: impl Fn(u32) -> bool) -> bool {
        let found: Vec<SiteId> =
            (0..snapshot.urls.sites()).filter(|site| wanted(*site)).map(SiteId).collect();
        self.0.extend(&found);
        self.0.sort_unstable();
        self.0.dedup();
        !found.is_empty()
    }

    fn and(&self, other: &SiteSet) -> SiteSet {
        SiteSet(self.iter().filter(|site| other.contains(*site)).collect())
    }
}

fn known(found: bool, what: &'static str, name: &str) -> Result<()> {
    if found { Ok(()) } else { Err(Error::UnknownSite { kind: what, name: name.to_owned() }) }
}

fn host_and_port(site: &str) -> &str {
    site.split_once("://").map_or(site, |(_, rest)| rest)
}

pub(super) fn host(site: &str) -> &str {
    let host = host_and_port(site);
    match host.rsplit_once(':') {
        // The last part of an IPv6 address is no port.
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !host.ends_with(']') => name,
        _ => host,
    }
}

fn is_of_domain(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_of_their_domains_only() {
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
    fn statuses_and_types_are_met_one_by_one_or_by_kind() {
        let selection = PageFilter {
            statuses: vec![2, 404],
            mime_types: vec!["text/HTML".to_owned(), "image/*".to_owned()],
            ..PageFilter::all()
        };
        assert_eq!(
            [200, 299, 404, 410, 0].map(|status| selection.has_status(status)),
            [true, true, true, false, false]
        );
        let types = ["text/html", "IMAGE/png", "text/plain", "", "im"];
        assert_eq!(types.map(|name| selection.has_mime_type(name)), [true, true, false, false, false]);
    }
}
