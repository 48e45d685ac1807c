//! The manager: selects the pages to fetch next.
//!
//! It scans all sites, then all pages, and creates a batch of the pages with the highest [priority], with a limit per site.
//! A site in an open batch is excluded until it is finished, so that its cooldown is kept in one place. Of a site that was never
//! contacted only the front page is selected first: aliases and robots.txt are known before its other pages are fetched.
//!
//! It reads records and marks pages as queued; it never fetches anything.

mod aliases;
mod batch_builder;
pub(crate) mod budgets;
pub(crate) mod day_budget;
pub(crate) mod domain_budget;
mod due;
mod front_page;
pub(crate) mod page_check;
pub(crate) mod page_ranks;
pub(crate) mod poll_times;
mod polls;
pub(crate) mod priority;
pub(crate) mod refetch;
pub(crate) mod revisit;
mod selection;
mod site_eligibility;
pub(crate) mod site_url;
pub(crate) mod validators;

use std::collections::BTreeSet;

use harvest::control::budgets::Budgets;
use harvest::item::batch::Batch;
use harvest::settings::clock::seconds;
use harvest::settings::crawl_settings::CrawlSettings;
use model::{PageId, Reason, SiteId};
use store::{Collection, LinkLogReader, PageFlags, PageStage, ScanRow};

use crate::claims::open_batches::OpenBatches;
use crate::error::Error;
use crate::manager::page_ranks::PageRanks;
use crate::manager::priority::{FactSource, FactSurvey, PriorityScorer, SiteFacts};
use crate::state::crawl_state::CrawlState;
use crate::state::robots_redirects;
use aliases::{mark_aliases, move_alias_pages};
use batch_builder::build_batch;
use day_budget::DayBudget;
use domain_budget::DomainRooms;
pub(crate) use due::DueTime;
use due::{EarliestDue, due_time};
use front_page::front_pages;
use selection::{BatchLimits, Candidates, select};
use site_eligibility::{AllowedPages, SiteEligibility, evaluate_sites};

/// Creates batches.
#[derive(Debug, Default)]
pub(crate) struct Manager {
    /// Id of the last batch.
    pub(crate) last_batch: u64,
    pub(crate) open: OpenBatches,
    /// Survey of the last scan, used by the next one, so that most batches need one scan.
    survey: Option<FactSurvey>,
    ranks: PageRanks,
    /// Time at which the next page is due or the next day begins, in Unix milliseconds.
    pub(crate) next_scan_ms: u64,
    /// Pages in open batches after the last scan; 0 without a daily limit.
    pub(crate) open_pages: u64,
    /// Number of sites at their daily limit, and of sites at their domain budget, at the last scan.
    sites_over_budget: (u64, u64),
}

impl Manager {
    /// Budgets of the settings, and their use.
    pub(crate) fn budgets(&self, state: &CrawlState, settings: &CrawlSettings, now_ms: u64) -> Budgets {
        let (sites_at_daily_limit, sites_at_domain_budget) = self.sites_over_budget;
        Budgets {
            sites_at_daily_limit,
            sites_at_domain_budget,
            ..day_budget::daily_budgets(state, settings, now_ms)
        }
    }

    /// Loads the ranks with a weight in the settings.
    pub(crate) fn load_ranks(
        &mut self,
        collection: &Collection,
        settings: &CrawlSettings,
    ) -> Result<(), Error> {
        self.ranks.read(collection.dir(), settings)
    }

    /// Creates a batch of the best due pages and marks them as queued; `None` if no page is due.
    pub(crate) fn next_batch(
        &mut self,
        collection: &mut Collection,
        settings: &CrawlSettings,
        now_ms: u64,
    ) -> Result<Option<Batch>, Error> {
        self.load_ranks(collection, settings)?;
        let changed_robots =
            CrawlState::update(collection, |state| std::mem::take(&mut state.changed_robots))?;
        release_disallowed(collection, &changed_robots)?;
        mark_aliases(collection)?;
        move_alias_pages(collection, settings, seconds(now_ms))?;
        // Pages that the current settings reject are detected only when they are selected; then select again.
        loop {
            let (batch, rejected) = self.select_pages(collection, settings, now_ms)?;
            if !batch.sites.is_empty() || rejected == 0 {
                self.open.add(&batch, now_ms);
                return Ok(Some(batch).filter(|batch| !batch.sites.is_empty()));
            }
        }
    }

