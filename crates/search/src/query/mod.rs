//! Query language: parses a line of text into conditions on pages.
//!
//! The syntax is described in `docs/search.md`. Length, number of terms and nesting are limited, so that the cost of a query is bounded. A
//! syntax error has a position and the expected input.
//!
//! Parsing needs neither index nor collection.

mod any_word_query;
mod condition;
mod lexer;
mod parser;
mod period;
mod query_error;

use std::fmt;

pub use condition::{Comparison, Condition, LinkCondition, NumericField, QueryField, WordPattern};
pub(crate) use lexer::is_name;
pub use period::Period;
pub use query_error::QueryError;

/// Maximum length of a query in bytes.
pub const MAX_QUERY_BYTES: usize = 4_096;
/// Maximum number of words, phrases and conditions.
pub const MAX_QUERY_TERMS: usize = 128;
/// Maximum number of words with wildcards; each expands to many terms.
pub const MAX_QUERY_WILDCARDS: usize = 8;
/// Maximum number of link conditions; each reads the link graph.
pub const MAX_QUERY_LINK_CONDITIONS: usize = 8;
/// Maximum nesting of parentheses and negations.
pub const MAX_QUERY_DEPTH: usize = 32;
/// Maximum distance of NEAR in words.
pub const MAX_NEAR_DISTANCE: u16 = 1_000;

/// Parsed query.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    condition: Condition,
    links: Vec<LinkCondition>,
}

impl Query {
    /// Parses a query.
    pub fn parse(text: &str) -> Result<Query, QueryError> {
        parser::parse(text).map(Query::new)
    }

    /// Builds a query of plain text without operators: pages with any of its words, ranked by number and rarity of the words. Only the
    /// beginning of a long text is used. `None` if it has no word.
    pub fn any_word(text: &str) -> Option<Query> {
        any_word_query::any_word(text).map(Query::new)
    }

    /// Combines queries with AND; `None` if there are none.
    pub fn all_of(queries: Vec<Query>) -> Option<Query> {
        let parts = queries.into_iter().flat_map(|query| match query.condition {
            Condition::All(all) => all,
            condition => vec![condition],
        });
        let mut conditions: Vec<Condition> = parts.collect();
        match conditions.len() {
            0 | 1 => conditions.pop().map(Query::new),
            _ => Some(Query::new(Condition::All(conditions))),
        }
    }

    fn new(condition: Condition) -> Query {
        let mut links = Vec::new();
        condition.collect_links(&mut links);
        Query { condition, links }
    }

    /// The condition that pages have to match.
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// Distinct link conditions, which the caller resolves with the link graph.
    pub fn link_conditions(&self) -> &[LinkCondition] {
        &self.links
    }
}

/// Formats the query so that parsing it returns the same query.
impl fmt::Display for Query {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition.fmt(out)
    }
}

#[cfg(test)]
mod tests;
