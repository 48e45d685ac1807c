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
mod relaxation;

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

/// Maximum number of pairs of adjacent words that add to the score.
const MAX_QUERY_PAIRS: usize = 16;

/// Which words of a query a page must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MatchMode {
    /// All words.
    #[default]
    All,
    /// Any of the words.
    Any,
}

impl MatchMode {
    /// Name in JSON and in requests.
    pub fn as_str(self) -> &'static str {
        match self {
            MatchMode::All => "all",
            MatchMode::Any => "any",
        }
    }
}

/// Parsed query.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    condition: Condition,
    links: Vec<LinkCondition>,
    /// Adjacent words without operators between them; pages in which they are near each other rank higher.
    pairs: Vec<[String; 2]>,
    mode: MatchMode,
    /// Whether the query has the operator AND: then all its words are required.
    has_and: bool,
}

impl Query {
    /// Parses a query.
    pub fn parse(text: &str) -> Result<Query, QueryError> {
        let parser::Parsed { condition, has_and } = parser::parse(text)?;
        let pairs = relaxation::adjacent_words(&condition);
        Ok(Query { has_and, ..Query::new(condition, pairs, MatchMode::All) })
    }

    /// Builds a query of plain text without operators: pages with any of its words, ranked by number and rarity of the words. Only the
    /// beginning of a long text is used. `None` if it has no word.
    pub fn any_word(text: &str) -> Option<Query> {
        let (condition, pairs) = any_word_query::any_word(text)?;
        Some(Query::new(condition, pairs, MatchMode::Any))
    }

    /// Combines queries with AND; `None` if there are none.
    pub fn all_of(queries: Vec<Query>) -> Option<Query> {
        let (mut conditions, mut pairs) = (Vec::new(), Vec::new());
        let (mut mode, mut has_and) = (MatchMode::All, false);
        for query in queries {
            pairs.extend(query.pairs);
            has_and |= query.has_and;
            mode = if query.mode == MatchMode::Any { MatchMode::Any } else { mode };
            match query.condition {
                Condition::All(all) => conditions.extend(all),
                condition => conditions.push(condition),
            }
        }
        let condition = match conditions.len() {
            0 | 1 => conditions.pop()?,
            _ => Condition::All(conditions),
        };
        Some(Query { has_and, ..Query::new(condition, pairs, mode) })
    }

    /// Returns the query with any of its words instead of all of them, with the same other conditions; `None` if it has fewer than two
    /// words or the operator AND.
    pub fn relaxed(&self) -> Option<Query> {
        if self.has_and || self.mode == MatchMode::Any {
            return None;
        }
        let condition = relaxation::any_of_words(&self.condition)?;
        Some(Query::new(condition, self.pairs.clone(), MatchMode::Any))
    }

    /// Replaces the condition, for a part of the query or a corrected spelling.
    pub(crate) fn with_condition(&self, condition: Condition) -> Query {
        Query { has_and: self.has_and, ..Query::new(condition, Vec::new(), self.mode) }
    }

    fn new(condition: Condition, mut pairs: Vec<[String; 2]>, mode: MatchMode) -> Query {
        let mut links = Vec::new();
        condition.collect_links(&mut links);
        pairs.truncate(MAX_QUERY_PAIRS);
        Query { condition, links, pairs, mode, has_and: false }
    }

    /// The text to enter for this query in its mode.
    pub(crate) fn text(&self) -> String {
        match &self.condition {
            Condition::Any(words) if self.mode == MatchMode::Any => {
                words.iter().map(ToString::to_string).collect::<Vec<String>>().join(" ")
            }
            condition => condition.to_string(),
        }
    }

    /// Which of its words a page must have.
    pub fn mode(&self) -> MatchMode {
        self.mode
    }

    /// Adjacent words of the query.
    pub(crate) fn pairs(&self) -> &[[String; 2]] {
        &self.pairs
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
