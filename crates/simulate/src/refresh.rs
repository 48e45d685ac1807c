//! How fresh does a strategy keep pages that it has, with a given number of requests?
//!
//! Pages change as Poisson processes. Every few hours the best of those that are due are chosen by what a visit gains, as many
//! as the budget allows, and visited politely. A visit shows whether a page has changed since the one before, and when it last did if its
//! server tells, and no more: from that, [`ChangeHistory`] and
//! [`ChangePriors`] estimate rates as in a crawl. After a time of learning, freshness and age are measured.

use frontier::{
    Aim, ChangeHistory, ChangePriors, Profit, Refreshed, Waits, mean_freshness, optimal_refreshes,
};
use model::{PageId, SiteId};
use store::TopK;

use crate::chance::Chance;
use crate::changes::Changes;
use crate::harvest::Harvest;
use crate::web::{Web, WebPage};

/// The conditions of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct RefreshRules {
    /// The waits of politeness.
    pub waits: Waits,
    /// Requests under way at once.
    pub connections: usize,
    /// Requests for each change that happens.
    pub requests_per_change: f64,
    /// A page is visited again no sooner.
    pub minimum_period_days: f64,
    /// Before anything is measured.
    pub learning_days: f64,
    /// In which freshness is measured.
    pub measured_days: f64,
    /// At most so many pages, chosen by chance of those that can be had.
    pub most_pages: usize,
    /// What chance depends on.
    pub seed: u64,
}

impl Default for RefreshRules {
    /// A fifth of the changes can be looked at; a year to learn, a year to measure.
    fn default() -> RefreshRules {
        RefreshRules {
            waits: Waits::default(),
            connections: 1_000,
            requests_per_change: 0.2,
            minimum_period_days: 0.0,
            learning_days: 365.0,
            measured_days: 365.0,
            most_pages: 5_000,
            seed: 1,
        }
    }
}

/// By what pages are chosen.
#[derive(Debug, Clone, Copy)]
pub enum RefreshGuide<'q> {
    /// The longest unvisited first.
    Uniform,
    /// In proportion to rates that are known.
    Proportional,
    /// By what visits gain, with rates as estimated from visits. The qualities of all pages of the Web, if they count.
    Estimated(Profit, Option<&'q [f32]>),
    /// By what visits gain, with rates that are known: as good as can be.
    Oracle(Aim),
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RefreshScore {
    /// Share of the copies that were as their pages, on average.
    pub freshness: f64,
    /// How long copies had lacked a change, on average, fresh ones counting as 0.
    pub age_days: f64,
    /// Visits while it was measured.
    pub requests: u64,
    /// Pages that took part.
    pub pages: usize,
    /// The freshness that theory promises to who knows all rates and need not be polite.
    pub bound: f64,
}

/// How often pages are chosen.
const CHOICES_PER_DAY: f64 = 4.0;
const DAY_MS: f64 = 86_400_000.0;
/// A page that changes more often is always stale anyway.
const MOST_CHANGES_PER_DAY: f32 = 1_000.0;
/// What chance is asked about here.
const SAMPLE: u64 = 3;

/// Keeps a sample of the pages fresh.
pub fn keep_fresh(web: &Web, guide: RefreshGuide<'_>, rules: &RefreshRules) -> RefreshScore {
    let mut keeper = Keeper::new(web, guide, rules);
    let choices = ((rules.learning_days + rules.measured_days) * CHOICES_PER_DAY).round() as u64;
    for choice in 0..choices {
        let day = choice as f64 / CHOICES_PER_DAY;
        keeper.choose(day);
        keeper.visit_until(day + 1.0 / CHOICES_PER_DAY);
    }
    keeper.score()
}

/// A page and its copy.
struct Copy {
    page: PageId,
    site: SiteId,
    quality: f32,
    rate: f32,
    /// Its server tells when it last changed.
    dated: bool,
    changes: Changes,
    history: ChangeHistory,
    /// 0 as long as it is unknown.
    estimate: f32,
    visited_day: f64,
    is_chosen: bool,
}

struct Keeper<'e> {
    guide: RefreshGuide<'e>,
    rules: &'e RefreshRules,
    harvest: Harvest<'e>,
    copies: Vec<Copy>,
    /// The copy of each page of the Web, if it has one.
    places: Vec<u32>,
    /// Of each site; large ones bear more.
    pages_known: Vec<u32>,
    per_day: f64,
    /// What is left of the budget, below one request.
    credit: f64,
    priors: ChangePriors,
    fresh_days: f64,
    age_days2: f64,
    requests: u64,
}

