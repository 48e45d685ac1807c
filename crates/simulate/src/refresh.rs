//! Simulation of revisits: the freshness that a strategy achieves with a given number of requests.
//!
//! Pages change as Poisson processes. Every few hours the due pages with the highest gain are selected, as many as the
//! budget allows, and fetched politely. A fetch shows whether a page has changed since the last one, and when it
//! changed last if its server states that; from this [`ChangeHistory`] and [`ChangePriors`] estimate rates as in a
//! crawl. After a learning period, freshness and age are measured.

use frontier::{
    ChangeHistory, ChangePriors, Objective, Politeness, PriorityModel, RefreshTarget, mean_freshness,
    optimal_refreshes,
};
use model::{PageId, SiteId};
use store::TopK;

use crate::changes::ChangeProcess;
use crate::fetch_simulation::FetchSimulation;
use crate::random::KeyedRandom;
use crate::web_model::{WebModel, WebPage};

/// Parameters of the simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct RefreshParams {
    /// Delays between requests.
    pub politeness: Politeness,
    /// Maximum number of requests in flight.
    pub max_connections: usize,
    /// Requests per change of a page.
    pub requests_per_change: f64,
    /// Minimum time between two fetches of a page.
    pub min_interval_days: f64,
    /// Learning period.
    pub learning_days: f64,
    /// Measured period.
    pub measured_days: f64,
    /// Maximum number of pages, a random sample of those with content.
    pub max_pages: usize,
    /// Random seed.
    pub seed: u64,
}

impl Default for RefreshParams {
    /// One request per five changes; a year to learn, a year to measure.
    fn default() -> RefreshParams {
        RefreshParams {
            politeness: Politeness::default(),
            max_connections: 1_000,
            requests_per_change: 0.2,
            min_interval_days: 0.0,
            learning_days: 365.0,
            measured_days: 365.0,
            max_pages: 5_000,
            seed: 1,
        }
    }
}

/// Policy for revisits.
#[derive(Debug, Clone, Copy)]
pub enum RefreshPolicy<'q> {
    /// The page with the oldest fetch first.
    Uniform,
    /// In proportion to known rates.
    Proportional,
    /// By the gain of a fetch, with estimated rates, and the qualities of all pages if they count.
    Estimated(PriorityModel, Option<&'q [f32]>),
    /// By the gain of a fetch, with known rates: the optimum.
    Oracle(Objective),
}

/// Score of a simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RefreshScore {
    /// Mean share of fresh copies.
    pub freshness: f64,
    /// Mean age of copies, 0 for fresh ones.
    pub age_days: f64,
    /// Number of requests in the measured period.
    pub requests: u64,
    /// Number of pages.
    pub pages: usize,
    /// Theoretical freshness with known rates and without politeness.
    pub upper_bound: f64,
}

/// Selections per day.
const SELECTIONS_PER_DAY: f64 = 4.0;
const DAY_MS: f64 = 86_400_000.0;
/// A page that changes more often is always stale.
const MAX_CHANGES_PER_DAY: f32 = 1_000.0;
/// Domain of the random numbers.
const SAMPLE_DOMAIN: u64 = 3;

/// Simulates revisits of a sample of the pages.
pub fn simulate_refresh(web: &WebModel, policy: RefreshPolicy<'_>, params: &RefreshParams) -> RefreshScore {
    let mut simulation = RefreshSimulation::new(web, policy, params);
    let choices = ((params.learning_days + params.measured_days) * SELECTIONS_PER_DAY).round() as u64;
    for choice in 0..choices {
        let day = choice as f64 / SELECTIONS_PER_DAY;
        simulation.select(day);
        simulation.fetch_until(day + 1.0 / SELECTIONS_PER_DAY);
    }
    simulation.score()
}

/// A page and its copy.
struct CopyState {
    page: PageId,
    site: SiteId,
    quality: f32,
    rate: f32,
    /// Whether its server states when it last changed.
    dated: bool,
    changes: ChangeProcess,
    history: ChangeHistory,
    /// Estimated rate; 0 while unknown.
    estimate: f32,
    fetched_day: f64,
    is_queued: bool,
}

struct RefreshSimulation<'e> {
    policy: RefreshPolicy<'e>,
    params: &'e RefreshParams,
    fetches: FetchSimulation<'e>,
    copies: Vec<CopyState>,
    /// Index of the copy of each page, if it has one.
    copy_of_page: Vec<u32>,
    /// Number of known pages of each site; large sites have shorter delays.
    pages_known: Vec<u32>,
    requests_per_day: f64,
    /// Remaining budget, less than one request.
    credit: f64,
    priors: ChangePriors,
    fresh_days: f64,
    age_days2: f64,
    requests: u64,
}

