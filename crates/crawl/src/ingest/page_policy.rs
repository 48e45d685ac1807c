//! Policy for discovered pages (limits, depth) and for the time of the next fetch.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};

use frontier::{ChangePriors, FetchEvent, Limits, PageDecision, RetryPolicy, Scope, UrlGroups, UrlScorer};
use harvest::item::fetch_outcome::FetchOutcome;
use harvest::item::gathered_page::GatheredPage;
use harvest::settings::crawl_settings::{CrawlSettings, RevisitIntervals};
use harvest::settings::random::random;
use model::{PageId, Reason, SiteId, Truncation, UrlClass, UrlRules};
use store::{Collection, PageColumn, PageFlags, PageRecord, PageStage, PageStateReader, Result};

use crate::ingest::page_links::PageLinks;
use crate::ingest::visit;
use crate::state::crawl_state::CrawlState;
use crate::state::template_budgets::{LinkSupport, TemplateBudgets};

/// Page policy of a collection, with the counts that its limits need.
#[derive(Debug, Default)]
pub(crate) struct PagePolicy {
    pub(crate) limits: Limits,
    pub(crate) retry: RetryPolicy,
    pub(crate) revisits: RevisitIntervals,
    /// Scores of new URLs.
    pub(crate) url_scorer: UrlScorer,
    /// Whether links of exact duplicates are followed.
    pub(crate) follow_links_of_duplicates: bool,
    /// Scope of a crawl that follows links out of it.
    scope: Option<Scope>,
    rules: UrlRules,
    /// Page budgets of URL groups. New pages are described by a closure that shares the policy, on one thread.
    pub(crate) templates: RefCell<TemplateBudgets>,
    /// Prior change rates.
    change_priors: ChangePriors,
    full_sites: HashSet<SiteId>,
    /// Known pages of each site.
    pages_known: Vec<u32>,
    sites: u32,
    is_full: bool,
}

impl PagePolicy {
    pub(crate) fn new(settings: &CrawlSettings) -> PagePolicy {
        PagePolicy {
            limits: settings.limits.clone(),
            templates: RefCell::new(TemplateBudgets::new(settings.limits.templates)),
            retry: settings.retry.clone(),
            revisits: settings.revisits,
            url_scorer: UrlScorer::new(&settings.url_patterns),
            follow_links_of_duplicates: settings.follow_links_of_duplicates,
            scope: (settings.gathering.scope.hops_outside > 0).then(|| settings.gathering.scope.clone()),
            rules: settings.gathering.rules.clone(),
            ..PagePolicy::default()
        }
    }

    /// Replaces the settings that may change during a crawl; the counts must be loaded again.
    pub(crate) fn update_settings(&mut self, settings: &CrawlSettings) {
        self.limits = settings.limits.clone();
        self.scope = (settings.gathering.scope.hops_outside > 0).then(|| settings.gathering.scope.clone());
        self.retry = settings.retry.clone();
        self.revisits = settings.revisits;
        self.url_scorer = UrlScorer::new(&settings.url_patterns);
    }

    /// Removes links that lead further out of the scope than it admits. `records` are those of the pages.
    pub(crate) fn restrict_hops(&self, pages: &mut [PageLinks], records: &BTreeMap<PageId, PageRecord>) {
        if self.scope.is_none() {
            return;
        }
        for page in pages {
            let hops = records.get(&page.id).map_or(0, |record| self.source_hops(page.url.as_str(), record));
            page.restrict(&self.rules, |url| self.hops_outside(url, hops).is_some());
        }
    }

    /// Hops outside of the scope that lead to the source of a link; 0 if it is in scope.
    pub(crate) fn source_hops(&self, url: &str, record: &PageRecord) -> u8 {
        let is_inside = self.hops_outside(url, 0) == Some(0);
        if is_inside { 0 } else { record.flags.hops_outside().max(1) }
    }

    /// Hops outside of the scope of a link target; `None` if the scope does not admit that many. `source_hops` are those of
    /// the page with the link.
    pub(crate) fn hops_outside(&self, url: &str, source_hops: u8) -> Option<u8> {
        let Some(scope) = &self.scope else { return Some(0) };
        let is_inside = self.rules.canonical(url).is_ok_and(|url| scope.check(&url).is_ok());
        let hops = if is_inside { 0 } else { source_hops.saturating_add(1) };
        (hops <= scope.hops_outside).then_some(hops)
    }

