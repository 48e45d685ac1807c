//! Simulation of the crawl order: a strategy selects, and politeness delays.
//!
//! A small crawl: a manager selects batches of the best pages by [`Quality`], with a maximum per site and the front
//! page of a new site first; [`FetchSimulation`] fetches them; [`CrawlState`] processes them. Scores, selection and
//! clocks are those of the crawl itself. Every page responds, and no page is revisited.

use frontier::{FactMaxima, PageFacts, Politeness, PriorityModel, Quality, QualityTerm, Strategy, Weights};
use model::{PageId, SiteId};
use store::TopK;

use crate::crawl_state::CrawlState;
use crate::error::Error;
use crate::fetch_simulation::FetchSimulation;
use crate::page_rank::PeriodicPageRank;
use crate::web_model::WebModel;

/// Parameters of a crawl, independent of its order.
#[derive(Debug, Clone, PartialEq)]
pub struct CrawlParams {
    /// Delays between requests.
    pub politeness: Politeness,
    /// Maximum number of pages in a batch.
    pub max_batch_pages: usize,
    /// Maximum number of pages of one site in a batch.
    pub max_batch_pages_per_site: usize,
    /// Maximum number of requests in flight.
    pub max_connections: usize,
}

/// Policy for the order of pages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OrderPolicy<'r> {
    /// Weights of the quality terms.
    pub weights: Weights,
    /// Priority of a fetch.
    pub priority: PriorityModel,
    /// Source of PageRank, if it counts.
    pub ranks: RankSource<'r>,
}

/// Source of PageRank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RankSource<'r> {
    /// PageRank does not count.
    None,
    /// Computed after each growth by a tenth; pages discovered since have none.
    Batch,
    /// Like `Batch`, but a page discovered since gets an estimate at its first selection: the rank that the pages linking to it pass on.
    Partial,
    /// Final ranks of all pages, known in advance.
    Final(&'r [f64]),
}

impl OrderPolicy<'_> {
    /// The policy of a strategy with default settings.
    pub fn from_strategy(strategy: Strategy) -> OrderPolicy<'static> {
        OrderPolicy {
            weights: strategy.weights(),
            priority: PriorityModel::default(),
            ranks: RankSource::from_strategy(strategy),
        }
    }

    /// The policy of the settings of a collection; an error if they need texts or an analysis.
    pub fn configured(
        strategy: Strategy,
        weights: Weights,
        priority: PriorityModel,
    ) -> Result<OrderPolicy<'static>, Error> {
        let ranks = RankSource::from_strategy(strategy);
        let is_known = |term: QualityTerm| match term {
            QualityTerm::PageRank => ranks != RankSource::None,
            QualityTerm::UrlScore | QualityTerm::TopicRelevance => false,
            term => !QualityTerm::RANKS.contains(&term),
        };
        match QualityTerm::ALL.into_iter().find(|term| weights[*term] > 0.0 && !is_known(*term)) {
            Some(term) => Err(Error::Unsupported { name: CONFIGURED, needs: term.as_str() }),
            None => Ok(OrderPolicy { weights, priority, ranks }),
        }
    }

    /// Of the discovered pages, the one with the highest final PageRank first.
    pub fn omniscient(ranks: &[f64]) -> OrderPolicy<'_> {
        OrderPolicy { ranks: RankSource::Final(ranks), ..OrderPolicy::from_strategy(Strategy::BatchPageRank) }
    }
}

impl RankSource<'static> {
    /// Source of PageRank that the crawl uses for a strategy.
    fn from_strategy(strategy: Strategy) -> RankSource<'static> {
        match strategy {
            Strategy::BatchPageRank => RankSource::Batch,
            Strategy::PartialPageRank => RankSource::Partial,
            _ => RankSource::None,
        }
    }
}

/// Name of the settings of a collection.
pub(crate) const CONFIGURED: &str = "configured";
/// Maximum number of queued batches, as in the crawl.
const MAX_QUEUED_BATCHES: usize = 4;
/// The manager selects again after this part of a batch.
const SELECTIONS_PER_BATCH: usize = 4;
/// Index of PageRank among the ranks of a page.
const PAGE_RANK: usize = 0;

/// Pages in the order of completion, with the times in milliseconds of virtual time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrawlOrder {
    /// The pages.
    pub pages: Vec<PageId>,
    /// Completion time of each page.
    pub times_ms: Vec<u64>,
}

