//! Comparison of strategies on the same Web model and under the same conditions: one experiment each, and oracles as
//! references.
//!
//! The oracles know what no crawl can know, and still are not upper bounds: they are greedy, and a page that leads to
//! better ones can be worth more than its own rank. Only the order without politeness and without discovery cannot be
//! exceeded.

use std::str::FromStr;

use frontier::{FactMaxima, Objective, PriorityModel, Quality, Strategy};
use model::PageId;

use crate::crawl_state::CrawlState;
use crate::curve::{OrderScore, upper_bound};
use crate::error::Error;
use crate::order::{CONFIGURED, CrawlParams, OrderPolicy, RankSource, crawl_order};
use crate::page_rank::page_ranks;
use crate::refresh::{RefreshParams, RefreshPolicy, RefreshScore, simulate_refresh};
use crate::web_model::WebModel;

/// An experiment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Experiment {
    /// Settings of a collection: its order, and revisits by its quality, its objective and estimated rates.
    Configured(OrderPolicy<'static>),
    /// A strategy of the crawl: its order, and revisits by its quality and estimated rates.
    Strategy(Strategy),
    /// Oracle for orders: of the discovered pages, the one with the highest final PageRank first.
    Omniscient,
    /// Revisits: the page with the oldest fetch first.
    Uniform,
    /// Revisits in proportion to known change rates.
    Proportional,
    /// Revisits by estimated rates, with equal quality of all pages.
    Estimated,
    /// Oracle for revisits: the optimal allocation for known rates.
    OptimalRefresh,
}

/// All experiments except the strategies.
const NAMED: [(Experiment, &str); 5] = [
    (Experiment::Omniscient, "omniscient"),
    (Experiment::Uniform, "uniform"),
    (Experiment::Proportional, "proportional"),
    (Experiment::Estimated, "estimated"),
    (Experiment::OptimalRefresh, "optimal-refresh"),
];

impl Experiment {
    /// Name of the settings of a collection.
    pub const CONFIGURED: &str = CONFIGURED;

    /// All experiments that need no collection. A focused crawl needs texts, which a Web model does not have.
    pub fn all() -> Vec<Experiment> {
        let strategies = Strategy::ALL.into_iter().filter(|strategy| *strategy != Strategy::Focused);
        strategies.map(Experiment::Strategy).chain(NAMED.map(|(experiment, _)| experiment)).collect()
    }

    /// Name.
    pub fn as_str(self) -> &'static str {
        match self {
            Experiment::Configured(_) => Experiment::CONFIGURED,
            Experiment::Strategy(strategy) => strategy.as_str(),
            other => NAMED.iter().find(|(experiment, _)| *experiment == other).map_or("", |(_, name)| name),
        }
    }
}

impl FromStr for Experiment {
    type Err = Error;

    fn from_str(name: &str) -> Result<Experiment, Error> {
        if name == Strategy::Focused.as_str() {
            return Err(Error::Unsupported { name: Strategy::Focused.as_str(), needs: "the texts of pages" });
        }
        let all = Experiment::all();
        let named = all.iter().copied().find(|experiment| experiment.as_str() == name);
        named.ok_or_else(|| Error::UnknownStrategy {
            name: name.to_owned(),
            known: all.iter().map(|experiment| experiment.as_str()).collect(),
        })
    }
}

/// A Web model and the conditions of all experiments on it.
pub struct ExperimentRunner<'w> {
    /// The Web model.
    pub web: &'w WebModel,
    /// Parameters of the crawl.
    pub crawl: CrawlParams,
    /// Parameters of the revisits.
    pub refresh: RefreshParams,
    /// Objective of the revisits, except for configured settings.
    pub objective: Objective,
    ranks: Vec<f64>,
    omniscient: OrderScore,
    upper_bound: (Vec<(f64, f64)>, f64),
}

/// Result of one experiment; parts that it does not cover are missing.
#[derive(Debug, Clone)]
pub struct ExperimentResult {
    /// The experiment.
    pub experiment: Experiment,
    /// Score of its order.
    pub order: Option<OrderScore>,
    /// AUC relative to that of the omniscient order.
    pub relative_auc: Option<f64>,
    /// Score of its revisits.
    pub refresh: Option<RefreshScore>,
}

/// Results of all experiments.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Results, in the order of the experiments.
    pub results: Vec<ExperimentResult>,
    /// Curve of the omniscient order.
    pub omniscient: Vec<(f64, f64)>,
    /// Curve of all pages by descending PageRank: an upper bound without politeness and discovery.
    pub upper_bound: Vec<(f64, f64)>,
    /// AUC of the upper bound relative to that of the omniscient order.
    pub upper_bound_relative_auc: f64,
}