    /// Loads the sizes of all sites, the page budgets of URL groups and the prior change rates.
    pub(crate) fn load_counts(&mut self, collection: &Collection) -> Result<()> {
        self.load_site_sizes(collection)?;
        self.templates.borrow_mut().load(&CrawlState::load(collection)?.template_budgets);
        self.change_priors = change_priors(collection.page_state.reader())?;
        Ok(())
    }

    /// Loads the sizes of all sites.
    pub(crate) fn load_site_sizes(&mut self, collection: &Collection) -> Result<()> {
        self.full_sites.clear();
        let parts = collection.site_state.reader().scan(|known: &mut Vec<(SiteId, u32)>, site, record| {
            known.push((site, record.pages_known));
        })?;
        for (site, pages) in parts.into_iter().flatten() {
            self.record_site_size(site, pages);
        }
        self.record_collection_size(collection);
        Ok(())
    }

    /// Records the size of the collection.
    pub(crate) fn record_collection_size(&mut self, collection: &Collection) {
        let known = collection.urls.reader();
        self.sites = known.sites();
        self.is_full = u64::from(known.pages()) >= self.limits.pages;
    }

    /// Records the number of known pages of a site.
    pub(crate) fn record_site_size(&mut self, site: SiteId, pages_known: u32) {
        if u64::from(pages_known) >= self.limits.pages_per_site {
            self.full_sites.insert(site);
        }
        if self.pages_known.len() <= site.index() {
            self.pages_known.resize(site.index() + 1, 0);
        }
        self.pages_known[site.index()] = pages_known;
    }

    /// Number of known pages of a site.
    pub(crate) fn pages_known(&self, site: SiteId) -> u32 {
        self.pages_known.get(site.index()).copied().unwrap_or(0)
    }

    /// Whether a page may be added to a site; `None` is a new site.
    pub(crate) fn admits(&self, site: Option<SiteId>) -> bool {
        match site {
            Some(site) => !self.is_full && !self.full_sites.contains(&site),
            None => !self.is_full && u64::from(self.sites) < self.limits.sites,
        }
    }

    /// Reason why no page may be added to a site; `None` is a new site.
    pub(crate) fn rejection_reason(&self, site: Option<SiteId>) -> Reason {
        if self.is_full || site.is_none() { Reason::CollectionLimit } else { Reason::SitePageLimit }
    }

    /// Whether no limit is reached, so that single checks can be skipped.
    pub(crate) fn admits_all(&self) -> bool {
        !self.is_full && self.full_sites.is_empty() && u64::from(self.sites) < self.limits.sites
    }

    /// Record of a discovered page. `site_pages` is the number of known pages of its site including this one: a batch may
    /// discover more than the limit of the site allows.
    pub(crate) fn new_page_record(
        &self,
        site: SiteId,
        site_pages: u32,
        depth: u8,
        redirects: u8,
        dynamic: bool,
    ) -> PageRecord {
        let flags = if dynamic { PageFlags::DYNAMIC } else { PageFlags::default() };
        let mut record = PageRecord::new(site, depth, flags.with_redirects(redirects));
        let result = if redirects > self.limits.redirects {
            Err(Reason::TooManyRedirects)
        } else if u64::from(site_pages) > self.limits.pages_per_site {
            Err(Reason::SitePageLimit)
        } else {
            self.check_depth(&record)
        };
        if let Err(reason) = result {
            (record.stage, record.reason) = (PageStage::Rejected, Some(reason));
        }
        record
    }

    /// Applies the page budgets of URL groups to a new page that is linked from a page of the same site, or from elsewhere (`None`).
    pub(crate) fn apply_template_budget(
        &self,
        record: &mut PageRecord,
        url: &str,
        source: Option<UrlGroups>,
    ) {
        let mut templates = self.templates.borrow_mut();
        if templates.is_enabled()
            && record.stage == PageStage::Discovered
            && !templates.admit(record.site, UrlGroups::of_url(url), source)
        {
            (record.stage, record.reason) = (PageStage::Rejected, Some(Reason::TemplateBudget));
        }
    }

    /// Applies further links to a page: they may be evidence for its URL groups, and admit the page itself.
    pub(crate) fn apply_support(&self, record: &mut PageRecord, support: LinkSupport) {
        let mut templates = self.templates.borrow_mut();
        if !templates.is_enabled() {
            return;
        }
        if support.outside != 0 || support.is_second {
            templates.add_link(record.site, support.groups, support.outside, support.is_second);
        }
        let is_waiting = record.stage == PageStage::Rejected && record.reason == Some(Reason::TemplateBudget);
        if is_waiting && templates.take(record.site, support.groups, support.outside) {
            (record.stage, record.reason) = (PageStage::Discovered, None);
        }
    }