/// Crawls all reachable pages. `on_progress` receives the number of fetched pages.
pub fn crawl_order(
    web: &WebModel,
    policy: &OrderPolicy<'_>,
    params: &CrawlParams,
    mut on_progress: impl FnMut(usize),
) -> CrawlOrder {
    let mut fetches = FetchSimulation::new(web, params.politeness.clone(), params.max_connections);
    let mut manager =
        Manager { web, policy, params, state: CrawlState::new(web), ranks: PeriodicPageRank::default() };
    let selection_interval = params.max_batch_pages.div_ceil(SELECTIONS_PER_BATCH).max(1);
    let (mut selected_at, mut times_ms) = (0, Vec::new());
    manager.select_batch(&mut fetches);
    loop {
        let fetched = manager.state.sources.len();
        if fetched >= selected_at + selection_interval {
            selected_at = fetched;
            manager.select_batch(&mut fetches);
            on_progress(fetched);
        }
        let state = &manager.state;
        match fetches.next(u64::MAX, |site| state.sites[site.index()].pages_known) {
            Some(completion) => {
                manager.state.fetch(completion.page);
                times_ms.push(completion.at_ms);
            }
            None => {
                manager.select_batch(&mut fetches);
                if fetches.queued() == 0 {
                    on_progress(fetched);
                    return CrawlOrder { pages: manager.state.fetched(), times_ms };
                }
            }
        }
    }
}

/// Selects batches and processes fetched pages.
struct Manager<'e> {
    web: &'e WebModel,
    policy: &'e OrderPolicy<'e>,
    params: &'e CrawlParams,
    state: CrawlState<'e>,
    ranks: PeriodicPageRank,
}

