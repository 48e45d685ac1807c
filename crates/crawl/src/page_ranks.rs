//! How important is each page by the links between all of them?
//!
//! The ranks of the last analysis, as far as the weights ask for them; and PageRank over the links of the last commit, which the manager
//! computes itself for the strategies `batch-pagerank` and `partial-pagerank`. Four bytes a page and rank are in memory.
//!
//! Computing costs some dozens of passes through all links, so it is done when a tenth more pages were fetched than the last
//! time. In between, `batch-pagerank` knows nothing of new pages; `partial-pagerank` takes one pass through the links, and
//! gives a page that has no rank what the pages that link to it pass on.

use std::path::Path;

use frontier::{Strategy, Term, forward_rank};
use model::PageId;
use store::{LinkLogReader, RankColumn, Ranked, ScanRow};

use crate::crawl_settings::CrawlSettings;
use crate::error::Error;

/// Ranks of pages, by number.
#[derive(Debug, Default)]
pub(crate) struct PageRanks {
    /// In the order of [`Term::RANKS`]; nothing where nobody asks. That of [`Term::SiteRank`] is by site.
    columns: [Option<Vec<f32>>; Term::RANKS.len()],
    /// How many pages had been fetched when PageRank was computed.
    fetched: Option<u64>,
}

/// PageRank is computed again when so much more pages are fetched: 1/10.
const GROWTH: u64 = 10;
/// What comes to all pages alike, as in [`forward_rank`].
const JUMP: f32 = 0.15;

impl PageRanks {
    /// The ranks of a page; 0 where there is none.
    pub(crate) fn of(&self, row: &ScanRow) -> [f32; Term::RANKS.len()] {
        std::array::from_fn(|index| {
            let Some(column) = &self.columns[index] else { return 0.0 };
            let by_site = Term::RANKS[index] == Term::SiteRank;
            let number = if by_site { row.site.index() } else { row.page.index() };
            column.get(number).copied().unwrap_or(0.0)
        })
    }

    /// Brings up to date what the settings ask for.
    pub(crate) fn refresh(
        &mut self,
        folder: &Path,
        links: &LinkLogReader,
        settings: &CrawlSettings,
        pages: u32,
        fetched: u64,
    ) -> Result<(), Error> {
        if is_computed(settings.strategy) {
            self.compute(links, settings.strategy, pages, fetched)?;
        }
        self.read(folder, settings)
    }

    /// Reads the columns of the last analysis that are asked for and not here.
    pub(crate) fn read(&mut self, folder: &Path, settings: &CrawlSettings) -> Result<(), Error> {
        let weights = settings.weights();
        for (column, term) in self.columns.iter_mut().zip(Term::RANKS) {
            let is_own = term == Term::PageRank && is_computed(settings.strategy);
            if weights[term] == 0.0 || column.is_some() || is_own {
                continue;
            }
            let of = if term == Term::SiteRank { Ranked::Sites } else { Ranked::Pages };
            let read = RankColumn::<f32>::open(folder, of, term.as_str())?;
            *column = Some(read.ok_or(Error::NotAnalysed { term })?.read_all()?);
        }
        Ok(())
    }

    fn compute(
        &mut self,
        links: &LinkLogReader,
        strategy: Strategy,
        pages: u32,
        fetched: u64,
    ) -> Result<(), Error> {
        let [ranks, ..] = &mut self.columns;
        let ranks = ranks.get_or_insert_default();
        if self.fetched.is_none_or(|before| fetched > before + before / GROWTH) {
            let exact = forward_rank(pages as usize, |each| for_each_page(links, |page, to| each(page, to)))?;
            *ranks = exact.into_iter().map(|rank| rank as f32).collect();
            self.fetched = Some(fetched);
        } else if strategy == Strategy::PartialPageRank {
            estimate(links, ranks, pages)?;
        }
        Ok(())
    }
}

/// Whether the manager computes PageRank itself.
fn is_computed(strategy: Strategy) -> bool {
    matches!(strategy, Strategy::BatchPageRank | Strategy::PartialPageRank)
}

/// Gives pages that have no rank what others pass on to them.
fn estimate(links: &LinkLogReader, ranks: &mut Vec<f32>, pages: u32) -> Result<(), Error> {
    let known = ranks.len();
    let mut new = vec![JUMP / pages.max(1) as f32; (pages as usize).saturating_sub(known)];
    for_each_page(links, |page, targets| {
        let Some(rank) = ranks.get(page.index()) else { return };
        let share = (1.0 - JUMP) * rank / targets.len() as f32;
        for target in targets {
            if let Some(new) = target.index().checked_sub(known).and_then(|index| new.get_mut(index)) {
                *new += share;
            }
        }
    })?;
    ranks.extend(new);
    Ok(())
}

/// Calls `each` with every page that has links, and the pages that it links to.
fn for_each_page(links: &LinkLogReader, mut each: impl FnMut(PageId, &[PageId])) -> Result<(), Error> {
    let mut targets = Vec::new();
    links.for_each(|source, links| {
        targets.clear();
        targets.extend(links.iter().map(|link| link.target));
        each(source, &targets);
        Ok(())
    })?;
    Ok(())
}
