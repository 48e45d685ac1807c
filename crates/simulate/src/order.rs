//! In which order do pages come, if a strategy chooses and politeness delays?
//!
//! The crawl in small: a manager that chooses batches of the best pages by [`Quality`], with a limit for each site and
//! the front page of a new site first; [`Harvest`] that asks for them; and [`Known`] that takes in what comes. The scores,
//! the choice of the best and the clocks are those of the crawl itself. Every page answers and nothing is ever refreshed.

use frontier::{Most, PageFacts, Profit, Quality, Strategy, Term, Waits, Weights};
use model::{PageId, SiteId};
use store::TopK;

use crate::error::Error;
use crate::harvest::Harvest;
use crate::known::Known;
use crate::page_rank::KnownRanks;
use crate::web::Web;

/// How a crawl goes about it, whatever its order.
#[derive(Debug, Clone, PartialEq)]
pub struct CrawlRules {
    /// The waits of politeness.
    pub waits: Waits,
    /// Pages of a batch.
    pub batch_pages: usize,
    /// Pages of a site in it.
    pub batch_pages_per_site: usize,
    /// Requests under way at once.
    pub connections: usize,
}

/// By what a crawl chooses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guide<'r> {
    /// How much each term counts.
    pub weights: Weights,
    /// What quality makes of a visit.
    pub profit: Profit,
    /// Where PageRank comes from, if it counts.
    pub ranks: Ranks<'r>,
}

/// Where PageRank comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ranks<'r> {
    /// It does not count.
    None,
    /// Computed when a tenth more pages were fetched; pages met since have none.
    Batch,
    /// The same; pages met since have what those that link to them pass on when they are first looked at.
    Partial,
    /// Told by somebody who knows the whole Web, for each of its pages.
    Final(&'r [f64]),
}

impl Guide<'_> {
    /// As the crawl does it, with nothing set but the strategy.
    pub fn of(strategy: Strategy) -> Guide<'static> {
        Guide { weights: strategy.weights(), profit: Profit::default(), ranks: Ranks::of(strategy) }
    }

    /// As a crawl does it that has settings of its own; an error if they ask for what only texts or an analysis can tell.
    pub fn own(strategy: Strategy, weights: Weights, profit: Profit) -> Result<Guide<'static>, Error> {
        let ranks = Ranks::of(strategy);
        let is_known = |term: Term| match term {
            Term::PageRank => ranks != Ranks::None,
            Term::Location | Term::Relevance => false,
            term => !Term::RANKS.contains(&term),
        };
        match Term::ALL.into_iter().find(|term| weights[*term] > 0.0 && !is_known(*term)) {
            Some(term) => Err(Error::NotHere { name: "own", needs: term.as_str() }),
            None => Ok(Guide { weights, profit, ranks }),
        }
    }

    /// The page with the highest final PageRank first, of those that were met.
    pub fn omniscient(ranks: &[f64]) -> Guide<'_> {
        Guide { ranks: Ranks::Final(ranks), ..Guide::of(Strategy::BatchPageRank) }
    }
}

impl Ranks<'static> {
    /// Which strategies have PageRank computed is the crawl's choice.
    fn of(strategy: Strategy) -> Ranks<'static> {
        match strategy {
            Strategy::BatchPageRank => Ranks::Batch,
            Strategy::PartialPageRank => Ranks::Partial,
            _ => Ranks::None,
        }
    }
}

/// So many batches may wait in the queues, as in the crawl.
const MOST_BATCHES: usize = 4;
/// The manager looks again when a part of a batch has come.
const LOOKS_PER_BATCH: usize = 4;
/// Where PageRank is among the ranks of a page.
const PAGE_RANK: usize = 0;

/// Pages in the order in which they came, and when each was there, in milliseconds of virtual time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrawlOrder {
    /// The pages.
    pub pages: Vec<PageId>,
    /// As many times.
    pub times_ms: Vec<u64>,
}

