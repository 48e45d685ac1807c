//! How important is each page by the links between all of them?
//!
//! The ranks of the last analysis, as far as the weights ask for them; and PageRank over the links of the last commit, which the manager
//! computes itself for the strategies `batch-pagerank` and `partial-pagerank`. Four bytes a page and rank are in memory.
//!
//! Computing costs some dozens of passes through all links, so it is done when a tenth more pages were fetched than the last
//! time. In between, `batch-pagerank` knows nothing of new pages; `partial-pagerank` takes one pass through the links, and
//! gives a page that has no rank what the pages that link to it pass on.

use std::path::Path;

use frontier::{JUMP, Strategy, Term, forward_rank};
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
    let mut new = vec![JUMP as f32 / pages.max(1) as f32; (pages as usize).saturating_sub(known)];
    for_each_page(links, |page, targets| {
        let Some(rank) = ranks.get(page.index()) else { return };
        let share = (1.0 - JUMP as f32) * rank / targets.len() as f32;
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

#[cfg(test)]
mod tests {
    use store::{Link, LinkLog, Manifest};

    use super::*;

    /// Each page with those that it links to.
    fn log(folder: &Path, pages: &[(u32, &[u32])]) -> LinkLogReader {
        std::fs::create_dir_all(folder.join("links")).unwrap();
        let mut log = LinkLog::open(folder, &Manifest::empty()).unwrap();
        for (page, targets) in pages {
            let link = |target: &u32| Link {
                target: PageId(*target),
                kind: 0,
                context: 0,
                anchor_chars: 0,
                position: 0,
            };
            log.append(PageId(*page), targets.iter().map(link)).unwrap();
        }
        let files = log.commit(1).unwrap();
        LinkLogReader::open(folder, &Manifest { generation: 1, files, ..Manifest::empty() }).unwrap()
    }

    fn ranks(ranks: &PageRanks) -> Vec<f32> {
        ranks.columns[0].clone().unwrap()
    }

    #[test]
    fn pages_met_since_have_what_is_passed_on_to_them_until_a_tenth_more_is_fetched() {
        let folder = tempfile::tempdir().unwrap();
        let links = log(folder.path(), &[(0, &[1, 2]), (1, &[0]), (2, &[0])]);
        for strategy in [Strategy::BatchPageRank, Strategy::PartialPageRank] {
            let settings = CrawlSettings { strategy, ..CrawlSettings::default() };
            let mut page_ranks = PageRanks::default();
            page_ranks.refresh(folder.path(), &links, &settings, 3, 30).unwrap();
            let exact = ranks(&page_ranks);
            assert!((exact.iter().sum::<f32>() - 1.0).abs() < 1e-6 && exact[0] > exact[1]);
            // Page 1 has a new link, to page 3.
            let more = tempfile::tempdir().unwrap();
            let links = log(more.path(), &[(0, &[1, 2]), (1, &[0, 3]), (2, &[0])]);
            page_ranks.refresh(folder.path(), &links, &settings, 4, 32).unwrap();
            let new = ranks(&page_ranks);
            assert_eq!(new[..3], exact[..]);
            let expected = [JUMP as f32 / 4.0 + (1.0 - JUMP as f32) * exact[1] / 2.0];
            let met = if strategy == Strategy::PartialPageRank { &expected[..] } else { &[] };
            assert_eq!(&new[3..], met);
            page_ranks.refresh(folder.path(), &links, &settings, 4, 34).unwrap();
            assert_eq!(ranks(&page_ranks).len(), 4);
            assert!((ranks(&page_ranks).iter().sum::<f32>() - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn the_ranks_of_an_analysis_are_read_or_missed_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let links = log(folder.path(), &[]);
        let weights = [(Term::Hub, 1.0), (Term::SiteRank, 1.0)].into_iter().collect();
        let settings = CrawlSettings { own_weights: Some(weights), ..CrawlSettings::default() };
        let refresh = |ranks: &mut PageRanks| ranks.refresh(folder.path(), &links, &settings, 2, 0);
        store::write_ranks(folder.path(), Ranked::Pages, "hub", 1, [0.25_f32, 0.75]).unwrap();
        let error = refresh(&mut PageRanks::default()).unwrap_err().to_string();
        assert!(error.contains("nobody has computed site-rank yet"), "{error}");
        store::write_ranks(folder.path(), Ranked::Sites, "site-rank", 1, [0.5_f32]).unwrap();
        let mut page_ranks = PageRanks::default();
        refresh(&mut page_ranks).unwrap();
        let record = store::PageRecord::new(model::SiteId(0), 0, store::PageFlags::default());
        let of = |page: u32| page_ranks.of(&ScanRow::of(PageId(page), &record));
        assert_eq!((of(1), of(2)), ([0.0, 0.75, 0.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0, 0.5]));
    }
}