impl<'e> Keeper<'e> {
    fn new(web: &'e Web, guide: RefreshGuide<'e>, rules: &'e RefreshRules) -> Keeper<'e> {
        let quality = |page: PageId| match guide {
            RefreshGuide::Estimated(_, Some(qualities)) => qualities[page.index()],
            _ => 1.0,
        };
        let mut places = vec![u32::MAX; web.pages.len()];
        let copies: Vec<Copy> = sample(web, rules)
            .into_iter()
            .enumerate()
            .map(|(place, page)| {
                places[page.index()] = place as u32;
                let WebPage { site, changes_per_day, dated, .. } = web.pages[page.index()];
                let rate = changes_per_day.min(MOST_CHANGES_PER_DAY);
                Copy {
                    page,
                    site,
                    quality: quality(page),
                    rate,
                    changes: Changes::new(rules.seed, page.0, rate),
                    dated,
                    history: ChangeHistory::default(),
                    estimate: 0.0,
                    visited_day: 0.0,
                    is_chosen: false,
                }
            })
            .collect();
        let changes_per_day: f64 = copies.iter().map(|copy| f64::from(copy.rate)).sum();
        Keeper {
            guide,
            rules,
            harvest: Harvest::new(web, rules.waits.clone(), rules.connections),
            copies,
            places,
            pages_known: web.pages_known(),
            per_day: changes_per_day * rules.requests_per_change,
            credit: 0.0,
            priors: ChangePriors::default(),
            fresh_days: 0.0,
            age_days2: 0.0,
            requests: 0,
        }
    }

    /// Of the pages that are due, those whose visit gains most now.
    fn choose(&mut self, day: f64) {
        self.credit += self.per_day / CHOICES_PER_DAY;
        let room = self.credit.floor();
        self.credit -= room;
        let mut top = TopK::new(room as usize, usize::MAX);
        let is_due =
            |copy: &Copy| !copy.is_chosen && day - copy.visited_day >= self.rules.minimum_period_days;
        for (place, copy) in self.copies.iter().enumerate().filter(|(_, copy)| is_due(copy)) {
            top.offer(PageId(place as u32), copy.site, self.gain(copy, day));
        }
        for best in top.finish() {
            let copy = &mut self.copies[best.page.index()];
            copy.is_chosen = true;
            self.harvest.push(copy.page);
        }
    }

    fn gain(&self, copy: &Copy, day: f64) -> f32 {
        let age_days = (day - copy.visited_day) as f32;
        match self.guide {
            RefreshGuide::Uniform => age_days,
            RefreshGuide::Proportional => age_days * copy.rate,
            RefreshGuide::Estimated(profit, _) => {
                let is_known = copy.estimate > 0.0;
                let rate = if is_known { copy.estimate } else { self.priors.of(copy.site) };
                profit.of_visited(copy.quality, rate, age_days, false)
            }
            RefreshGuide::Oracle(aim) => {
                let profit = Profit { aim, ..Profit::default() };
                profit.of_visited(1.0, copy.rate, age_days, false)
            }
        }
    }

    fn visit_until(&mut self, day: f64) {
        let until_ms = (day * DAY_MS) as u64;
        let known = std::mem::take(&mut self.pages_known);
        while let Some(arrival) = self.harvest.next(until_ms, |site| known[site.index()]) {
            self.visit(self.places[arrival.page.index()] as usize, arrival.at_ms as f64 / DAY_MS);
        }
        self.pages_known = known;
    }

    fn visit(&mut self, place: usize, day: f64) {
        self.measure(place, day);
        self.requests += u64::from(day >= self.rules.learning_days);
        let copy = &mut self.copies[place];
        let interval_days = day - copy.visited_day;
        copy.history.compared += 1;
        match copy.changes.see(day) {
            Some(modified) => {
                copy.history.changes += 1;
                if copy.dated {
                    // Since then it has not changed.
                    copy.history.dated_changes += 1;
                    copy.history.unchanged_days += day - modified;
                } else {
                    copy.history.changed_days += interval_days;
                }
            }
            None => copy.history.unchanged_days += interval_days,
        }
        if matches!(self.guide, RefreshGuide::Estimated(..)) {
            let estimate = copy.history.changes_per_day(Some(self.priors.of(copy.site)));
            self.priors.replace(copy.site, copy.estimate, estimate);
            copy.estimate = estimate;
        }
        (copy.visited_day, copy.is_chosen) = (day, false);
    }

    /// Adds how fresh and how old a copy was from its last visit, or the end of learning, to this day.
    fn measure(&mut self, place: usize, day: f64) {
        let copy = &self.copies[place];
        let from = copy.visited_day.max(self.rules.learning_days);
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
        let end = self.rules.learning_days + self.rules.measured_days;
        (0..self.copies.len()).for_each(|place| self.measure(place, end));
        // Of no copies, none is fresh.
        let whole = self.copies.len().max(1) as f64 * self.rules.measured_days;
        RefreshScore {
            freshness: self.fresh_days / whole,
            age_days: self.age_days2 / whole,
            requests: self.requests,
            pages: self.copies.len(),
            bound: self.bound(),
        }
    }

    fn bound(&self) -> f64 {
        let of = |copy: &Copy| Refreshed { changes_per_day: f64::from(copy.rate), weight: 1.0 };
        let pages: Vec<Refreshed> = self.copies.iter().map(of).collect();
        let refreshes = optimal_refreshes(&pages, self.per_day);
        let fresh = pages.iter().zip(refreshes).map(|(page, f)| mean_freshness(page.changes_per_day, f));
        fresh.sum::<f64>() / pages.len().max(1) as f64
    }
}

/// Of the pages that a crawl gets, some chosen by chance, in the order of their numbers.
fn sample(web: &Web, rules: &RefreshRules) -> Vec<PageId> {
    let draw = |page: &u32| Chance::new(rules.seed, SAMPLE, u64::from(*page)).bits();
    let reached = (0..).zip(web.reachable()).filter(|(_, is_reached)| *is_reached);
    let mut all: Vec<u32> =
        reached.map(|(page, _)| page).filter(|page| web.pages[*page as usize].has_content).collect();
    if all.len() > rules.most_pages {
        all.select_nth_unstable_by_key(rules.most_pages, draw);
        all.truncate(rules.most_pages);
        all.sort_unstable();
    }
    all.into_iter().map(PageId).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::tests::web;

    fn rules() -> RefreshRules {
        RefreshRules { learning_days: 200.0, measured_days: 200.0, ..RefreshRules::default() }
    }

    /// A Web of sites with so many pages each, all of which are known from the start.
    fn all_seeds(sites: &[u32]) -> Web {
        let mut web = web(sites, &[]);
        web.seeds = (0..web.pages.len() as u32).map(PageId).collect();
        web
    }

    fn estimated() -> RefreshGuide<'static> {
        RefreshGuide::Estimated(Profit::default(), None)
    }