/// Crawls all that can be reached. `progress` is told how many pages have come.
pub fn crawl_order(
    web: &Web,
    guide: &Guide<'_>,
    rules: &CrawlRules,
    mut progress: impl FnMut(usize),
) -> CrawlOrder {
    let mut harvest = Harvest::new(web, rules.waits.clone(), rules.connections);
    let mut manager = Manager { web, guide, rules, known: Known::new(web), ranks: KnownRanks::default() };
    let look_every = rules.batch_pages.div_ceil(LOOKS_PER_BATCH).max(1);
    let (mut looked_at, mut times_ms) = (0, Vec::new());
    manager.look(&mut harvest);
    loop {
        let fetched = manager.known.sources.len();
        if fetched >= looked_at + look_every {
            looked_at = fetched;
            manager.look(&mut harvest);
            progress(fetched);
        }
        let known = &manager.known;
        match harvest.next(u64::MAX, |site| known.sites[site.index()].pages_known) {
            Some(arrival) => {
                manager.known.fetch(arrival.page);
                times_ms.push(arrival.at_ms);
            }
            None => {
                manager.look(&mut harvest);
                if harvest.waiting() == 0 {
                    progress(fetched);
                    return CrawlOrder { pages: manager.known.fetched(), times_ms };
                }
            }
        }
    }
}

/// Chooses, and takes in what comes.
struct Manager<'e> {
    web: &'e Web,
    guide: &'e Guide<'e>,
    rules: &'e CrawlRules,
    known: Known<'e>,
    ranks: KnownRanks,
}