    /// Selects the best pages; also returns how many of them the settings reject.
    fn select_pages(
        &mut self,
        collection: &mut Collection,
        settings: &CrawlSettings,
        now_ms: u64,
    ) -> Result<(Batch, usize), Error> {
        let state = CrawlState::load(collection)?;
        let (pages, sites) = (collection.page_state.reader(), collection.site_state.reader());
        let day = DayBudget::load(&state, pages, sites, settings, now_ms)?;
        self.next_scan_ms = day.end_ms();
        let max_pages = settings.max_batch_pages.min(day.remaining().unwrap_or(usize::MAX));
        let (mut eligibilities, mut domains) = self.site_eligibility(collection, settings, &day, now_ms)?;
        let mut selected =
            front_pages(collection, settings, &mut eligibilities, &mut domains, max_pages, now_ms)?;
        let limits = BatchLimits {
            pages: max_pages.saturating_sub(selected.len()),
            reserved: reserved_pages(settings, max_pages).saturating_sub(selected.len()),
            per_site: settings.max_batch_pages_per_site,
        };
        if limits.pages > 0 {
            let candidates = self.best_candidates(collection, settings, &eligibilities, &day, now_ms)?;
            selected.extend(select(candidates, limits, |site| day.remaining_for_site(site), &mut domains));
        }
        let max_polls = max_pages.saturating_sub(selected.len());
        let polled = polls::due_sites(&eligibilities, &day, now_ms, max_polls);
        let next_poll_ms = polls::next_poll(&eligibilities, now_ms).map_or(u64::MAX, |due| due.time_ms);
        self.next_scan_ms = self.next_scan_ms.min(next_poll_ms);
        let (batch, rejected) =
            build_batch(collection, settings, self.last_batch + 1, &selected, &polled, now_ms)?;
        self.last_batch += u64::from(!batch.sites.is_empty());
        self.open_pages = day.open_pages() + batch.pages() as u64;
        Ok((batch, rejected))
    }

    /// Best candidates of each kind: discovered, fetched, failed.
    fn best_candidates(
        &mut self,
        collection: &Collection,
        settings: &CrawlSettings,
        eligibilities: &[SiteEligibility],
        day: &DayBudget,
        now_ms: u64,
    ) -> Result<Candidates, Error> {
        let pages = collection.page_state.reader();
        let links = LinkLogReader::open(collection.dir(), collection.manifest()?)?;
        let fetched = eligibilities.iter().map(|eligibility| u64::from(eligibility.fetched)).sum();
        self.ranks.refresh(collection.dir(), &links, settings, pages.pages(), fetched)?;
        let sites: Vec<SiteFacts> = eligibilities.iter().map(|eligibility| eligibility.facts).collect();
        let facts = FactSource { sites: &sites, ranks: &self.ranks };
        let survey = match self.survey.take().filter(|survey| survey.is_valid_for(pages.pages())) {
            Some(survey) => survey,
            None => facts.survey(pages)?,
        };
        let now_s = seconds(now_ms);
        let scorer = PriorityScorer::new(facts, &survey, settings, now_s);
        let score = |(survey, earliest): &mut (FactSurvey, EarliestDue), row: &ScanRow| {
            let page = facts.page_facts(row);
            survey.observe(row, &page);
            let eligibility = eligibilities.get(row.site.index())?;
            if eligibility.open
                || eligibility.allowed == AllowedPages::FrontPageOnly
                || !eligibility.allowed.allows(row)
            {
                return None;
            }
            let list = candidate_list(row)?;
            let due = due_time(settings, eligibility, day, row);
            earliest.observe(due, now_ms);
            let is_due = due.time_ms <= now_ms;
            is_due.then(|| (list, requested_first(row, scorer.priority(row, &page))))
        };
        let (lists, parts) =
            pages.top_k_lists(3, settings.max_batch_pages, settings.max_batch_pages_per_site, score)?;
        let (surveys, earliest): (Vec<FactSurvey>, Vec<EarliestDue>) = parts.into_iter().unzip();
        self.survey = Some(FactSurvey::merge(surveys));
        let earliest = EarliestDue::merge(earliest).map(|due| due.time_ms);
        self.next_scan_ms = earliest.map_or(day.end_ms(), |due_ms| due_ms.min(day.end_ms()));
        let mut lists = lists.into_iter();
        let mut next = || lists.next().unwrap_or_default();
        Ok(Candidates { discovered: next(), fetched: next(), failed: next() })
    }

