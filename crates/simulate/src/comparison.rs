//! Which strategy is better, on the same Web and under the same conditions? One experiment for each, and oracles to hold
//! them against.
//!
//! The oracles know what no crawl can, and still are no bounds: they are greedy, and a page that leads to better ones can
//! be worth more than it is itself. Only the order that need neither be polite nor meet pages first cannot be beaten.

use std::str::FromStr;

use frontier::{Aim, Most, Profit, Quality, Strategy};
use model::PageId;

use crate::curve::{OrderScore, ceiling};
use crate::error::Error;
use crate::known::Known;
use crate::order::{CrawlRules, Guide, Ranks, crawl_order};
use crate::page_rank::page_ranks;
use crate::refresh::{RefreshGuide, RefreshRules, RefreshScore, keep_fresh};
use crate::web::Web;

/// What can be tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Experiment {
    /// The settings of a collection: its order, and revisits by its quality, its aim and estimated rates.
    Own(Guide<'static>),
    /// A strategy of the crawl: its order, and revisits by its quality and estimated rates.
    Strategy(Strategy),
    /// An oracle for orders: of the pages that were met, the one with the highest final PageRank first.
    Omniscient,
    /// Revisits: the longest unvisited first.
    Uniform,
    /// Revisits: in proportion to rates that are known.
    Proportional,
    /// Revisits by estimated rates, all pages counting alike.
    Estimated,
    /// An oracle for revisits: the best allocation, by rates that are known.
    OptimalRefresh,
}

/// All but the strategies.
const OTHERS: [(Experiment, &str); 5] = [
    (Experiment::Omniscient, "omniscient"),
    (Experiment::Uniform, "uniform"),
    (Experiment::Proportional, "proportional"),
    (Experiment::Estimated, "estimated"),
    (Experiment::OptimalRefresh, "optimal-refresh"),
];

impl Experiment {
    /// The name of the settings of a collection.
    pub const OWN: &str = "own";

    /// All that have a meaning without a collection. A focused crawl needs texts, and a Web has none here.
    pub fn all() -> Vec<Experiment> {
        let strategies = Strategy::ALL.into_iter().filter(|strategy| *strategy != Strategy::Focused);
        strategies.map(Experiment::Strategy).chain(OTHERS.map(|(experiment, _)| experiment)).collect()
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Experiment::Own(_) => Experiment::OWN,
            Experiment::Strategy(strategy) => strategy.as_str(),
            other => OTHERS.iter().find(|(experiment, _)| *experiment == other).map_or("", |(_, name)| name),
        }
    }
}

impl FromStr for Experiment {
    type Err = Error;

    fn from_str(name: &str) -> Result<Experiment, Error> {
        if name == Strategy::Focused.as_str() {
            return Err(Error::NotHere { name: Strategy::Focused.as_str(), needs: "the texts of pages" });
        }
        let all = Experiment::all();
        let named = all.iter().copied().find(|experiment| experiment.as_str() == name);
        named.ok_or_else(|| Error::UnknownStrategy {
            name: name.to_owned(),
            known: all.iter().map(|experiment| experiment.as_str()).collect(),
        })
    }
}

/// A Web and the conditions of all experiments on it.
pub struct Laboratory<'w> {
    /// What is crawled.
    pub web: &'w Web,
    /// How it is crawled.
    pub crawl: CrawlRules,
    /// How it is revisited.
    pub refresh: RefreshRules,
    /// What revisits are to achieve, but for settings of one's own.
    pub aim: Aim,
    ranks: Vec<f64>,
    omniscient: OrderScore,
    ceiling: (Vec<(f64, f64)>, f64),
}

/// What came of one experiment; what it was not about is missing.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Which one.
    pub experiment: Experiment,
    /// What its order was worth.
    pub order: Option<OrderScore>,
    /// Its area, relative to that of the omniscient order.
    pub area_relative: Option<f64>,
    /// How fresh it kept its pages.
    pub refresh: Option<RefreshScore>,
}

/// What came of all.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// In the order in which they were asked for.
    pub entries: Vec<Entry>,
    /// The curve of the omniscient order, asked for or not.
    pub omniscient: Vec<(f64, f64)>,
    /// The curve of all pages by falling PageRank: what not even the omniscient order reaches, since it has to be polite and to
    /// find pages first.
    pub ceiling: Vec<(f64, f64)>,
    /// The area under it, relative to that of the omniscient order.
    pub ceiling_relative: f64,
}