impl Manager<'_> {
    /// Chooses another batch, if there is room for it.
    fn look(&mut self, harvest: &mut Harvest<'_>) {
        if harvest.waiting() >= self.rules.batch_pages * MOST_BATCHES {
            return;
        }
        let entered = self.enter_sites(harvest);
        if matches!(self.guide.ranks, Ranks::Batch | Ranks::Partial) {
            self.ranks.refresh(&self.known, self.guide.ranks == Ranks::Partial);
        }
        let room = self.rules.batch_pages.saturating_sub(entered);
        let mut top = TopK::new(room, self.rules.batch_pages_per_site);
        let quality = self.quality();
        let is_free: Vec<bool> = (0..self.web.sites.len() as u32)
            .map(|site| self.known.sites[site as usize].is_entered && !harvest.is_open(SiteId(site)))
            .collect();
        for number in &self.known.pending {
            let site = self.known.pages[*number as usize].site;
            if is_free[site.index()] {
                top.offer(PageId(*number), site, self.guide.profit.of_new(quality.of(&self.facts(*number))));
            }
        }
        let chosen: Vec<u32> = top.finish().into_iter().map(|best| best.page.0).collect();
        self.known.choose(&chosen);
        chosen.iter().for_each(|number| harvest.push(self.known.pages[*number as usize].page));
        let pages = &self.known.pages;
        self.known.pending.retain(|number| !pages[*number as usize].is_chosen);
    }

    /// Asks every site that was met since for its front page alone; tells how many pages that are.
    fn enter_sites(&mut self, harvest: &mut Harvest<'_>) -> usize {
        let mut entered = 0;
        for site in 0..self.web.sites.len() {
            let known = &mut self.known.sites[site];
            if known.is_entered || known.pages_known == 0 || entered == self.rules.batch_pages {
                continue;
            }
            known.is_entered = true;
            let Some(page) = self.web.sites[site].front_page else { continue };
            let number = self.known.meet(page, 0);
            self.known.choose(&[number]);
            harvest.push(page);
            entered += 1;
        }
        entered
    }

    /// By the most that any page has of each fact.
    fn quality(&self) -> Quality {
        let mut most = Most::default();
        (0..self.known.pages.len() as u32).for_each(|number| most.see(&self.facts(number)));
        Quality::new(self.guide.weights, &most)
    }

    fn facts(&self, number: u32) -> PageFacts {
        let mut facts = self.known.facts(number);
        let rank = match self.guide.ranks {
            Ranks::None => return facts,
            Ranks::Batch | Ranks::Partial => self.ranks.of(number),
            Ranks::Final(ranks) => ranks[self.known.pages[number as usize].page.index()],
        };
        facts.ranks[PAGE_RANK] = rank as f32;
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_rank::page_ranks;
    use crate::web::tests::web;

    fn rules() -> CrawlRules {
        CrawlRules { waits: Waits::default(), batch_pages: 2, batch_pages_per_site: 1, connections: 10 }
    }

    fn order(web: &Web, guide: &Guide<'_>, rules: &CrawlRules) -> Vec<u32> {
        crawl_order(web, guide, rules, |_| ()).pages.into_iter().map(|page| page.0).collect()
    }

    #[test]
    fn a_strategy_has_its_order_and_unreachable_pages_stay_out() {
        // 0 links to 1 and 2; 2 is linked more often; 3 hangs behind 2, and nothing leads to 4.
        let web = web(&[5], &[(0, 1), (0, 2), (1, 2), (2, 3), (3, 2)]);
        let one = CrawlRules { batch_pages: 1, ..rules() };
        assert_eq!(order(&web, &Guide::of(Strategy::BreadthFirst), &one), [0, 1, 2, 3]);
        let ranks = page_ranks(&web);
        assert_eq!(order(&web, &Guide::omniscient(&ranks), &one), [0, 2, 3, 1]);
    }

    #[test]
    fn settings_of_ones_own_have_their_order() {
        // 0 links to 1, 2 and 3; 3 is linked most, and 1 looks as if a program made it.
        let mut web = web(&[4], &[(0, 1), (0, 2), (0, 3), (2, 3)]);
        web.pages[1].dynamic = true;
        let one = CrawlRules { batch_pages: 1, ..rules() };
        let own =
            |term: Term, profit| Guide::own(Strategy::Wire, [(term, 1.0)].into_iter().collect(), profit);
        let order_by = |term, profit| order(&web, &own(term, profit).unwrap(), &one);
        assert_eq!(order_by(Term::Static, Profit::default()), [0, 2, 3, 1]);
        // Without any weight for quality the oldest come first.
        let indifferent = Profit { quality_exponent: 0.0, ..Profit::default() };
        assert_eq!(order_by(Term::Static, indifferent), [0, 1, 2, 3]);
        for term in [Term::Relevance, Term::Location, Term::PageRank, Term::SiteRank] {
            let error = own(term, Profit::default()).unwrap_err().to_string();
            assert!(error.contains("`own`") && error.contains(term.as_str()), "{error}");
        }
        let weights = Strategy::PartialPageRank.weights();
        assert!(Guide::own(Strategy::PartialPageRank, weights, Profit::default()).is_ok());
    }

    #[test]
    fn a_site_of_its_own_takes_as_long_as_its_waits() {
        // Four pages of one site that answers in 100 ms: three waits between them.
        let web = web(&[4], &[(0, 1), (0, 2), (0, 3)]);
        let waits = Waits { wait_ms: 1_000, ..Waits::default() };
        let rules = CrawlRules { waits, batch_pages: 9, batch_pages_per_site: 9, ..rules() };
        let order = crawl_order(&web, &Guide::of(Strategy::BreadthFirst), &rules, |_| ());
        assert_eq!(order.times_ms, [100, 1_200, 2_300, 3_400]);
    }

    #[test]
    fn a_new_site_is_asked_for_its_front_page_alone() {
        // The front page of the second site is 3; links lead to 4 and 5 only.
        let web = web(&[3, 3], &[(0, 4), (0, 5), (3, 4)]);
        let order = order(&web, &Guide::of(Strategy::Backlinks), &CrawlRules { batch_pages: 9, ..rules() });
        assert_eq!(order[..2], [0, 3]);
        assert_eq!(order.len(), 4);
    }

    #[test]
    fn every_strategy_fetches_every_page_once_and_always_in_the_same_order() {
        let web = crate::Synthetic { pages: 2_000, sites: 40, seed: 3 }.web().unwrap();
        let rules = CrawlRules { batch_pages: 50, batch_pages_per_site: 10, ..rules() };
        for strategy in Strategy::ALL {
            let guide = Guide::of(strategy);
            let pages = order(&web, &guide, &rules);
            assert_eq!(pages, order(&web, &guide, &rules), "{strategy}");
            let mut sorted = pages;
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..web.pages.len() as u32), "{strategy}");
        }
    }
}