    /// Whether a page that was never fetched, or whose last fetch failed, is due.
    pub(crate) fn has_due_pages(
        &self,
        collection: &Collection,
        settings: &CrawlSettings,
        now_ms: u64,
    ) -> Result<bool, Error> {
        let (eligibilities, _) = evaluate_sites(collection, settings)?;
        let state = CrawlState::load(collection)?;
        let (pages, sites) = (collection.page_state.reader(), collection.site_state.reader());
        let day = DayBudget::load(&state, pages, sites, settings, now_ms)?;
        let is_due = |row: &ScanRow| {
            let eligibility =
                eligibilities.get(row.site.index()).filter(|of_site| of_site.allowed.allows(row));
            matches!(row.stage, PageStage::Discovered | PageStage::Failed)
                && eligibility.is_some_and(|of_site| due_time(settings, of_site, &day, row).time_ms <= now_ms)
        };
        let parts =
            pages.scan(&store::PageColumn::ALL, |found: &mut bool, row| *found = *found || is_due(row))?;
        Ok(parts.contains(&true))
    }

    /// Time after `after_ms` at which the next page is due: a discovered or failed one; with `revisits` also a fetched one, or a
    /// poll.
    pub(crate) fn next_due(
        &self,
        collection: &Collection,
        settings: &CrawlSettings,
        revisits: bool,
        after_ms: u64,
    ) -> Result<Option<DueTime>, Error> {
        let (eligibilities, _) = evaluate_sites(collection, settings)?;
        let state = CrawlState::load(collection)?;
        let (pages, sites) = (collection.page_state.reader(), collection.site_state.reader());
        let day = DayBudget::load(&state, pages, sites, settings, after_ms)?;
        let observe = |earliest: &mut EarliestDue, row: &ScanRow| {
            let Some(eligibility) = eligibilities.get(row.site.index()) else { return };
            let revisits = revisits || row.flags.has(PageFlags::REFETCH);
            let is_candidate = candidate_list(row).is_some() && (revisits || row.stage != PageStage::Fetched);
            if is_candidate && eligibility.allowed.allows(row) {
                earliest.observe(due_time(settings, eligibility, &day, row), after_ms);
            }
        };
        let parts = collection.page_state.reader().scan(&store::PageColumn::ALL, observe)?;
        let poll = polls::next_poll(&eligibilities, after_ms).filter(|_| revisits);
        Ok(EarliestDue::merge(parts).into_iter().chain(poll).min_by_key(|due| due.time_ms))
    }

    /// Pages that may be selected from each site now.
    fn site_eligibility(
        &mut self,
        collection: &mut Collection,
        settings: &CrawlSettings,
        day: &DayBudget,
        now_ms: u64,
    ) -> Result<(Vec<SiteEligibility>, DomainRooms), Error> {
        let (mut eligibilities, domains) = evaluate_sites(collection, settings)?;
        let over_budget = eligibilities.iter().filter(|eligibility| eligibility.over_budget).count();
        self.sites_over_budget = (day.sites_at_limit(), over_budget as u64);
        for (site, name) in robots_redirects::all(&CrawlState::load(collection)?) {
            if let Some(eligibility) = eligibilities.get_mut(site.index())
                && self.open.claims.is_host_claimed(name)
            {
                eligibility.open = true;
            }
        }
        for (number, eligibility) in eligibilities.iter_mut().enumerate() {
            let site = SiteId(number as u32);
            let is_claimed =
                || eligibility.address.is_some_and(|address| self.open.claims.is_claimed(address.into()));
            eligibility.open = eligibility.open || self.open.contains(site) || is_claimed();
            let is_blocked = eligibility.open
                || eligibility.back_off_until_ms > now_ms
                || day.remaining_for_site(site) == Some(0);
            if eligibility.allowed == AllowedPages::FrontPageOnly && is_blocked {
                // Not selectable now; the due time of its pages is computed from their records.
                eligibility.allowed = AllowedPages::All;
            }
        }
        Ok((eligibilities, domains))
    }
}

/// Index of the candidate list of a page, in the order of [`Candidates`]; `None` if it is not selected.
fn candidate_list(row: &ScanRow) -> Option<usize> {
    match row.stage {
        PageStage::Discovered => Some(0),
        // The settings exclude it, but its content is kept.
        PageStage::Fetched if row.reason.is_some_and(Reason::excludes) => None,
        PageStage::Fetched => Some(1),
        PageStage::Failed => Some(2),
        PageStage::Queued | PageStage::Rejected => None,
    }
}