impl<'w> Laboratory<'w> {
    /// Finds out what the omniscient order is worth, which all are held against.
    pub fn new(
        web: &'w Web,
        crawl: CrawlRules,
        refresh: RefreshRules,
        aim: Aim,
        progress: impl FnMut(usize),
    ) -> Laboratory<'w> {
        let ranks = page_ranks(web);
        let order = crawl_order(web, &Guide::omniscient(&ranks), &crawl, progress);
        let omniscient = OrderScore::new(web, &order, &ranks);
        let ceiling = ceiling(&order.pages, &ranks);
        Laboratory { web, crawl, refresh, aim, ranks, omniscient, ceiling }
    }

    /// Tries one.
    pub fn run(&self, experiment: Experiment, progress: impl FnMut(usize)) -> Entry {
        let refresh = |guide| Some(keep_fresh(self.web, guide, &self.refresh));
        let profit = Profit { aim: self.aim, ..Profit::default() };
        let (order, refresh) = match experiment {
            Experiment::Own(guide) => self.crawl_and_refresh(&guide, progress),
            Experiment::Strategy(strategy) => {
                self.crawl_and_refresh(&Guide { profit, ..Guide::of(strategy) }, progress)
            }
            Experiment::Omniscient => (Some(self.omniscient.clone()), None),
            Experiment::Uniform => (None, refresh(RefreshGuide::Uniform)),
            Experiment::Proportional => (None, refresh(RefreshGuide::Proportional)),
            Experiment::Estimated => (None, refresh(RefreshGuide::Estimated(profit, None))),
            Experiment::OptimalRefresh => (None, refresh(RefreshGuide::Oracle(self.aim))),
        };
        let area_relative = order.as_ref().map(|order| order.area / self.omniscient.area);
        Entry { experiment, order, area_relative, refresh }
    }

    fn crawl_and_refresh(
        &self,
        guide: &Guide<'_>,
        progress: impl FnMut(usize),
    ) -> (Option<OrderScore>, Option<RefreshScore>) {
        let order = crawl_order(self.web, guide, &self.crawl, progress);
        let qualities = self.qualities(&order.pages, guide);
        let score = OrderScore::new(self.web, &order, &self.ranks);
        let revisits = RefreshGuide::Estimated(guide.profit, Some(&qualities));
        (Some(score), Some(keep_fresh(self.web, revisits, &self.refresh)))
    }

    /// Puts what came of them together.
    pub fn compare(&self, entries: Vec<Entry>) -> Comparison {
        let (ceiling, area) = self.ceiling.clone();
        let omniscient = self.omniscient.curve.clone();
        Comparison { entries, omniscient, ceiling, ceiling_relative: area / self.omniscient.area }
    }

    /// The quality of every page of the Web, once all were fetched; 0 for those that were not.
    fn qualities(&self, order: &[PageId], guide: &Guide<'_>) -> Vec<f32> {
        let mut known = Known::new(self.web);
        order.iter().for_each(|page| known.fetch(*page));
        let numbers = 0..known.pages.len() as u32;
        let facts = |number: u32| {
            let mut facts = known.facts(number);
            if guide.ranks != Ranks::None {
                facts.ranks[0] = self.ranks[known.pages[number as usize].page.index()] as f32;
            }
            facts
        };
        let mut most = Most::default();
        numbers.clone().for_each(|number| most.see(&facts(number)));
        let quality = Quality::new(guide.weights, &most);
        let mut qualities = vec![0.0; self.web.pages.len()];
        numbers.for_each(|number| {
            qualities[known.pages[number as usize].page.index()] = quality.of(&facts(number));
        });
        qualities
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Synthetic;

    /// What the omniscient order may lose by taking the best page of the moment.
    const GREED: f64 = 0.01;

    #[test]
    fn names_come_back_and_errors_say_what_there_is() {
        for experiment in Experiment::all() {
            assert_eq!(experiment.as_str().parse::<Experiment>().unwrap(), experiment);
        }
        let error = "depth-first".parse::<Experiment>().unwrap_err().to_string();
        assert!(error.contains("depth-first") && error.contains("wire") && error.contains("optimal-refresh"));
        assert!("focused".parse::<Experiment>().unwrap_err().to_string().contains("texts"));
    }

    #[test]
    fn nobody_beats_the_oracles_by_much_or_the_ceiling_at_all() {
        let web = Synthetic { pages: 3_000, sites: 60, seed: 5 }.web().unwrap();
        let crawl = CrawlRules {
            waits: frontier::Waits::default(),
            batch_pages: 30,
            batch_pages_per_site: 500,
            connections: 100,
        };
        let refresh = RefreshRules { most_pages: 500, ..RefreshRules::default() };
        let laboratory = Laboratory::new(&web, crawl, refresh, Aim::Freshness, |_| ());
        let run = |experiment| laboratory.run(experiment, |_| ());
        let entries: Vec<Entry> = Experiment::all().into_iter().map(run).collect();
        let comparison = laboratory.compare(entries);
        let refreshed = |entry: &Entry| entry.refresh.map(|refresh| refresh.freshness);
        let best = comparison.entries.last().and_then(refreshed).unwrap();
        for entry in &comparison.entries {
            let name = entry.experiment.as_str();
            let most = comparison.ceiling_relative.min(1.0 + GREED);
            assert!(entry.area_relative.is_none_or(|area| area <= most), "{name}: {:?}", entry.area_relative);
            assert!(
                refreshed(entry).is_none_or(|fresh| fresh <= best + 0.005),
                "{name}: {:?}",
                entry.refresh
            );
        }
        assert!(comparison.ceiling_relative >= 1.0);
    }
}
