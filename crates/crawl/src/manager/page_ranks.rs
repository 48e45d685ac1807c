//! Link-based ranks of pages.
//!
//! Ranks of the last analysis, as far as they have a weight; and PageRank over the links of the last commit, which the manager
//! computes itself for the strategies `batch-pagerank` and `partial-pagerank`. They need four bytes of memory per page and rank.
//!
//! PageRank takes some dozens of passes over all links, so it is recomputed only when the number of fetched pages has grown by a
//! tenth. In between, `batch-pagerank` has no rank for new pages; `partial-pagerank` makes one pass over the links and estimates
//! the rank of a new page from the pages that link to it.

use std::path::Path;

use frontier::{QualityTerm, Strategy, TELEPORT_PROBABILITY, streaming_pagerank};
use harvest::settings::crawl_settings::CrawlSettings;
use model::PageId;
use store::{LinkLogReader, RankColumn, RankTarget, ScanRow};

use crate::error::Error;

/// Ranks of pages.
#[derive(Debug, Default)]
pub(crate) struct PageRanks {
    /// In the order of [`QualityTerm::RANKS`], `None` without a weight; [`QualityTerm::SiteRank`] is indexed by site.
    columns: [Option<LoadedRank>; QualityTerm::RANKS.len()],
    /// Number of fetched pages when PageRank was computed.
    fetched: Option<u64>,
}

#[derive(Debug, Default)]
struct LoadedRank {
    ranks: Vec<f32>,
    /// Generation of the analysed commit; `None` for a rank computed by the manager.
    generation: Option<u64>,
}

/// Growth of the number of fetched pages after which PageRank is recomputed: 1/10.
const RECOMPUTE_GROWTH: u64 = 10;

impl PageRanks {
    /// Ranks of a page; 0 for a rank that is not computed.
    pub(crate) fn for_page(&self, row: &ScanRow) -> [f32; QualityTerm::RANKS.len()] {
        std::array::from_fn(|index| {
            let Some(column) = &self.columns[index] else { return 0.0 };
            let by_site = QualityTerm::RANKS[index] == QualityTerm::SiteRank;
            let number = if by_site { row.site.index() } else { row.page.index() };
            column.ranks.get(number).copied().unwrap_or(0.0)
        })
    }

    /// Updates the ranks that have a weight.
    pub(crate) fn refresh(
        &mut self,
        dir: &Path,
        links: &LinkLogReader,
        settings: &CrawlSettings,
        pages: u32,
        fetched: u64,
    ) -> Result<(), Error> {
        if is_computed(settings.strategy) {
            self.compute(links, settings.strategy, pages, fetched)?;
        }
        self.read(dir, settings)
    }

