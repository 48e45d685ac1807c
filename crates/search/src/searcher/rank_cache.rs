//! Cache of the rank columns of the last analysis, read at the first search and again after a newer analysis.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use store::{RankColumn, RankColumnInfo, RankTarget, RankValue, list_ranks};

use super::{Ranking, SharedColumn};
use crate::error::{Error, Result};

const PAGERANK: &str = "pagerank";
const IN_DEGREE: &str = "in-degree";
const OUT_DEGREE: &str = "out-degree";
const NEAR_GROUP: &str = "near-group";

/// Cached columns, 20 bytes per page, with their identity.
pub(super) struct RankCache {
    dir: PathBuf,
    ranking: Ranking,
    cached: Mutex<Option<(Vec<RankColumnInfo>, Arc<RankSnapshot>)>>,
}

/// Columns of one analysis. Pages discovered after it have no values.
#[derive(Debug, Default)]
pub(super) struct RankSnapshot {
    pagerank: SharedColumn<f32>,
    inlinks: Option<SharedColumn<u32>>,
    outlinks: Option<SharedColumn<u32>>,
    /// Cluster of near duplicates; 0 for none.
    near_group: Vec<u32>,
    /// Contribution of PageRank to the score.
    link_scores: Vec<f32>,
    max_link_score: f32,
}

impl RankCache {
    pub(super) fn new(dir: &Path, ranking: &Ranking) -> RankCache {
        RankCache { dir: dir.to_owned(), ranking: ranking.clone(), cached: Mutex::new(None) }
    }

    /// Returns the columns of the last analysis.
    pub(super) fn current(&self) -> Result<Arc<RankSnapshot>> {
        let mut entries = list_ranks(&self.dir)?;
        entries.retain(|entry| {
            let is_used = [PAGERANK, IN_DEGREE, OUT_DEGREE, NEAR_GROUP].contains(&entry.name.as_str());
            entry.target == RankTarget::Pages && is_used
        });
        // A panic while the lock was held left the cache unchanged.
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, ranks)) = cached.as_ref().filter(|(known, _)| *known == entries) {
            return Ok(Arc::clone(ranks));
        }
        let ranks = Arc::new(RankSnapshot::read(&self.dir, &self.ranking)?);
        *cached = Some((entries, Arc::clone(&ranks)));
        Ok(ranks)
    }
}

impl RankSnapshot {
    fn read(dir: &Path, ranking: &Ranking) -> Result<RankSnapshot> {
        let pagerank = column::<f32>(dir, PAGERANK)?.unwrap_or_default();
        let relative = pagerank.len() as f32;
        let link_score = |pagerank: &f32| {
            let score = pagerank * relative;
            ranking.pagerank * score / (score + ranking.pagerank_half)
        };
        let link_scores: Vec<f32> = pagerank
            .iter()
            .map(link_score)
            .map(|score| if score.is_finite() { score } else { 0.0 })
            .collect();
        let max_link_score = link_scores.iter().copied().fold(0.0, f32::max);
        Ok(RankSnapshot {
            pagerank: Arc::new(pagerank),
            inlinks: column(dir, IN_DEGREE)?.map(Arc::new),
            outlinks: column(dir, OUT_DEGREE)?.map(Arc::new),
            near_group: column(dir, NEAR_GROUP)?.unwrap_or_default(),
            link_scores,
            max_link_score,
        })
    }

    /// Contribution of the PageRank of a page to its score.
    pub(super) fn link_score(&self, page: u32) -> f32 {
        self.link_scores.get(page as usize).copied().unwrap_or(0.0)
    }

    /// Maximum contribution of PageRank.
    pub(super) fn max_link_score(&self) -> f32 {
        self.max_link_score
    }

    pub(super) fn pagerank(&self, page: u32) -> Option<f32> {
        self.pagerank.get(page as usize).copied()
    }

    /// PageRank as a multiple of the mean.
    pub(super) fn relative_pagerank(&self, page: u32) -> f32 {
        self.pagerank(page).unwrap_or(0.0) * self.pagerank.len() as f32
    }

    pub(super) fn inlinks(&self, page: u32) -> Option<u32> {
        self.inlinks.as_ref()?.get(page as usize).copied()
    }

    /// Cluster of near duplicates of a page.
    pub(super) fn near_group(&self, page: u32) -> Option<u32> {
        self.near_group.get(page as usize).copied().filter(|group| *group != 0)
    }

    pub(super) fn pagerank_column(&self) -> Result<SharedColumn<f32>> {
        let known = (!self.pagerank.is_empty()).then(|| Arc::clone(&self.pagerank));
        known.ok_or(Error::NotAnalysed { condition: "pagerank" })
    }

    pub(super) fn inlink_column(&self) -> Result<SharedColumn<u32>> {
        self.inlinks.clone().ok_or(Error::NotAnalysed { condition: "inlinks" })
    }

    pub(super) fn outlink_column(&self) -> Result<SharedColumn<u32>> {
        self.outlinks.clone().ok_or(Error::NotAnalysed { condition: "outlinks" })
    }
}

fn column<V: RankValue>(dir: &Path, name: &str) -> Result<Option<Vec<V>>> {
    let column = RankColumn::<V>::open(dir, RankTarget::Pages, name)?;
    Ok(column.map(|column| column.read_all()).transpose()?)
}