/// Priority of a page; a fetch that the user has requested comes before all others.
fn requested_first(row: &ScanRow, priority: f32) -> f32 {
    if row.flags.has(PageFlags::REFETCH) { f32::MAX } else { priority }
}

/// Number of places in a batch that are reserved for pages never fetched.
fn reserved_pages(settings: &CrawlSettings, pages: usize) -> usize {
    (f64::from(settings.min_discovery_share) * pages as f64).ceil() as usize
}

/// Moves pages that the old robots.txt disallowed back to the stage discovered.
fn release_disallowed(collection: &mut Collection, sites: &BTreeSet<SiteId>) -> store::Result<()> {
    if sites.is_empty() {
        return Ok(());
    }
    let columns = [store::PageColumn::Site, store::PageColumn::StageAndFlags];
    let parts = collection.page_state.reader().scan(&columns, |pages: &mut Vec<PageId>, row| {
        if row.reason == Some(Reason::RobotsDisallowed) && sites.contains(&row.site) {
            pages.push(row.page);
        }
    })?;
    let mut pages = parts.concat();
    pages.sort_unstable();
    collection
        .page_state
        .update(&pages, |_, record| (record.stage, record.reason) = (PageStage::Discovered, None))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::state::day_counter::DAY_MS;
    use crate::test_collection::{MIDNIGHT_MS, NOON_MS, NOON_S, TestCollection, batch_urls};

    const FRONT: &str = "http://a.example/";
    const ONE: &str = "http://a.example/1";
    const TWO: &str = "http://a.example/2";
    const OTHER: &str = "http://b.example/";

    /// URLs of the next batch; empty if no page is due.
    fn next_urls(
        manager: &mut Manager,
        test: &mut TestCollection,
        settings: &CrawlSettings,
        now_ms: u64,
    ) -> Vec<String> {
        let batch = manager.next_batch(&mut test.collection, settings, now_ms).unwrap().unwrap_or_default();
        batch_urls(&batch).into_iter().map(str::to_owned).collect()
    }

    /// Fetches all queued pages.
    fn finish_requests(test: &mut TestCollection, now_ms: u64) {
        let pages: Vec<PageId> = (0..test.collection.page_state.reader().pages()).map(PageId).collect();
        let records = test.collection.page_state.reader().get_many(&pages).unwrap();
        let is_queued = |page: &PageId| records[page.index()].stage == PageStage::Queued;
        let queued: Vec<PageId> = pages.into_iter().filter(is_queued).collect();
        let fetched = |_: usize, page: &mut store::PageRecord| {
            (page.stage, page.status, page.fetch_count) = (PageStage::Fetched, 200, 1);
            (page.last_visit_s, page.content_hash) = (seconds(now_ms), 1);
        };
        test.collection.page_state.update(&queued, fetched).unwrap();
        let sites: Vec<SiteId> = (0..test.collection.site_state.reader().sites()).map(SiteId).collect();
        test.collection.site_state.update(&sites, |_, site| site.pages_queued = 0).unwrap();
        CrawlState::update(&mut test.collection, |state| {
            state.day_counter.count(now_ms, queued.len() as u64);
        })
        .unwrap();
    }

    #[test]
    fn the_budget_of_a_domain_holds_within_a_batch_and_across_open_ones() {
        let urls: Vec<String> = (0..30)
            .flat_map(|site| {
                [format!("http://s{site}.example.com/"), format!("http://s{site}.example.com/x")]
            })
            .chain(["http://example.org/1".to_owned()])
            .collect();
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        let mut settings = CrawlSettings::default();
        settings.limits.domain.base_pages = 10;
        for collection in [TestCollection::new, TestCollection::contacted] {
            let (mut test, mut manager) = (collection(&urls), Manager::default());
            let in_domain = |urls: Vec<String>| urls.iter().filter(|url| url.contains("example.com")).count();
            assert_eq!(in_domain(next_urls(&mut manager, &mut test, &settings, NOON_MS)), 10);
            assert_eq!(in_domain(next_urls(&mut manager, &mut test, &settings, NOON_MS)), 0);
        }
    }

    #[test]
    fn the_first_batch_of_a_site_has_only_its_front_page() {
        let (mut test, mut manager) = (TestCollection::new(&[ONE, TWO, OTHER]), Manager::default());
        let settings = CrawlSettings::default();
        // The front page of the first site was not known before.
        assert_eq!(next_urls(&mut manager, &mut test, &settings, NOON_MS), [FRONT, OTHER]);
        assert_eq!(test.site("http://a.example").pages_known, 3);
        // It was fetched, and the others follow.
        test.update_page(FRONT, |page| (page.stage, page.last_visit_s) = (PageStage::Fetched, NOON_S));
        test.update_site("http://a.example", |site| (site.resolved_s, site.last_seen_s) = (NOON_S, NOON_S));
        manager.open.close(test.site_id("http://a.example"));
        assert_eq!(next_urls(&mut manager, &mut test, &settings, NOON_MS + 1), [ONE, TWO]);
    }

    #[test]
    fn a_site_in_back_off_gets_no_pages_until_its_end() {
        for urls in [TestCollection::new, TestCollection::contacted] {
            let (mut test, mut manager) = (urls(&[FRONT]), Manager::default());
            let (settings, until_ms) = (CrawlSettings::default(), NOON_MS + 60_000);
            test.update_site("http://a.example", |site| site.back_off_until_ms = until_ms);
            assert!(next_urls(&mut manager, &mut test, &settings, NOON_MS).is_empty());
            assert_eq!(manager.next_scan_ms, until_ms);
            assert_eq!(next_urls(&mut manager, &mut test, &settings, until_ms), [FRONT]);
        }
    }

    #[test]
    fn a_site_is_in_one_open_batch_at_a_time() {
        let (mut test, mut manager) = (TestCollection::contacted(&[ONE, TWO]), Manager::default());
        let settings = CrawlSettings { max_batch_pages_per_site: 1, ..CrawlSettings::default() };
        let first = next_urls(&mut manager, &mut test, &settings, NOON_MS);
        assert_eq!(first.len(), 1);
        assert!(next_urls(&mut manager, &mut test, &settings, NOON_MS).is_empty());
        manager.open.close(test.site_id("http://a.example"));
        let second = next_urls(&mut manager, &mut test, &settings, NOON_MS);
        assert!(second.len() == 1 && second != first, "{first:?} {second:?}");
        assert_eq!(manager.last_batch, 2);
    }

    #[test]
    fn the_daily_budget_limits_batches_until_midnight() {
        let urls = [ONE, TWO, "http://a.example/3", OTHER];
        let (mut test, mut manager) = (TestCollection::contacted(&urls), Manager::default());
        let settings = CrawlSettings { max_requests_per_day: 3, ..CrawlSettings::default() };
        assert_eq!(next_urls(&mut manager, &mut test, &settings, NOON_MS).len(), 3);
        for site in ["http://a.example", "http://b.example"] {
            manager.open.close(test.site_id(site));
        }
        assert!(next_urls(&mut manager, &mut test, &settings, NOON_MS).is_empty());
        assert_eq!(manager.next_scan_ms, MIDNIGHT_MS + DAY_MS);
        let due = manager.next_due(&test.collection, &settings, false, NOON_MS).unwrap();
        assert_eq!(due, Some(DueTime { time_ms: MIDNIGHT_MS + DAY_MS, by_budget: true }));
        // Nothing was requested yet; then all three are.
        let requests_today = |test: &TestCollection| {
            let state = CrawlState::load(&test.collection).unwrap();
            manager.budgets(&state, &settings, NOON_MS).requests_today
        };
        assert_eq!(requests_today(&test), 0);
        finish_requests(&mut test, NOON_MS);
        assert_eq!(requests_today(&test), 3);
        assert!(next_urls(&mut manager, &mut test, &settings, NOON_MS).is_empty());
        assert_eq!(next_urls(&mut manager, &mut test, &settings, MIDNIGHT_MS + DAY_MS).len(), 1);
    }

    #[test]
    fn the_daily_budget_also_limits_front_pages_of_new_sites() {
        let (mut test, mut manager) = (TestCollection::new(&[FRONT, OTHER]), Manager::default());
        let settings = CrawlSettings { max_requests_per_day: 1, ..CrawlSettings::default() };
        assert_eq!(next_urls(&mut manager, &mut test, &settings, NOON_MS).len(), 1);
        assert!(next_urls(&mut manager, &mut test, &settings, NOON_MS).is_empty());
        finish_requests(&mut test, NOON_MS);
        assert!(next_urls(&mut manager, &mut test, &settings, NOON_MS).is_empty());
        assert_eq!(next_urls(&mut manager, &mut test, &settings, NOON_MS + DAY_MS).len(), 1);
    }

    #[test]
    fn a_page_that_returns_without_a_request_frees_its_part_of_the_daily_budget() {
        let (mut test, mut manager) = (TestCollection::contacted(&[ONE, OTHER]), Manager::default());
        let settings = CrawlSettings { max_requests_per_day: 1, ..CrawlSettings::default() };
        let first = next_urls(&mut manager, &mut test, &settings, NOON_MS);
        assert!(next_urls(&mut manager, &mut test, &settings, NOON_MS).is_empty());
        crate::state::stages::requeue_unowned(&mut test.collection, &HashSet::new()).unwrap();
        let second = next_urls(&mut manager, &mut test, &settings, NOON_MS);
        assert!(second.len() == 1 && second != first, "{first:?} {second:?}");
    }

    #[test]
    fn a_site_gets_no_more_pages_than_its_daily_budget() {
        let (mut test, mut manager) = (TestCollection::contacted(&[ONE, TWO, OTHER]), Manager::default());
        let settings = CrawlSettings { max_requests_per_site_per_day: 1, ..CrawlSettings::default() };
        let urls = next_urls(&mut manager, &mut test, &settings, NOON_MS);
        assert!(urls.len() == 2 && urls[1] == OTHER, "{urls:?}");
        manager.open.close(test.site_id("http://a.example"));
        assert!(next_urls(&mut manager, &mut test, &settings, NOON_MS).is_empty());
        let state = CrawlState::load(&test.collection).unwrap();
        assert_eq!(manager.budgets(&state, &settings, NOON_MS).sites_at_daily_limit, 2);
    }

    #[test]
    fn pages_of_an_alias_are_fetched_from_the_site_that_it_stands_for() {
        let (mut test, mut manager) = (TestCollection::contacted(&[ONE, OTHER]), Manager::default());
        for name in ["http://a.example", "http://b.example"] {
            test.update_site(name, |site| {
                site.address = Some([192, 0, 2, 1].into());
                (site.robots_fetched_s, site.front_page_hash) = (NOON_S, 7);
            });
        }
        let urls = next_urls(&mut manager, &mut test, &CrawlSettings::default(), NOON_MS);
        let original = test.site_id("http://a.example").min(test.site_id("http://b.example"));
        assert_eq!(urls.iter().map(|url| test.page(url).site).collect::<Vec<_>>(), [original, original]);
    }

    #[test]
    fn a_fetched_page_is_selected_again_after_the_revisit_interval() {
        let (mut test, mut manager) = (TestCollection::contacted(&[ONE]), Manager::default());
        test.update_page(ONE, |page| {
            (page.stage, page.status, page.fetch_count) = (PageStage::Fetched, 200, 1);
            (page.last_visit_s, page.content_hash) = (NOON_S, 1);
        });
        let settings = CrawlSettings::default();
        let due_ms = NOON_MS + u64::from(settings.revisits.success_s) * 1_000;
        assert!(next_urls(&mut manager, &mut test, &settings, due_ms - 1).is_empty());
        let due = |revisits| manager.next_due(&test.collection, &settings, revisits, NOON_MS).unwrap();
        assert_eq!(due(true), Some(DueTime { time_ms: due_ms, by_budget: false }));
        assert_eq!(due(false), None, "only a continuous crawl waits for revisits");
        assert_eq!(next_urls(&mut manager, &mut test, &settings, due_ms), [ONE]);
        test.update_page(ONE, |page| {
            (page.stage, page.flags) = (PageStage::Fetched, page.flags.with(PageFlags::REPORTED_STALE));
        });
        manager.open.close(test.site_id("http://a.example"));
        let next_day = next_urls(&mut manager, &mut test, &settings, NOON_MS + DAY_MS);
        assert_eq!(next_day, [ONE], "a page that its sitemap reports as changed waits at most a day");
    }

    #[test]
    fn pages_that_robots_txt_disallowed_are_selected_again_when_it_has_changed() {
        let (mut test, mut manager) = (TestCollection::contacted(&[ONE, TWO, OTHER]), Manager::default());
        for (url, reason) in
            [(ONE, Reason::RobotsDisallowed), (TWO, Reason::TooDeep), (OTHER, Reason::RobotsDisallowed)]
        {
            test.update_page(url, |page| (page.stage, page.reason) = (PageStage::Rejected, Some(reason)));
        }
        let settings = CrawlSettings::default();
        assert!(next_urls(&mut manager, &mut test, &settings, NOON_MS).is_empty());
        let changed = test.site_id("http://a.example");
        CrawlState::update(&mut test.collection, |state| state.changed_robots.insert(changed)).unwrap();
        assert_eq!(next_urls(&mut manager, &mut test, &settings, NOON_MS), [ONE]);
    }
}