impl<'e> RefreshSimulation<'e> {
    fn new(web: &'e WebModel, policy: RefreshPolicy<'e>, params: &'e RefreshParams) -> RefreshSimulation<'e> {
        let quality = |page: PageId| match policy {
            RefreshPolicy::Estimated(_, Some(qualities)) => qualities[page.index()],
            _ => 1.0,
        };
        let mut indexs = vec![u32::MAX; web.pages.len()];
        let copies: Vec<CopyState> = sample(web, params)
            .into_iter()
            .enumerate()
            .map(|(index, page)| {
                indexs[page.index()] = index as u32;
                let WebPage { site, changes_per_day, has_last_modified: dated, .. } = web.pages[page.index()];
                let rate = changes_per_day.min(MAX_CHANGES_PER_DAY);
                CopyState {
                    page,
                    site,
                    quality: quality(page),
                    rate,
                    changes: ChangeProcess::new(params.seed, page.0, rate),
                    dated,
                    history: ChangeHistory::default(),
                    estimate: 0.0,
                    fetched_day: 0.0,
                    is_queued: false,
                }
            })
            .collect();
        let changes_per_day: f64 = copies.iter().map(|copy| f64::from(copy.rate)).sum();
        RefreshSimulation {
            policy,
            params,
            fetches: FetchSimulation::new(web, params.politeness.clone(), params.max_connections),
            copies,
            copy_of_page: indexs,
            pages_known: web.pages_known(),
            requests_per_day: changes_per_day * params.requests_per_change,
            credit: 0.0,
            priors: ChangePriors::default(),
            fresh_days: 0.0,
            age_days2: 0.0,
            requests: 0,
        }
    }

    /// Selects the due pages with the highest gain.
    fn select(&mut self, day: f64) {
        self.credit += self.requests_per_day / SELECTIONS_PER_DAY;
        let room = self.credit.floor();
        self.credit -= room;
        let mut top = TopK::new(room as usize, usize::MAX);
        let is_due =
            |copy: &CopyState| !copy.is_queued && day - copy.fetched_day >= self.params.min_interval_days;
        for (index, copy) in self.copies.iter().enumerate().filter(|(_, copy)| is_due(copy)) {
            top.push(PageId(index as u32), copy.site, self.gain(copy, day));
        }
        for best in top.finish() {
            let copy = &mut self.copies[best.page.index()];
            copy.is_queued = true;
            self.fetches.push(copy.page);
        }
    }

    fn gain(&self, copy: &CopyState, day: f64) -> f32 {
        let age_days = (day - copy.fetched_day) as f32;
        match self.policy {
            RefreshPolicy::Uniform => age_days,
            RefreshPolicy::Proportional => age_days * copy.rate,
            RefreshPolicy::Estimated(priority, _) => {
                let is_known = copy.estimate > 0.0;
                let rate = if is_known { copy.estimate } else { self.priors.for_site(copy.site) };
                priority.for_visited_page(copy.quality, rate, age_days, false)
            }
            RefreshPolicy::Oracle(aim) => {
                let priority = PriorityModel { objective: aim, ..PriorityModel::default() };
                priority.for_visited_page(1.0, copy.rate, age_days, false)
            }
        }
    }

    fn fetch_until(&mut self, day: f64) {
        let until_ms = (day * DAY_MS) as u64;
        let known = std::mem::take(&mut self.pages_known);
        while let Some(completion) = self.fetches.next(until_ms, |site| known[site.index()]) {
            self.fetch(self.copy_of_page[completion.page.index()] as usize, completion.at_ms as f64 / DAY_MS);
        }
        self.pages_known = known;
    }

    fn fetch(&mut self, index: usize, day: f64) {
        self.measure(index, day);
        self.requests += u64::from(day >= self.params.learning_days);
        let copy = &mut self.copies[index];
        let interval_days = day - copy.fetched_day;
        copy.history.comparable_visits += 1;
        match copy.changes.observe(day) {
            Some(modified) => {
                copy.history.changes += 1;
                if copy.dated {
                    // It has not changed since that time.
                    copy.history.changes_with_date += 1;
                    copy.history.unchanged_days += day - modified;
                } else {
                    copy.history.changed_days += interval_days;
                }
            }
            None => copy.history.unchanged_days += interval_days,
        }
        if matches!(self.policy, RefreshPolicy::Estimated(..)) {
            let estimate = copy.history.changes_per_day(Some(self.priors.for_site(copy.site)));
            self.priors.update(copy.site, copy.estimate, estimate);
            copy.estimate = estimate;
        }
        (copy.fetched_day, copy.is_queued) = (day, false);
    }

    /// Adds the freshness and age of a copy from its last fetch, or the end of the learning period, to this day.
    fn measure(&mut self, index: usize, day: f64) {
        let copy = &self.copies[index];
        let from = copy.fetched_day.max(self.params.learning_days);
        if day <= from {
            return;
        }
        let Some(stale) = copy.changes.pending(day) else {
            self.fresh_days += day - from;
            return;
        };
        self.fresh_days += (stale - from).max(0.0);
        self.age_days2 += ((day - stale).powi(2) - (from - stale).max(0.0).powi(2)) / 2.0;
    }

    fn score(mut self) -> RefreshScore {
        let end = self.params.learning_days + self.params.measured_days;
        (0..self.copies.len()).for_each(|index| self.measure(index, end));
        // Without copies the freshness is 0.
        let whole = self.copies.len().max(1) as f64 * self.params.measured_days;
        RefreshScore {
            freshness: self.fresh_days / whole,
            age_days: self.age_days2 / whole,
            requests: self.requests,
            pages: self.copies.len(),
            upper_bound: self.upper_bound(),
        }
    }

    fn upper_bound(&self) -> f64 {
        let of = |copy: &CopyState| RefreshTarget { changes_per_day: f64::from(copy.rate), weight: 1.0 };
        let pages: Vec<RefreshTarget> = self.copies.iter().map(of).collect();
        let refreshes = optimal_refreshes(&pages, self.requests_per_day);
        let fresh = pages.iter().zip(refreshes).map(|(page, f)| mean_freshness(page.changes_per_day, f));
        fresh.sum::<f64>() / pages.len().max(1) as f64
    }
}

/// A random sample of the pages that a crawl fetches, in the order of their ids.
fn sample(web: &WebModel, params: &RefreshParams) -> Vec<PageId> {
    let draw = |page: &u32| KeyedRandom::new(params.seed, SAMPLE_DOMAIN, u64::from(*page)).bits();
    let reachable = (0..).zip(web.reachable()).filter(|(_, is_reachable)| *is_reachable);
    let mut all: Vec<u32> =
        reachable.map(|(page, _)| page).filter(|page| web.pages[*page as usize].has_content).collect();
    if all.len() > params.max_pages {
        all.select_nth_unstable_by_key(params.max_pages, draw);
        all.truncate(params.max_pages);
        all.sort_unstable();
    }
    all.into_iter().map(PageId).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web_model::tests::web;

    fn params() -> RefreshParams {
        RefreshParams { learning_days: 200.0, measured_days: 200.0, ..RefreshParams::default() }
    }

    /// A Web model of sites with these numbers of pages, all of them seeds.
    fn all_seeds(sites: &[u32]) -> WebModel {
        let mut web = web(sites, &[]);
        web.seeds = (0..web.pages.len() as u32).map(PageId).collect();
        web
    }

    fn estimated() -> RefreshPolicy<'static> {
        RefreshPolicy::Estimated(PriorityModel::default(), None)
    }

