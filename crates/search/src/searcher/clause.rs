//! What does a condition become? A query of tantivy that pages have to fit, need not fit, or must not fit.

use tantivy::query::{AllQuery, BooleanQuery, ConstScoreQuery, EmptyQuery, Occur, Query};

/// What a condition adds to a score that only chooses.
pub(super) const NO_SCORE: f32 = 0.0;

/// What a condition became.
pub(super) enum Clause {
    /// It says nothing: punctuation alone.
    Nothing,
    /// A word so frequent that some languages leave it out of the index: nice to have, beside others.
    Wish(Wish),
    /// One of them has to fit; of none, nothing fits.
    Any(Vec<Box<dyn Query>>),
    /// It must not fit.
    Not(Box<dyn Query>),
}

/// A word that pages need not have.
pub(super) struct Wish {
    pub(super) queries: Vec<Box<dyn Query>>,
    /// Pages in a language that leaves it out; nothing if most pages are.
    pub(super) excused: Option<Box<dyn Query>>,
}

impl Wish {
    /// What it means where other words are required.
    pub(super) fn beside_others(mut self) -> (Occur, Box<dyn Query>) {
        let Some(excused) = self.excused else { return (Occur::Should, Box::new(EmptyQuery)) };
        self.queries.push(excused);
        (Occur::Must, one_of(self.queries))
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
        Clause::Wish(Wish { queries, .. }) | Clause::Any(queries) => one_of(queries),
        Clause::Not(query) => {
            Box::new(BooleanQuery::new(vec![(Occur::Must, every_page()), (Occur::MustNot, query)]))
        }
    }
}

pub(super) fn every_page() -> Box<dyn Query> {
    Box::new(ConstScoreQuery::new(Box::new(AllQuery), NO_SCORE))
}
