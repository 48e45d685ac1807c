//! What does somebody want to find? A line of text, read into conditions on pages.
//!
//! The language is in `docs/search.md`. Everything it can ask has a limit, so that no query costs more than the machine can
//! give: bytes, terms, depth of parentheses. A wrong query is told where it is wrong and what was expected there.
//!
//! Nothing is looked up here: a query knows no index, no collection and no page.

mod condition;
mod lexer;
mod parser;
mod period;
mod plain_text;
mod query_error;

use std::fmt;

pub use condition::{Compare, Condition, LinkCondition, Measure, Part, Words};
pub(crate) use lexer::is_name;
pub use period::Period;
pub use query_error::QueryError;

/// The longest query.
pub const QUERY_LIMIT_BYTES: usize = 4_096;
/// The most words, phrases and conditions in one query.
pub const QUERY_LIMIT_TERMS: usize = 128;
/// The most words with stars, each of which stands for many.
pub const QUERY_LIMIT_STARS: usize = 8;
/// The most conditions on links, each of which goes through the link graph.
pub const QUERY_LIMIT_LINKS: usize = 8;
/// The deepest nesting of parentheses and negations.
pub const QUERY_LIMIT_DEPTH: usize = 32;
/// The farthest that NEAR may reach, in words.
pub const NEAR_LIMIT: u16 = 1_000;

/// A query that makes sense.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    condition: Condition,
    links: Vec<LinkCondition>,
}

impl Query {
    /// Reads a query as a user writes it.
    pub fn parse(text: &str) -> Result<Query, QueryError> {
        parser::parse(text).map(Query::new)
    }

    /// Pages that are about a text, in which nothing has a special meaning: those with any of its words, more of them and rarer
    /// ones first. Of a long text the start counts. `None` if it has no word.
    pub fn about(text: &str) -> Option<Query> {
        plain_text::about(text).map(Query::new)
    }

    /// Pages that fit each of some queries, as if they stood in parentheses behind one another; `None` if there are none. Errors
    /// in one of them point into what its writer typed.
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
        condition.gather_links(&mut links);
        Query { condition, links }
    }

    /// What a page has to be like.
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// The conditions that only the link graph can answer, each once.
    pub fn link_conditions(&self) -> &[LinkCondition] {
        &self.links
    }
}

/// As a user would write it: reading it again gives the same query.
impl fmt::Display for Query {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition.fmt(out)
    }
}

#[cfg(test)]
mod tests;