impl Manager<'_> {
    /// Selects another batch, if there is room for it.
    fn select_batch(&mut self, fetches: &mut FetchSimulation<'_>) {
        if fetches.queued() >= self.params.max_batch_pages * MAX_QUEUED_BATCHES {
            return;
        }
        let entered = self.enter_sites(fetches);
        if matches!(self.policy.ranks, RankSource::Batch | RankSource::Partial) {
            self.ranks.refresh(&self.state, self.policy.ranks == RankSource::Partial);
        }
        let room = self.params.max_batch_pages.saturating_sub(entered);
        let mut top = TopK::new(room, self.params.max_batch_pages_per_site);
        let quality = self.quality();
        let is_free: Vec<bool> = (0..self.web.sites.len() as u32)
            .map(|site| self.state.sites[site as usize].is_entered && !fetches.is_busy(SiteId(site)))
            .collect();
        for id in &self.state.pending {
            let site = self.state.pages[*id as usize].site;
            if is_free[site.index()] {
                top.push(
                    PageId(*id),
                    site,
                    self.policy.priority.for_new_page(quality.evaluate(&self.facts(*id))),
                );
            }
        }
        let selected: Vec<u32> = top.finish().into_iter().map(|best| best.page.0).collect();
        self.state.choose(&selected);
        selected.iter().for_each(|id| fetches.push(self.state.pages[*id as usize].page));
        let pages = &self.state.pages;
        self.state.pending.retain(|id| !pages[*id as usize].is_selected);
    }

    /// Selects the front page of each site that was discovered since, and returns their number.
    fn enter_sites(&mut self, fetches: &mut FetchSimulation<'_>) -> usize {
        let mut entered = 0;
        for site in 0..self.web.sites.len() {
            let state = &mut self.state.sites[site];
            if state.is_entered || state.pages_known == 0 || entered == self.params.max_batch_pages {
                continue;
            }
            state.is_entered = true;
            let Some(page) = self.web.sites[site].front_page else { continue };
            let id = self.state.discover(page, 0);
            self.state.choose(&[id]);
            fetches.push(page);
            entered += 1;
        }
        entered
    }

    /// Quality, normalised by the maximum of each fact over all pages.
    fn quality(&self) -> Quality {
        let mut maxima = FactMaxima::default();
        (0..self.state.pages.len() as u32).for_each(|id| maxima.observe(&self.facts(id)));
        Quality::new(self.policy.weights, &maxima)
    }

    fn facts(&self, id: u32) -> PageFacts {
        let mut facts = self.state.facts(id);
        let rank = match self.policy.ranks {
            RankSource::None => return facts,
            RankSource::Batch | RankSource::Partial => self.ranks.get(id),
            RankSource::Final(ranks) => ranks[self.state.pages[id as usize].page.index()],
        };
        facts.ranks[PAGE_RANK] = rank as f32;
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_rank::page_ranks;
    use crate::web_model::tests::web;

    fn params() -> CrawlParams {
        CrawlParams {
            politeness: Politeness::default(),
            max_batch_pages: 2,
            max_batch_pages_per_site: 1,
            max_connections: 10,
        }
    }

    fn order(web: &WebModel, policy: &OrderPolicy<'_>, params: &CrawlParams) -> Vec<u32> {
        crawl_order(web, policy, params, |_| ()).pages.into_iter().map(|page| page.0).collect()
    }

    #[test]
    fn a_strategy_determines_the_order_and_unreachable_pages_are_not_fetched() {
        // 0 links to 1 and 2; 2 has more inlinks; 3 is linked from 2 only, and 4 is unreachable.
        let web = web(&[5], &[(0, 1), (0, 2), (1, 2), (2, 3), (3, 2)]);
        let one = CrawlParams { max_batch_pages: 1, ..params() };
        assert_eq!(order(&web, &OrderPolicy::from_strategy(Strategy::BreadthFirst), &one), [0, 1, 2, 3]);
        let ranks = page_ranks(&web);
        assert_eq!(order(&web, &OrderPolicy::omniscient(&ranks), &one), [0, 2, 3, 1]);
    }

    #[test]
    fn configured_settings_determine_the_order() {
        // 0 links to 1, 2 and 3; 3 has the most inlinks, and 1 has a dynamic URL.
        let mut web = web(&[4], &[(0, 1), (0, 2), (0, 3), (2, 3)]);
        web.pages[1].is_dynamic = true;
        let one = CrawlParams { max_batch_pages: 1, ..params() };
        let configured = |term: QualityTerm, priority| {
            OrderPolicy::configured(Strategy::Wire, [(term, 1.0)].into_iter().collect(), priority)
        };
        let order_by = |term, priority| order(&web, &configured(term, priority).unwrap(), &one);
        assert_eq!(order_by(QualityTerm::Static, PriorityModel::default()), [0, 2, 3, 1]);
        // With exponent 0 for quality, the first discovered pages come first.
        let indifferent = PriorityModel { quality_exponent: 0.0, ..PriorityModel::default() };
        assert_eq!(order_by(QualityTerm::Static, indifferent), [0, 1, 2, 3]);
        for term in
            [QualityTerm::TopicRelevance, QualityTerm::UrlScore, QualityTerm::PageRank, QualityTerm::SiteRank]
        {
            let error = configured(term, PriorityModel::default()).unwrap_err().to_string();
            assert!(error.contains("`configured`") && error.contains(term.as_str()), "{error}");
        }
        let weights = Strategy::PartialPageRank.weights();
        assert!(
            OrderPolicy::configured(Strategy::PartialPageRank, weights, PriorityModel::default()).is_ok()
        );
    }

    #[test]
    fn the_duration_of_a_single_site_is_the_sum_of_its_delays() {
        // Four pages of one site with a response time of 100 ms: three delays in between.
        let web = web(&[4], &[(0, 1), (0, 2), (0, 3)]);
        let politeness = Politeness { site_delay_ms: 1_000, ..Politeness::default() };
        let params = CrawlParams { politeness, max_batch_pages: 9, max_batch_pages_per_site: 9, ..params() };
        let order = crawl_order(&web, &OrderPolicy::from_strategy(Strategy::BreadthFirst), &params, |_| ());
        assert_eq!(order.times_ms, [100, 1_200, 2_300, 3_400]);
    }

    #[test]
    fn only_the_front_page_of_a_new_site_is_fetched_first() {
        // The front page of the second site is 3; links lead to 4 and 5 only.
        let web = web(&[3, 3], &[(0, 4), (0, 5), (3, 4)]);
        let order = order(
            &web,
            &OrderPolicy::from_strategy(Strategy::Backlinks),
            &CrawlParams { max_batch_pages: 9, ..params() },
        );
        assert_eq!(order[..2], [0, 3]);
        assert_eq!(order.len(), 4);
    }

    #[test]
    fn every_strategy_fetches_every_page_once_in_a_deterministic_order() {
        let web = crate::Synthetic { pages: 2_000, sites: 40, seed: 3 }.web().unwrap();
        let params = CrawlParams { max_batch_pages: 50, max_batch_pages_per_site: 10, ..params() };
        for strategy in Strategy::ALL {
            let policy = OrderPolicy::from_strategy(strategy);
            let pages = order(&web, &policy, &params);
            assert_eq!(pages, order(&web, &policy, &params), "{strategy}");
            let mut sorted = pages;
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..web.pages.len() as u32), "{strategy}");
        }
    }
}