    /// Loads the ranks of the last analysis that have a weight, unless they are loaded and current.
    pub(crate) fn read(&mut self, dir: &Path, settings: &CrawlSettings) -> Result<(), Error> {
        if !QualityTerm::RANKS.into_iter().any(|term| is_read(settings, term)) {
            return Ok(());
        }
        let entries = store::list_ranks(dir)?;
        let of_term = self.columns.iter_mut().zip(QualityTerm::RANKS);
        for (column, term) in of_term.filter(|(_, term)| is_read(settings, *term)) {
            let newest = entries.iter().find(|entry| (entry.target, entry.name.as_str()) == name(term));
            let loaded = column.as_ref().and_then(|column| column.generation);
            if loaded.is_none() || newest.is_some_and(|newest| Some(newest.generation) != loaded) {
                let read = open(dir, term)?;
                *column = Some(LoadedRank { ranks: read.read_all()?, generation: Some(read.generation()) });
            }
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
        let [column, ..] = &mut self.columns;
        if column.as_ref().is_some_and(|column| column.generation.is_some()) {
            // It was loaded under earlier settings.
            (*column, self.fetched) = (None, None);
        }
        let ranks = &mut column.get_or_insert_default().ranks;
        if self.fetched.is_none_or(|before| fetched > before + before / RECOMPUTE_GROWTH) {
            let exact = streaming_pagerank(pages as usize, |visit| {
                for_each_page(links, |page, targets| visit(page, targets))
            })?;
            *ranks = exact.into_iter().map(|rank| rank as f32).collect();
            self.fetched = Some(fetched);
        } else if strategy == Strategy::PartialPageRank {
            estimate(links, ranks, pages)?;
        }
        Ok(())
    }
}

/// Checks that all ranks with a weight exist.
pub fn check_ranks(dir: &Path, settings: &CrawlSettings) -> Result<(), Error> {
    QualityTerm::RANKS
        .into_iter()
        .filter(|term| is_read(settings, *term))
        .try_for_each(|term| open(dir, term).map(drop))
}

fn open(dir: &Path, term: QualityTerm) -> Result<RankColumn<f32>, Error> {
    let (of, name) = name(term);
    RankColumn::open(dir, of, name)?.ok_or(Error::RankNotComputed { term })
}

/// Name of a rank in the analysis.
fn name(term: QualityTerm) -> (RankTarget, &'static str) {
    (if term == QualityTerm::SiteRank { RankTarget::Sites } else { RankTarget::Pages }, term.as_str())
}

/// Whether a rank has a weight and comes from an analysis.
fn is_read(settings: &CrawlSettings, term: QualityTerm) -> bool {
    let is_computed_here = term == QualityTerm::PageRank && is_computed(settings.strategy);
    settings.weights()[term] != 0.0 && !is_computed_here
}

/// Whether the manager computes PageRank itself.
fn is_computed(strategy: Strategy) -> bool {
    matches!(strategy, Strategy::BatchPageRank | Strategy::PartialPageRank)
}

/// Estimates the rank of new pages from the pages that link to them.
fn estimate(links: &LinkLogReader, ranks: &mut Vec<f32>, pages: u32) -> Result<(), Error> {
    let known = ranks.len();
    let mut new =
        vec![TELEPORT_PROBABILITY as f32 / pages.max(1) as f32; (pages as usize).saturating_sub(known)];
    for_each_page(links, |page, targets| {
        let Some(rank) = ranks.get(page.index()) else { return };
        let share = (1.0 - TELEPORT_PROBABILITY as f32) * rank / targets.len() as f32;
        for target in targets {
            if let Some(new) = target.index().checked_sub(known).and_then(|index| new.get_mut(index)) {
                *new += share;
            }
        }
    })?;
    ranks.extend(new);
    Ok(())
}

/// Calls `visit` for each page with outlinks and their targets, without those to the page itself.
fn for_each_page(links: &LinkLogReader, mut visit: impl FnMut(PageId, &[PageId])) -> Result<(), Error> {
    let mut targets = Vec::new();
    links.for_each(|source, links| {
        targets.clear();
        targets.extend(links.iter().map(|link| link.target).filter(|target| *target != source));
        visit(source, &targets);
        Ok(())
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use store::{Link, LinkLog, Manifest};

    use super::*;

    /// Writes a link log: pages and their targets.
    fn log(dir: &Path, pages: &[(u32, &[u32])]) -> LinkLogReader {
        std::fs::create_dir_all(dir.join("links")).unwrap();
        let mut log = LinkLog::open(dir, &Manifest::empty()).unwrap();
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
        LinkLogReader::open(dir, &Manifest { generation: 1, files, ..Manifest::empty() }).unwrap()
    }

    fn ranks(ranks: &PageRanks) -> Vec<f32> {
        ranks.columns[0].as_ref().unwrap().ranks.clone()
    }

    #[test]
    fn new_pages_get_an_estimated_rank_until_a_tenth_more_is_fetched() {
        let dir = tempfile::tempdir().unwrap();
        let links = log(dir.path(), &[(0, &[1, 2]), (1, &[0]), (2, &[0])]);
        for strategy in [Strategy::BatchPageRank, Strategy::PartialPageRank] {
            let settings = CrawlSettings { strategy, ..CrawlSettings::default() };
            let mut page_ranks = PageRanks::default();
            page_ranks.refresh(dir.path(), &links, &settings, 3, 30).unwrap();
            let exact = ranks(&page_ranks);
            assert!((exact.iter().sum::<f32>() - 1.0).abs() < 1e-6 && exact[0] > exact[1]);
            // Page 1 has a new link, to page 3.
            let more = tempfile::tempdir().unwrap();
            let links = log(more.path(), &[(0, &[1, 2]), (1, &[0, 3]), (2, &[0])]);
            page_ranks.refresh(dir.path(), &links, &settings, 4, 32).unwrap();
            let new = ranks(&page_ranks);
            assert_eq!(new[..3], exact[..]);
            let expected =
                [TELEPORT_PROBABILITY as f32 / 4.0 + (1.0 - TELEPORT_PROBABILITY as f32) * exact[1] / 2.0];
            let met = if strategy == Strategy::PartialPageRank { &expected[..] } else { &[] };
            assert_eq!(&new[3..], met);
            page_ranks.refresh(dir.path(), &links, &settings, 4, 34).unwrap();
            assert_eq!(ranks(&page_ranks).len(), 4);
            assert!((ranks(&page_ranks).iter().sum::<f32>() - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn ranks_of_an_analysis_are_loaded_or_reported_as_missing() {
        let dir = tempfile::tempdir().unwrap();
        let links = log(dir.path(), &[]);
        let weights = [(QualityTerm::Hub, 1.0), (QualityTerm::SiteRank, 1.0)].into_iter().collect();
        let settings = CrawlSettings { weight_overrides: Some(weights), ..CrawlSettings::default() };
        let refresh = |ranks: &mut PageRanks| ranks.refresh(dir.path(), &links, &settings, 2, 0);
        store::write_ranks(dir.path(), RankTarget::Pages, "hub", 1, [0.25_f32, 0.75]).unwrap();
        let error = refresh(&mut PageRanks::default()).unwrap_err().to_string();
        assert!(error.contains("the rank site-rank is not computed"), "{error}");
        store::write_ranks(dir.path(), RankTarget::Sites, "site-rank", 1, [0.5_f32]).unwrap();
        let mut page_ranks = PageRanks::default();
        refresh(&mut page_ranks).unwrap();
        let record = store::PageRecord::new(model::SiteId(0), 0, store::PageFlags::default());
        let of = |page: u32| page_ranks.for_page(&ScanRow::from_record(PageId(page), &record));
        assert_eq!((of(1), of(2)), ([0.0, 0.75, 0.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0, 0.5]));
    }

    #[test]
    fn newer_ranks_are_loaded_and_settings_may_change_their_source() {
        let dir = tempfile::tempdir().unwrap();
        let links = log(dir.path(), &[(0, &[1]), (1, &[0])]);
        let weights = [(QualityTerm::PageRank, 1.0)].into_iter().collect();
        let read = CrawlSettings { weight_overrides: Some(weights), ..CrawlSettings::default() };
        let computed = CrawlSettings { strategy: Strategy::BatchPageRank, ..CrawlSettings::default() };
        let mut page_ranks = PageRanks::default();
        let mut refreshed = |settings: &CrawlSettings| {
            page_ranks.refresh(dir.path(), &links, settings, 2, 10).map(|()| ranks(&page_ranks))
        };
        let computed_ranks = refreshed(&computed).unwrap();
        assert!((computed_ranks.iter().sum::<f32>() - 1.0).abs() < 1e-6, "{computed_ranks:?}");
        assert!(
            refreshed(&read).unwrap_err().to_string().contains("pagerank")
                && check_ranks(dir.path(), &read).is_err()
        );
        for (generation, values) in [(1, [0.25_f32, 0.75]), (2, [0.5, 0.125])] {
            store::write_ranks(dir.path(), RankTarget::Pages, "pagerank", generation, values).unwrap();
            assert_eq!(refreshed(&read).unwrap(), values);
        }
        check_ranks(dir.path(), &read).unwrap();
        assert_eq!(refreshed(&computed).unwrap(), computed_ranks);
    }
}