    /// Rates of SCIENCE: one page each of 1 to 5 changes a day, many times over.
    fn mixed() -> Web {
        let mut web = all_seeds(&[20; 50]);
        for (number, page) in web.pages.iter_mut().enumerate() {
            page.changes_per_day = (1 + number % 5) as f32 / 20.0;
        }
        web
    }

    #[test]
    fn who_knows_the_rates_reaches_what_theory_promises() {
        let web = mixed();
        let rules = RefreshRules { requests_per_change: 1.0 / 3.0, ..rules() };
        let oracle = keep_fresh(&web, RefreshGuide::Oracle(Aim::Freshness), &rules);
        assert!((oracle.freshness - oracle.bound).abs() < 0.01, "{oracle:?}");
        let uniform = keep_fresh(&web, RefreshGuide::Uniform, &rules);
        let proportional = keep_fresh(&web, RefreshGuide::Proportional, &rules);
        let ours = keep_fresh(&web, estimated(), &rules);
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
        let guide = estimated();
        let rules = RefreshRules { most_pages: 200, ..rules() };
        let score = keep_fresh(&web, guide, &rules);
        assert_eq!(score, keep_fresh(&web, guide, &rules));
        assert_eq!(score.pages, 200);
        assert_ne!(score, keep_fresh(&web, guide, &RefreshRules { seed: 2, ..rules }));
    }