impl<'w> ExperimentRunner<'w> {
    /// Computes the omniscient order, the reference of all experiments.
    pub fn new(
        web: &'w WebModel,
        crawl: CrawlParams,
        refresh: RefreshParams,
        aim: Objective,
        on_progress: impl FnMut(usize),
    ) -> ExperimentRunner<'w> {
        let ranks = page_ranks(web);
        let order = crawl_order(web, &OrderPolicy::omniscient(&ranks), &crawl, on_progress);
        let omniscient = OrderScore::new(web, &order, &ranks);
        let ceiling = upper_bound(&order.pages, &ranks);
        ExperimentRunner { web, crawl, refresh, objective: aim, ranks, omniscient, upper_bound: ceiling }
    }

    /// Runs an experiment.
    pub fn run(&self, experiment: Experiment, on_progress: impl FnMut(usize)) -> ExperimentResult {
        let refresh = |policy| Some(simulate_refresh(self.web, policy, &self.refresh));
        let priority = PriorityModel { objective: self.objective, ..PriorityModel::default() };
        let (order, refresh) = match experiment {
            Experiment::Configured(policy) => self.crawl_and_refresh(&policy, on_progress),
            Experiment::Strategy(strategy) => self.crawl_and_refresh(
                &OrderPolicy { priority, ..OrderPolicy::from_strategy(strategy) },
                on_progress,
            ),
            Experiment::Omniscient => (Some(self.omniscient.clone()), None),
            Experiment::Uniform => (None, refresh(RefreshPolicy::Uniform)),
            Experiment::Proportional => (None, refresh(RefreshPolicy::Proportional)),
            Experiment::Estimated => (None, refresh(RefreshPolicy::Estimated(priority, None))),
            Experiment::OptimalRefresh => (None, refresh(RefreshPolicy::Oracle(self.objective))),
        };
        let area_relative = order.as_ref().map(|order| order.auc / self.omniscient.auc);
        ExperimentResult { experiment, order, relative_auc: area_relative, refresh }
    }

    fn crawl_and_refresh(
        &self,
        policy: &OrderPolicy<'_>,
        progress: impl FnMut(usize),
    ) -> (Option<OrderScore>, Option<RefreshScore>) {
        let order = crawl_order(self.web, policy, &self.crawl, progress);
        let qualities = self.qualities(&order.pages, policy);
        let score = OrderScore::new(self.web, &order, &self.ranks);
        let revisits = RefreshPolicy::Estimated(policy.priority, Some(&qualities));
        (Some(score), Some(simulate_refresh(self.web, revisits, &self.refresh)))
    }

    /// Combines the results.
    pub fn compare(&self, results: Vec<ExperimentResult>) -> Comparison {
        let (ceiling, area) = self.upper_bound.clone();
        let omniscient = self.omniscient.curve.clone();
        Comparison {
            results,
            omniscient,
            upper_bound: ceiling,
            upper_bound_relative_auc: area / self.omniscient.auc,
        }
    }

    /// Quality of each page after all pages were fetched; 0 for pages that were not.
    fn qualities(&self, order: &[PageId], policy: &OrderPolicy<'_>) -> Vec<f32> {
        let mut state = CrawlState::new(self.web);
        order.iter().for_each(|page| state.fetch(*page));
        let numbers = 0..state.pages.len() as u32;
        let facts = |number: u32| {
            let mut facts = state.facts(number);
            if policy.ranks != RankSource::None {
                facts.ranks[0] = self.ranks[state.pages[number as usize].page.index()] as f32;
            }
            facts
        };
        let mut maxima = FactMaxima::default();
        numbers.clone().for_each(|number| maxima.observe(&facts(number)));
        let quality = Quality::new(policy.weights, &maxima);
        let mut qualities = vec![0.0; self.web.pages.len()];
        numbers.for_each(|number| {
            qualities[state.pages[number as usize].page.index()] = quality.evaluate(&facts(number));
        });
        qualities
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Synthetic;

    /// Loss of the omniscient order by its greedy choice.
    const GREEDY_LOSS: f64 = 0.01;

    #[test]
    fn names_are_parsed_and_errors_list_the_strategies() {
        for experiment in Experiment::all() {
            assert_eq!(experiment.as_str().parse::<Experiment>().unwrap(), experiment);
        }
        let error = "depth-first".parse::<Experiment>().unwrap_err().to_string();
        assert!(error.contains("depth-first") && error.contains("wire") && error.contains("optimal-refresh"));
        assert!("focused".parse::<Experiment>().unwrap_err().to_string().contains("texts"));
    }

    #[test]
    fn no_strategy_exceeds_the_oracles_by_much_or_the_upper_bound() {
        let web = Synthetic { pages: 3_000, sites: 60, seed: 5 }.web().unwrap();
        let crawl = CrawlParams {
            politeness: frontier::Politeness::default(),
            max_batch_pages: 30,
            max_batch_pages_per_site: 500,
            max_connections: 100,
        };
        let refresh = RefreshParams { max_pages: 500, ..RefreshParams::default() };
        let runner = ExperimentRunner::new(&web, crawl, refresh, Objective::Freshness, |_| ());
        let run = |experiment| runner.run(experiment, |_| ());
        let results: Vec<ExperimentResult> = Experiment::all().into_iter().map(run).collect();
        let comparison = runner.compare(results);
        let refreshed = |result: &ExperimentResult| result.refresh.map(|refresh| refresh.freshness);
        let best = comparison.results.last().and_then(refreshed).unwrap();
        for result in &comparison.results {
            let name = result.experiment.as_str();
            let max = comparison.upper_bound_relative_auc.min(1.0 + GREEDY_LOSS);
            assert!(result.relative_auc.is_none_or(|auc| auc <= max), "{name}: {:?}", result.relative_auc);
            assert!(
                refreshed(result).is_none_or(|fresh| fresh <= best + 0.005),
                "{name}: {:?}",
                result.refresh
            );
        }
        assert!(comparison.upper_bound_relative_auc >= 1.0);
    }
}