    /// Applies a shorter path to a page, which may bring it within the maximum depth.
    pub(crate) fn relax_depth(&self, record: &mut PageRecord, depth: u8) {
        if depth < record.depth {
            record.depth = depth;
            let too_deep = record.stage == PageStage::Rejected && record.reason == Some(Reason::TooDeep);
            if too_deep && self.check_depth(record).is_ok() {
                (record.stage, record.reason) = (PageStage::Discovered, None);
            }
        }
    }

    fn check_depth(&self, record: &PageRecord) -> std::result::Result<(), Reason> {
        let dynamic = record.flags.has(PageFlags::DYNAMIC);
        self.limits.check_depth(if dynamic { UrlClass::Dynamic } else { UrlClass::Static }, record.depth)
    }

    /// Updates the estimated change rate, after a fetch that could be compared with the one before.
    pub(crate) fn update_change_rate(&mut self, record: &mut PageRecord) {
        let before = record.changes_per_day;
        record.changes_per_day = visit::changes_per_day(record, self.change_priors.for_site(record.site));
        self.change_priors.update(record.site, before, record.changes_per_day);
    }

    /// Accepts what was received of a page whose transfer breaks off each time, unless a longer version is stored. Some servers
    /// always announce a wrong length.
    pub(crate) fn accept_incomplete(&self, record: &PageRecord, page: &mut GatheredPage) {
        let is_last_attempt =
            u16::from(record.consecutive_failures).saturating_add(1) >= self.retry.max_page_failures;
        let is_longest = page.content_bytes >= u64::from(record.content_bytes);
        if page.outcome == FetchOutcome::Incomplete
            && page.document.is_some()
            && is_last_attempt
            && is_longest
        {
            page.outcome = FetchOutcome::Success;
        }
    }

    /// Records the reason of a failed or truncated fetch, and the earliest time of the next one. The record counts the fetch
    /// already.
    pub(crate) fn record_visit(&self, record: &mut PageRecord, page: &GatheredPage, now_s: u32) {
        let event = match page.failure {
            Some(reason) if matches!(page.outcome, FetchOutcome::NoResponse | FetchOutcome::Incomplete) => {
                FetchEvent::NoResponse(reason)
            }
            Some(Reason::UnexpectedNotModified) => FetchEvent::ServerError,
            _ => FetchEvent::from_status(page.status, None),
        };
        let mut failures = u16::from(record.consecutive_failures.saturating_sub(1));
        if matches!(event, FetchEvent::Throttled { .. }) {
            // Throttling concerns the site more than the page, so it counts less.
            failures /= 4;
        }
        let decision = self.retry.decide(event, 0, failures, random());
        let (reason, delay_s) = match decision.page {
            PageDecision::Done => (page.failure.or(truncation_reason(page)), self.revisits.success_s),
            PageDecision::Retry { delay_ms } => {
                let reason = page.failure.or(reason_of(event));
                (reason, u32::try_from(delay_ms.div_ceil(1_000)).unwrap_or(u32::MAX))
            }
            PageDecision::GiveUp(reason) if event == FetchEvent::ClientError => {
                (Some(reason), self.revisits.client_error_s)
            }
            PageDecision::GiveUp(reason) => (Some(reason), self.revisits.failure_s),
        };
        record.reason = reason;
        record.earliest_visit_s = now_s.saturating_add(delay_s);
    }
}

/// Reason why the content of a page is cut, if a limit on its size was reached.
fn truncation_reason(page: &GatheredPage) -> Option<Reason> {
    (page.truncated == Some(Truncation::Length)).then_some(Reason::BodyTruncated)
}

fn reason_of(event: FetchEvent) -> Option<Reason> {
    match event {
        FetchEvent::Throttled { .. } => Some(Reason::RetryLater),
        FetchEvent::ServerError => Some(Reason::ServerError),
        _ => None,
    }
}