    #[test]
    fn pages_that_never_change_stay_fresh_for_nothing() {
        let mut web = all_seeds(&[5]);
        web.pages.iter_mut().for_each(|page| page.changes_per_day = 0.0);
        let score = keep_fresh(&web, RefreshGuide::Uniform, &rules());
        assert_eq!((score.pages, score.freshness, score.age_days, score.requests), (5, 1.0, 0.0, 0));
    }

    #[test]
    fn only_pages_that_a_crawl_gets_take_part() {
        // Page 2 leads nowhere, and nothing leads to page 3.
        let mut web = web(&[4], &[(0, 1), (0, 2)]);
        web.pages[2].has_content = false;
        assert_eq!(sample(&web, &rules()), [PageId(0), PageId(1)]);
        web.pages.iter_mut().for_each(|page| page.has_content = false);
        let nothing = keep_fresh(&web, estimated(), &rules());
        assert_eq!((nothing.pages, nothing.freshness, nothing.requests), (0, 0.0, 0));
    }

    #[test]
    fn a_page_that_changes_all_the_time_does_not_pay_for_the_others() {
        let mut web = all_seeds(&[10; 10]);
        web.pages[0].changes_per_day = f32::INFINITY;
        let rules = RefreshRules { measured_days: 20.0, learning_days: 0.0, ..rules() };
        let keeper = Keeper::new(&web, RefreshGuide::Uniform, &rules);
        assert!((keeper.per_day - 0.2 * (1_000.0 + 9.9)).abs() < 1e-3, "{}", keeper.per_day);
    }

    #[test]
    fn nobody_is_visited_again_within_the_minimum_period() {
        let web = mixed();
        for guide in [estimated(), RefreshGuide::Oracle(Aim::Age), RefreshGuide::Uniform] {
            let requests = |minimum_period_days| {
                let rules = RefreshRules { requests_per_change: 1.0, minimum_period_days, ..rules() };
                keep_fresh(&web, guide, &rules).requests
            };
            assert!(requests(0.0) > 20_000);
            // At most three visits fit into 200 days, on days 0, 90 and 180.
            assert!((1_000..=3_000).contains(&requests(90.0)), "{}", requests(90.0));
        }
    }

    #[test]
    fn large_sites_bear_more_visits() {
        let waits = Waits {
            wait_ms: 86_400_000,
            large_site_wait_ms: 1_000,
            large_site_pages: 100,
            ..Waits::default()
        };
        let rules = RefreshRules { waits, requests_per_change: 1.0, ..rules() };
        let requests = |pages| keep_fresh(&all_seeds(&[pages]), RefreshGuide::Uniform, &rules).requests;
        let (small, large) = (requests(100), requests(101));
        assert!(small <= 200 && large > 1_900, "{small} {large}");
    }

    #[test]
    fn what_is_believed_of_a_page_comes_from_its_site() {
        let mut web = all_seeds(&[20, 20]);
        web.pages.iter_mut().for_each(|page| {
            page.changes_per_day = if page.site == SiteId(0) { 0.5 } else { 0.005 };
        });
        let rules = rules();
        let mut keeper = Keeper::new(&web, estimated(), &rules);
        for day in 1..20 {
            (0..19).chain(20..39).for_each(|place| keeper.visit(place, f64::from(day)));
        }
        let (fast, slow) = (keeper.priors.of(SiteId(0)), keeper.priors.of(SiteId(1)));
        assert!(fast > 3.0 * slow, "{fast} {slow}");
        let gain = |place: usize| keeper.gain(&keeper.copies[place], 20.0);
        let of = |rate| Profit::default().of_visited(1.0, rate, 20.0, false);
        assert_eq!((gain(19), gain(39)), (of(fast), of(slow)));
    }
}
