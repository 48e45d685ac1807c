//! Which pages does a condition on links mean? Whoever knows the link graph tells; here it is kept for a search.

use std::collections::HashMap;

use crate::query::{LinkCondition, Query};

/// The pages that the link conditions of a query mean.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkAnswers {
    pages: HashMap<LinkCondition, Vec<u32>>,
}

impl LinkAnswers {
    /// Asks for the pages of each condition on links that a query has.
    pub fn gather<E>(
        query: &Query,
        mut pages_of: impl FnMut(&LinkCondition) -> Result<Vec<u32>, E>,
    ) -> Result<LinkAnswers, E> {
        let answer = |condition: &LinkCondition| Ok((condition.clone(), pages_of(condition)?));
        Ok(LinkAnswers { pages: query.link_conditions().iter().map(answer).collect::<Result<_, E>>()? })
    }

    pub(super) fn pages(&self, condition: &LinkCondition) -> Option<&[u32]> {
        self.pages.get(condition).map(Vec::as_slice)
    }
}
