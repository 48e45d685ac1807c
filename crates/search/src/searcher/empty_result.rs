//! Explanation of a conjunction without hits: the conditions that empty it.

use super::{OneSearch, Searcher};
use crate::error::Result;
use crate::query::{Condition, Query, WordPattern};
use crate::text::query_terms::{split_query, term_variants};

/// Maximum number of conditions that are examined.
const MAX_EXAMINED: usize = 16;

/// Condition without which a conjunction has hits, or which matches no page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmptyingCondition {
    /// The condition as in the query.
    pub condition: String,
    /// Whether no page matches it, with or without the other conditions.
    pub is_absent: bool,
    /// Number of hits without it.
    pub hits_without: u64,
}

impl Searcher {
    /// Number of hits of a query.
    pub(super) fn count(&self, query: &Query, search: &OneSearch<'_>) -> Result<u64> {
        let compiled = self.compile(query, search)?;
        Ok(self.collect(&compiled, 1, search)?.total)
    }

    /// Finds the conditions that leave a conjunction without hits; none if the query is no conjunction.
    pub(super) fn emptying_conditions(
        &self,
        query: &Query,
        search: &OneSearch<'_>,
    ) -> Result<Vec<EmptyingCondition>> {
        let Condition::All(all) = query.condition() else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for (number, condition) in all.iter().enumerate().take(MAX_EXAMINED) {
            let mut others = all.clone();
            others.remove(number);
            let others = if others.len() == 1 { others.remove(0) } else { Condition::All(others) };
            let hits_without = self.count(&query.with_condition(others), search)?;
            let is_absent = !self.is_stop_word(condition)?
                && self.count(&query.with_condition(condition.clone()), search)? == 0;
            if is_absent || hits_without > 0 {
                found.push(EmptyingCondition { condition: condition.to_string(), is_absent, hits_without });
            }
        }
        // A condition that matches no page is the reason, whatever the others are.
        if found.iter().any(|condition| condition.is_absent) {
            found.retain(|condition| condition.is_absent);
        }
        Ok(found)
    }

    /// Whether a condition is a stop word, which pages of its language match without it.
    fn is_stop_word(&self, condition: &Condition) -> Result<bool> {
        let Condition::Text { pattern: WordPattern::Word(text), .. } = condition else { return Ok(false) };
        let languages = self.index.languages()?;
        let languages: Vec<&str> = languages.iter().map(String::as_str).collect();
        Ok(split_query(text).iter().all(|word| term_variants(word, &languages).is_stop_word))
    }
}
