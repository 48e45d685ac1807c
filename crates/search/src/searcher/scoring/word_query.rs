//! Query for a word: its stems in several fields, scored by the sum of their BM25.
//!
//! A word has few posting lists, at most some per field. They are merged by comparing their current pages, which makes seeking in a
//! conjunction cheaper than the buffered union of tantivy.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::{EmptyScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, Score, SegmentReader, TERMINATED, TantivyError, Term};

use crate::searcher::scoring::bm25::Bm25;

/// Query for a word.
#[derive(Debug, Clone)]
pub(crate) struct WordQuery {
    /// Terms of all fields.
    pub(crate) terms: Vec<WordTerm>,
}

/// Term of a word in a field.
#[derive(Debug, Clone)]
pub(crate) struct WordTerm {
    pub(crate) term: Term,
    /// Weight of the field.
    pub(crate) weight: Score,
    /// Influence of the length of the field in BM25.
    pub(crate) b: Score,
}

impl Query for WordQuery {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let mut terms = Vec::with_capacity(self.terms.len());
        for WordTerm { term, weight, b } in &self.terms {
            let bm25 = match scoring {
                EnableScoring::Enabled { statistics_provider, .. } => {
                    Some(Bm25::for_terms(statistics_provider, term.field(), *b, &[term])?.boosted(*weight))
                }
                EnableScoring::Disabled { .. } => None,
            };
            terms.push((term.clone(), bm25));
        }
        Ok(Box::new(WordWeight { terms }))
    }
}

struct WordWeight {
    terms: Vec<(Term, Option<Bm25>)>,
}

impl Weight for WordWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let mut terms = Vec::with_capacity(self.terms.len());
        for (term, bm25) in &self.terms {
            let (index, option) = (reader.inverted_index(term.field())?, IndexRecordOption::WithFreqs);
            let Some(postings) = index.read_postings(term, option)? else { continue };
            let lengths = reader.fieldnorms_readers().get_field(term.field())?;
            let lengths = lengths.unwrap_or_else(|| FieldNormReader::constant(reader.max_doc(), 1));
            terms.push(TermPostings {
                postings,
                lengths,
                bm25: bm25.as_ref().map(|bm25| bm25.boosted(boost)),
            });
        }
        let Some(doc) = terms.iter().map(|term| term.postings.doc()).min() else {
            return Ok(Box::new(EmptyScorer));
        };
        Ok(Box::new(WordScorer { terms, doc, max_doc: reader.max_doc() }))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        let mut scorer = self.scorer(reader, 1.0)?;
        if scorer.doc() <= doc && scorer.seek(doc) == doc {
            return Ok(Explanation::new("word", scorer.score()));
        }
        Err(TantivyError::InvalidArgument(format!("document {doc} does not match")))
    }
}

/// Posting list of a term.
struct TermPostings {
    postings: SegmentPostings,
    lengths: FieldNormReader,
    /// `None` if scores are not needed.
    bm25: Option<Bm25>,
}

/// Scorer of a segment.
struct WordScorer {
    /// At least one.
    terms: Vec<TermPostings>,
    doc: DocId,
    max_doc: DocId,
}

impl DocSet for WordScorer {
    fn advance(&mut self) -> DocId {
        let mut next = TERMINATED;
        for term in &mut self.terms {
            let doc = term.postings.doc();
            next = next.min(if doc == self.doc { term.postings.advance() } else { doc });
        }
        self.doc = next;
        next
    }

    fn seek(&mut self, target: DocId) -> DocId {
        let mut next = TERMINATED;
        for term in &mut self.terms {
            let doc = term.postings.doc();
            next = next.min(if doc < target { term.postings.seek(target) } else { doc });
        }
        self.doc = next;
        next
    }

    fn doc(&self) -> DocId {
        self.doc
    }

    fn size_hint(&self) -> u32 {
        let pages: u64 = self.terms.iter().map(|term| u64::from(term.postings.doc_freq())).sum();
        u32::try_from(pages).unwrap_or(u32::MAX).min(self.max_doc)
    }
}

impl Scorer for WordScorer {
    fn score(&mut self) -> Score {
        let mut score = 0.0;
        for term in self.terms.iter().filter(|term| term.postings.doc() == self.doc) {
            score += match &term.bm25 {
                Some(bm25) => bm25.score(term.lengths.fieldnorm_id(self.doc), term.postings.term_freq()),
                None => 1.0,
            };
        }
        score
    }
}
