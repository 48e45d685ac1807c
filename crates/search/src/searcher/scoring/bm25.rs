//! BM25 of a term or phrase in a field (Robertson and Zaragoza, 2009):
//!
//! ```text
//! BM25 = idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / mean length))      idf = ln(1 + (N - n + ½) / (n + ½))
//! ```
//!
//! Tantivy has the same formula with fixed k1 = 1.2 and b = 0.75. The values here were chosen by cross-validation on two test collections;
//! see docs/search.md.

use std::sync::Arc;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::Field;
use tantivy::{Score, Term};

/// Saturation of the term frequency.
const K1: Score = 1.5;
/// Influence b of the length of a text, for all fields but anchor texts.
pub(crate) const TEXT_B: Score = 0.6;
/// Influence b of the length of anchor texts: a page does not lose by further links to it.
pub(crate) const ANCHOR_B: Score = 0.0;

/// Lengths are stored in one byte.
const LENGTH_IDS: usize = 256;

/// BM25 of one term or phrase in a field.
#[derive(Clone)]
pub(crate) struct Bm25 {
    /// idf · (k1 + 1), multiplied by the weight of the field.
    weight: Score,
    /// k1 · (1 - b + b · length / mean length), by the id of the length.
    norms: Arc<[Score; LENGTH_IDS]>,
}

impl Bm25 {
    /// Creates the BM25 of a phrase of some terms of a field, with the influence b of the length; its idf is the sum over the terms.
    pub(crate) fn for_terms(
        statistics: &dyn Bm25StatisticsProvider,
        field: Field,
        b: Score,
        terms: &[&Term],
    ) -> tantivy::Result<Bm25> {
        let page_count = statistics.total_num_docs()?;
        let mean_length = statistics.total_num_tokens(field)? as Score / page_count.max(1) as Score;
        let mut idf_sum = 0.0;
        for term in terms {
            idf_sum += idf(statistics.doc_freq(term)?.min(page_count), page_count);
        }
        let norm = |id: usize| {
            let length = FieldNormReader::id_to_fieldnorm(id as u8) as Score;
            K1 * (1.0 - b + b * length / mean_length.max(Score::MIN_POSITIVE))
        };
        Ok(Bm25 { weight: idf_sum * (K1 + 1.0), norms: Arc::new(std::array::from_fn(norm)) })
    }

    /// Multiplies the score by a weight.
    pub(crate) fn boosted(&self, boost: Score) -> Bm25 {
        Bm25 { weight: self.weight * boost, norms: Arc::clone(&self.norms) }
    }

    /// Score of a page with this frequency, by the id of the length of the field.
    pub(crate) fn score(&self, length_id: u8, frequency: u32) -> Score {
        let frequency = frequency as Score;
        self.weight * frequency / (frequency + self.norms[usize::from(length_id)])
    }
}

fn idf(pages_with_term: u64, page_count: u64) -> Score {
    let ratio = ((page_count - pages_with_term) as Score + 0.5) / (pages_with_term as Score + 0.5);
    (1.0 + ratio).ln()
}