/// Prior change rates, from the estimates of all pages.
fn change_priors(pages: &PageStateReader) -> Result<ChangePriors> {
    let columns = [PageColumn::Site, PageColumn::ChangeRate];
    let parts = pages.scan(&columns, |priors: &mut ChangePriors, row| {
        priors.update(row.site, 0.0, row.changes_per_day);
    })?;
    let mut priors = ChangePriors::default();
    parts.into_iter().for_each(|part| priors.merge(&part));
    Ok(priors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_collection::{NOON_S, TestCollection, response};

    const SITE: SiteId = SiteId(0);

    fn policy(limits: Limits) -> PagePolicy {
        PagePolicy::new(&CrawlSettings { limits, ..CrawlSettings::default() })
    }

    #[test]
    fn a_full_site_and_a_full_collection_accept_no_new_pages() {
        let test =
            TestCollection::contacted(&["http://a.example/", "http://a.example/1", "http://b.example/"]);
        let admitted = |limits: Limits| {
            let mut policy = policy(limits);
            policy.load_counts(&test.collection).unwrap();
            let sites =
                [Some(test.site_id("http://a.example")), Some(test.site_id("http://b.example")), None];
            sites.map(|site| policy.admits(site).then_some(()).ok_or(policy.rejection_reason(site)))
        };
        assert_eq!(admitted(Limits::default()), [Ok(()); 3]);
        let full_site = Limits { pages_per_site: 2, ..Limits::default() };
        assert_eq!(admitted(full_site), [Err(Reason::SitePageLimit), Ok(()), Ok(())]);
        let no_new_sites = Limits { sites: 2, ..Limits::default() };
        assert_eq!(admitted(no_new_sites), [Ok(()), Ok(()), Err(Reason::CollectionLimit)]);
        let full = Limits { pages: 3, ..Limits::default() };
        assert_eq!(admitted(full), [Err(Reason::CollectionLimit); 3]);
    }

    #[test]
    fn a_shorter_path_brings_a_page_within_the_maximum_depth() {
        let policy = policy(Limits { depth_static: 3, depth_dynamic: 2, ..Limits::default() });
        for (dynamic, max_depth) in [(false, 3), (true, 2)] {
            let mut record = policy.new_page_record(SITE, 1, 5, 0, dynamic);
            assert_eq!((record.stage, record.reason), (PageStage::Rejected, Some(Reason::TooDeep)));
            policy.relax_depth(&mut record, max_depth + 1);
            assert_eq!((record.stage, record.depth), (PageStage::Rejected, max_depth + 1));
            policy.relax_depth(&mut record, max_depth);
            assert_eq!((record.stage, record.reason), (PageStage::Discovered, None));
            policy.relax_depth(&mut record, 9);
            assert_eq!(record.depth, max_depth, "a longer path changes nothing");
        }
        // A shorter path is no remedy for another reason.
        let mut record = policy.new_page_record(SITE, 1, 1, 9, false);
        policy.relax_depth(&mut record, 0);
        assert_eq!((record.stage, record.reason), (PageStage::Rejected, Some(Reason::TooManyRedirects)));
    }

    #[test]
    fn what_was_received_is_accepted_at_the_last_attempt_unless_a_longer_version_is_stored() {
        let policy = policy(Limits::default());
        let outcome_after = |consecutive_failures, stored_bytes| {
            let mut record = PageRecord::new(SITE, 0, PageFlags::default());
            (record.consecutive_failures, record.content_bytes) = (consecutive_failures, stored_bytes);
            let mut page = response("http://a.example/", 200, "", "<p>half of a pa");
            (page.outcome, page.failure) = (FetchOutcome::Incomplete, Some(Reason::ConnectionClosed));
            policy.accept_incomplete(&record, &mut page);
            page.outcome
        };
        assert_eq!([0, 1].map(|failures| outcome_after(failures, 0)), [FetchOutcome::Incomplete; 2]);
        assert_eq!(outcome_after(2, 0), FetchOutcome::Success);
        assert_eq!(
            [15, 16].map(|bytes| outcome_after(2, bytes)),
            [FetchOutcome::Success, FetchOutcome::Incomplete]
        );
    }

    #[test]
    fn a_server_error_is_retried_soon_and_given_up_after_the_last_retry() {
        let policy = policy(Limits::default());
        let wait_s = |consecutive_failures| {
            let mut record = PageRecord::new(SITE, 0, PageFlags::default());
            record.consecutive_failures = consecutive_failures;
            policy.record_visit(&mut record, &response("http://a.example/", 503, "", ""), NOON_S);
            assert!(record.reason.is_some());
            record.earliest_visit_s - NOON_S
        };
        assert!((1..policy.revisits.failure_s).contains(&wait_s(1)), "{}", wait_s(1));
        assert_eq!(wait_s(200), policy.revisits.failure_s);
    }
}
