//! What does a condition become? A query of tantivy that pages have to fit, need not fit, or must not fit.

use tantivy::query::{AllQuery, BooleanQuery, ConstScoreQuery, EmptyQuery, Occur, Query};

/// What a condition adds to a score that only chooses.
pub(super) const NO_SCORE: f32 = 0.0;

/// What a condition became.
pub(super) enum Clause {
    /// It says nothing: punctuation alone.
    Nothing,
    /// Words so frequent that some languages leave them out of the index, all of them asked for.
    Wishes(Vec<Wish>),
    /// One of them has to fit; of none, nothing fits.
    Any(Vec<Box<dyn Query>>),
    /// It must not fit.
    Not(Box<dyn Query>),
}

/// A word that pages in some languages leave out; a page in one of these counts as having it.
pub(super) struct Wish {
    pub(super) queries: Vec<Box<dyn Query>>,
    /// The pages in those languages.
    pub(super) excused: Box<dyn Query>,
}

impl Wish {
    /// The pages that have it, or count so.
    pub(super) fn fulfilled(mut self) -> Box<dyn Query> {
        self.queries.push(self.excused);
        one_of(self.queries)
    }

    /// The pages that surely have one of some.
    pub(super) fn surely(wishes: Vec<Wish>) -> Vec<Box<dyn Query>> {
        wishes.into_iter().flat_map(|wish| wish.queries).collect()
    }
}

/// A query that one of some fits; nothing fits none.
pub(super) fn one_of(mut queries: Vec<Box<dyn Query>>) -> Box<dyn Query> {
    match (queries.len(), queries.pop()) {
        (_, None) => Box::new(EmptyQuery),
        (1, Some(only)) => only,
        (_, Some(last)) => {
            queries.push(last);
            Box::new(BooleanQuery::union(queries))
        }
    }
}

/// What fits, as a query of its own.
pub(super) fn positive(clause: Clause) -> Box<dyn Query> {
    match clause {
        Clause::Nothing => every_page(),
        Clause::Wishes(wishes) => one_of(Wish::surely(wishes)),
        Clause::Any(queries) => one_of(queries),
        Clause::Not(query) => {
            Box::new(BooleanQuery::new(vec![(Occur::Must, every_page()), (Occur::MustNot, query)]))
        }
    }
}

pub(super) fn every_page() -> Box<dyn Query> {
    Box::new(ConstScoreQuery::new(Box::new(AllQuery), NO_SCORE))
}
