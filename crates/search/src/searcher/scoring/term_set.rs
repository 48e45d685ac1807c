//! Query for any of many terms: the union of their posting lists as a bit set, built within the deadline.

use tantivy::postings::BlockSegmentPostings;
use tantivy::query::{BitSetDocSet, ConstScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{BitSet, DocId, DocSet, Score, SegmentReader, TantivyError, Term};

use crate::searcher::deadline::Deadline;

/// Query for any of some terms of a field, with a constant score.
#[derive(Debug, Clone)]
pub(crate) struct TermSetQuery {
    pub(crate) field: Field,
    pub(crate) terms: Vec<Term>,
    pub(crate) deadline: Deadline,
}

impl Query for TermSetQuery {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.clone()))
    }
}

impl Weight for TermSetQuery {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let index = reader.inverted_index(self.field)?;
        let mut pages = BitSet::with_max_value(reader.max_doc());
        for term in &self.terms {
            if self.deadline.is_expired() {
                break;
            }
            if let Some(postings) = index.read_block_postings(term, IndexRecordOption::Basic)? {
                insert_postings(postings, &mut pages);
            }
        }
        Ok(Box::new(ConstScorer::new(BitSetDocSet::from(pages), boost)))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        let mut scorer = self.scorer(reader, 1.0)?;
        if scorer.doc() <= doc && scorer.seek(doc) == doc {
            return Ok(Explanation::new("one of the terms", scorer.score()));
        }
        Err(TantivyError::InvalidArgument(format!("document {doc} does not match")))
    }
}

fn insert_postings(mut postings: BlockSegmentPostings, pages: &mut BitSet) {
    while !postings.docs().is_empty() {
        for doc in postings.docs() {
            pages.insert(*doc);
        }
        postings.advance();
    }
}
