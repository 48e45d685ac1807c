//! Bonus for adjacent words of a query that are adjacent, or near each other, in a page: the sequential dependence model (Metzler and
//! Croft, 2005).
//!
//! Reading positions is expensive, so the bonus is computed only for the best hits by words. Their number is fixed: the order of the hits
//! does not depend on the requested page of results.

use tantivy::SeekDangerResult;
use tantivy::query::{EnableScoring, Query};

use crate::searcher::candidate::Candidate;
use crate::searcher::scoring::bm25_statistics::TermStatistics;

/// Weight of two words in the order of the query, relative to a single word.
pub(crate) const ADJACENT_WEIGHT: f32 = 0.15;
/// Weight of two words near each other, in any order.
pub(crate) const NEAR_WEIGHT: f32 = 0.1;
/// Maximum distance of near words.
pub(crate) const MAX_NEAR_WORDS: u16 = 7;
/// Number of hits that get the bonus.
pub(crate) const RESCORED_HITS: usize = 200;

/// Adds the bonus to the best hits and sorts them again.
pub(crate) fn rescore(
    pairs: &[(String, Box<dyn Query>)],
    searcher: &tantivy::Searcher,
    statistics: &TermStatistics,
    top: &mut [Candidate],
) -> tantivy::Result<()> {
    let count = top.len().min(RESCORED_HITS);
    let best = &mut top[..count];
    best.sort_unstable_by_key(|candidate| (candidate.segment, candidate.doc));
    let scoring = EnableScoring::enabled_from_statistics_provider(statistics, searcher);
    for (_, pair) in pairs {
        let weight = pair.weight(scoring)?;
        for of_segment in best.chunk_by_mut(|one, other| one.segment == other.segment) {
            let Some((first, others)) = of_segment.split_first_mut() else { continue };
            let reader = searcher.segment_reader(first.segment);
            let (found, mut scorer) = weight.scorer_danger(reader, first.doc, 1.0)?;
            if found == SeekDangerResult::Found {
                first.add(scorer.score());
            }
            for candidate in others {
                if scorer.seek_danger(candidate.doc) == SeekDangerResult::Found {
                    candidate.add(scorer.score());
                }
            }
        }
    }
    best.iter_mut().for_each(|candidate| candidate.is_rescored = true);
    best.sort_unstable_by(Candidate::order);
    Ok(())
}
