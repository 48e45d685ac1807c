//! What does the last analysis say of each page? Columns by page id, read when somebody first asks, and again when there are
//! newer ones.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use store::{RankColumn, RankEntry, RankValue, Ranked, list_ranks};

use super::{Ranking, Shared};
use crate::error::{Error, Result};

const PAGERANK: &str = "pagerank";
const IN_DEGREE: &str = "in-degree";
const OUT_DEGREE: &str = "out-degree";
const NEAR_GROUP: &str = "near-group";

/// The columns in memory, and which they are; 20 bytes a page.
pub(super) struct RankCache {
    folder: PathBuf,
    ranking: Ranking,
    held: Mutex<Option<(Vec<RankEntry>, Arc<Ranks>)>>,
}

/// What is known of pages. A page that became known later than the analysis has nothing.
#[derive(Debug, Default)]
pub(super) struct Ranks {
    pagerank: Shared<f32>,
    in_links: Option<Shared<u32>>,
    out_links: Option<Shared<u32>>,
    /// 0 for a page that is like no other, or a number that pages with nearly the same text share.
    near_group: Vec<u32>,
    /// What links add to the score.
    link_scores: Vec<f32>,
    most_link_score: f32,
}

impl RankCache {
    pub(super) fn new(folder: &Path, ranking: &Ranking) -> RankCache {
        RankCache { folder: folder.to_owned(), ranking: ranking.clone(), held: Mutex::new(None) }
    }

    /// Those of the last analysis, now.
    pub(super) fn current(&self) -> Result<Arc<Ranks>> {
        let mut entries = list_ranks(&self.folder)?;
        entries.retain(|entry| {
            let is_used = [PAGERANK, IN_DEGREE, OUT_DEGREE, NEAR_GROUP].contains(&entry.name.as_str());
            entry.of == Ranked::Pages && is_used
        });
        // Whoever died with the lock in his hands had changed nothing yet.
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, ranks)) = held.as_ref().filter(|(known, _)| *known == entries) {
            return Ok(Arc::clone(ranks));
        }
        let ranks = Arc::new(Ranks::read(&self.folder, &self.ranking)?);
        *held = Some((entries, Arc::clone(&ranks)));
        Ok(ranks)
    }
}

impl Ranks {
    fn read(folder: &Path, ranking: &Ranking) -> Result<Ranks> {
        let pagerank = column::<f32>(folder, PAGERANK)?.unwrap_or_default();
        let relative = pagerank.len() as f32;
        let link_score = |pagerank: &f32| {
            let score = pagerank * relative;
            ranking.links * score / (score + ranking.links_half)
        };
        let link_scores: Vec<f32> = pagerank
            .iter()
            .map(link_score)
            .map(|score| if score.is_finite() { score } else { 0.0 })
            .collect();
        let most_link_score = link_scores.iter().copied().fold(0.0, f32::max);
        Ok(Ranks {
            pagerank: Arc::new(pagerank),
            in_links: column(folder, IN_DEGREE)?.map(Arc::new),
            out_links: column(folder, OUT_DEGREE)?.map(Arc::new),
            near_group: column(folder, NEAR_GROUP)?.unwrap_or_default(),
            link_scores,
            most_link_score,
        })
    }

    /// What the links of a page add to its score.
    pub(super) fn link_score(&self, page: u32) -> f32 {
        self.link_scores.get(page as usize).copied().unwrap_or(0.0)
    }

    /// No page has more.
    pub(super) fn most_link_score(&self) -> f32 {
        self.most_link_score
    }

    pub(super) fn pagerank(&self, page: u32) -> Option<f32> {
        self.pagerank.get(page as usize).copied()
    }

    /// How many times the mean.
    pub(super) fn relative(&self, page: u32) -> f32 {
        self.pagerank(page).unwrap_or(0.0) * self.pagerank.len() as f32
    }

    pub(super) fn in_links(&self, page: u32) -> Option<u32> {
        self.in_links.as_ref()?.get(page as usize).copied()
    }

    /// The group of near duplicates that a page is in.
    pub(super) fn near_group(&self, page: u32) -> Option<u32> {
        self.near_group.get(page as usize).copied().filter(|group| *group != 0)
    }

    pub(super) fn pageranks(&self) -> Result<Shared<f32>> {
        let known = (!self.pagerank.is_empty()).then(|| Arc::clone(&self.pagerank));
        known.ok_or(Error::NotAnalysed { condition: "pagerank" })
    }

    pub(super) fn all_in_links(&self) -> Result<Shared<u32>> {
        self.in_links.clone().ok_or(Error::NotAnalysed { condition: "inlinks" })
    }

    pub(super) fn all_out_links(&self) -> Result<Shared<u32>> {
        self.out_links.clone().ok_or(Error::NotAnalysed { condition: "outlinks" })
    }
}

fn column<V: RankValue>(folder: &Path, name: &str) -> Result<Option<Vec<V>>> {
    let column = RankColumn::<V>::open(folder, Ranked::Pages, name)?;
    Ok(column.map(|column| column.read_all()).transpose()?)
}
