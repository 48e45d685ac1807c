//! Pages that match the link conditions of a query. The caller looks them up in the link graph, which this crate does not know.

use std::collections::HashMap;

use crate::query::{LinkCondition, Query};

/// Matching pages by link condition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkMatches {
    pages: HashMap<LinkCondition, Vec<u32>>,
}

impl LinkMatches {
    /// Looks up the pages of each link condition of a query.
    pub fn resolve<E>(
        query: &Query,
        mut pages_of: impl FnMut(&LinkCondition) -> Result<Vec<u32>, E>,
    ) -> Result<LinkMatches, E> {
        let entry = |condition: &LinkCondition| Ok((condition.clone(), pages_of(condition)?));
        Ok(LinkMatches { pages: query.link_conditions().iter().map(entry).collect::<Result<_, E>>()? })
    }

    pub(super) fn pages(&self, condition: &LinkCondition) -> Option<&[u32]> {
        self.pages.get(condition).map(Vec::as_slice)
    }
}
