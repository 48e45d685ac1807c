//! Clauses of a compiled query: required, optional or excluded queries of tantivy.

use tantivy::query::{AllQuery, BooleanQuery, ConstScoreQuery, EmptyQuery, Occur, Query};

/// Score of a clause that only filters.
pub(crate) const NO_SCORE: f32 = 0.0;

/// Compiled condition.
pub(crate) enum Clause {
    /// Condition without words, such as punctuation.
    Empty,
    /// Conjunction of words that are stop words in some languages.
    Optional(Vec<OptionalClause>),
    /// Disjunction; an empty one matches nothing.
    Any(Vec<Box<dyn Query>>),
    /// Exclusion.
    Not(Box<dyn Query>),
}

/// Word that is a stop word in some languages. Pages in these languages match without it, since they are indexed without it.
pub(crate) struct OptionalClause {
    pub(crate) queries: Vec<Box<dyn Query>>,
    /// Query for the pages in these languages.
    pub(crate) exempt: Box<dyn Query>,
}

impl OptionalClause {
    /// Query for the pages that have the word or are exempt.
    pub(crate) fn into_query(mut self) -> Box<dyn Query> {
        self.queries.push(self.exempt);
        any_of(self.queries)
    }

    /// Queries for the words, without exemption.
    pub(crate) fn required(clauses: Vec<OptionalClause>) -> Vec<Box<dyn Query>> {
        clauses.into_iter().flat_map(|clause| clause.queries).collect()
    }
}

/// Disjunction of queries; matches nothing if there are none.
pub(crate) fn any_of(mut queries: Vec<Box<dyn Query>>) -> Box<dyn Query> {
    match (queries.len(), queries.pop()) {
        (_, None) => Box::new(EmptyQuery),
        (1, Some(only)) => only,
        (_, Some(last)) => {
            queries.push(last);
            Box::new(BooleanQuery::union(queries))
        }
    }
}

/// Converts a clause to a query that can stand alone.
pub(crate) fn into_positive_query(clause: Clause) -> Box<dyn Query> {
    match clause {
        Clause::Empty => all_pages(),
        Clause::Optional(clauses) => any_of(OptionalClause::required(clauses)),
        Clause::Any(queries) => any_of(queries),
        Clause::Not(query) => {
            Box::new(BooleanQuery::new(vec![(Occur::Must, all_pages()), (Occur::MustNot, query)]))
        }
    }
}

pub(crate) fn all_pages() -> Box<dyn Query> {
    Box::new(ConstScoreQuery::new(Box::new(AllQuery), NO_SCORE))
}