    /// Rates in the proportions 1 to 5, many pages each.
    fn mixed() -> WebModel {
        let mut web = all_seeds(&[20; 50]);
        for (number, page) in web.pages.iter_mut().enumerate() {
            page.changes_per_day = (1 + number % 5) as f32 / 20.0;
        }
        web
    }

    #[test]
    fn known_rates_reach_the_theoretical_freshness() {
        let web = mixed();
        let params = RefreshParams { requests_per_change: 1.0 / 3.0, ..params() };
        let oracle = simulate_refresh(&web, RefreshPolicy::Oracle(Objective::Freshness), &params);
        assert!((oracle.freshness - oracle.upper_bound).abs() < 0.01, "{oracle:?}");
        let uniform = simulate_refresh(&web, RefreshPolicy::Uniform, &params);
        let proportional = simulate_refresh(&web, RefreshPolicy::Proportional, &params);
        let ours = simulate_refresh(&web, estimated(), &params);
        assert!(uniform.freshness > proportional.freshness, "{uniform:?} {proportional:?}");
        assert!(oracle.freshness > uniform.freshness && ours.freshness > proportional.freshness);
        let budget = 200.0 * oracle.pages as f64 * 0.15 / 3.0;
        for score in [oracle, uniform, proportional, ours] {
            assert!((score.requests as f64 / budget - 1.0).abs() < 0.02, "{score:?} {budget}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_score() {
        let web = mixed();
        let policy = estimated();
        let params = RefreshParams { max_pages: 200, ..params() };
        let score = simulate_refresh(&web, policy, &params);
        assert_eq!(score, simulate_refresh(&web, policy, &params));
        assert_eq!(score.pages, 200);
        assert_ne!(score, simulate_refresh(&web, policy, &RefreshParams { seed: 2, ..params }));
    }

    #[test]
    fn pages_that_never_change_stay_fresh_without_requests() {
        let mut web = all_seeds(&[5]);
        web.pages.iter_mut().for_each(|page| page.changes_per_day = 0.0);
        let score = simulate_refresh(&web, RefreshPolicy::Uniform, &params());
        assert_eq!((score.pages, score.freshness, score.age_days, score.requests), (5, 1.0, 0.0, 0));
    }

    #[test]
    fn only_pages_with_content_are_sampled() {
        // Page 2 has no content, and no link leads to page 3.
        let mut web = web(&[4], &[(0, 1), (0, 2)]);
        web.pages[2].has_content = false;
        assert_eq!(sample(&web, &params()), [PageId(0), PageId(1)]);
        web.pages.iter_mut().for_each(|page| page.has_content = false);
        let nothing = simulate_refresh(&web, estimated(), &params());
        assert_eq!((nothing.pages, nothing.freshness, nothing.requests), (0, 0.0, 0));
    }

    #[test]
    fn a_page_that_changes_constantly_does_not_inflate_the_budget() {
        let mut web = all_seeds(&[10; 10]);
        web.pages[0].changes_per_day = f32::INFINITY;
        let params = RefreshParams { measured_days: 20.0, learning_days: 0.0, ..params() };
        let simulation = RefreshSimulation::new(&web, RefreshPolicy::Uniform, &params);
        assert!(
            (simulation.requests_per_day - 0.2 * (1_000.0 + 9.9)).abs() < 1e-3,
            "{}",
            simulation.requests_per_day
        );
    }

    #[test]
    fn no_page_is_fetched_again_within_the_minimum_interval() {
        let web = mixed();
        for policy in [estimated(), RefreshPolicy::Oracle(Objective::Age), RefreshPolicy::Uniform] {
            let requests = |minimum_period_days| {
                let params = RefreshParams {
                    requests_per_change: 1.0,
                    min_interval_days: minimum_period_days,
                    ..params()
                };
                simulate_refresh(&web, policy, &params).requests
            };
            assert!(requests(0.0) > 20_000);
            // At most three fetches fit into 200 days, on days 0, 90 and 180.
            assert!((1_000..=3_000).contains(&requests(90.0)), "{}", requests(90.0));
        }
    }

    #[test]
    fn large_sites_are_fetched_more_often() {
        let politeness = Politeness {
            site_delay_ms: 86_400_000,
            large_site_delay_ms: 1_000,
            large_site_min_pages: 100,
            ..Politeness::default()
        };
        let params = RefreshParams { politeness, requests_per_change: 1.0, ..params() };
        let requests =
            |pages| simulate_refresh(&all_seeds(&[pages]), RefreshPolicy::Uniform, &params).requests;
        let (small, large) = (requests(100), requests(101));
        assert!(small <= 200 && large > 1_900, "{small} {large}");
    }

    #[test]
    fn the_prior_of_a_page_comes_from_its_site() {
        let mut web = all_seeds(&[20, 20]);
        web.pages.iter_mut().for_each(|page| {
            page.changes_per_day = if page.site == SiteId(0) { 0.5 } else { 0.005 };
        });
        let params = params();
        let mut simulation = RefreshSimulation::new(&web, estimated(), &params);
        for day in 1..20 {
            (0..19).chain(20..39).for_each(|index| simulation.fetch(index, f64::from(day)));
        }
        let (fast, slow) = (simulation.priors.for_site(SiteId(0)), simulation.priors.for_site(SiteId(1)));
        assert!(fast > 3.0 * slow, "{fast} {slow}");
        let gain = |index: usize| simulation.gain(&simulation.copies[index], 20.0);
        let of = |rate| PriorityModel::default().for_visited_page(1.0, rate, 20.0, false);
        assert_eq!((gain(19), gain(39)), (of(fast), of(slow)));
    }
}
