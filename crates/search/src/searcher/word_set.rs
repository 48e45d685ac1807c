//! Which pages have any of very many words? Their lists are put together before the first page is shown, as far as time allows.

use tantivy::postings::BlockSegmentPostings;
use tantivy::query::{BitSetDocSet, ConstScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{BitSet, DocId, DocSet, Score, SegmentReader, TantivyError, Term};

use super::deadline::Deadline;

/// Pages with any of some words in one field; all count the same.
#[derive(Debug, Clone)]
pub(super) struct WordSetQuery {
    pub(super) field: Field,
    pub(super) terms: Vec<Term>,
    pub(super) deadline: Deadline,
}

impl Query for WordSetQuery {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.clone()))
    }
}

impl Weight for WordSetQuery {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let index = reader.inverted_index(self.field)?;
        let mut pages = BitSet::with_max_value(reader.max_doc());
        for term in &self.terms {
            if self.deadline.is_over() {
                break;
            }
            if let Some(postings) = index.read_block_postings(term, IndexRecordOption::Basic)? {
                add_all(postings, &mut pages);
            }
        }
        Ok(Box::new(ConstScorer::new(BitSetDocSet::from(pages), boost)))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        let mut scorer = self.scorer(reader, 1.0)?;
        if scorer.doc() <= doc && scorer.seek(doc) == doc {
            return Ok(Explanation::new("one of the words", scorer.score()));
        }
        Err(TantivyError::InvalidArgument(format!("document {doc} does not match")))
    }
}

fn add_all(mut postings: BlockSegmentPostings, pages: &mut BitSet) {
    while !postings.docs().is_empty() {
        for doc in postings.docs() {
            pages.insert(*doc);
        }
        postings.advance();
    }
}
