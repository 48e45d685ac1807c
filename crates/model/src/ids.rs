//! How are sites and pages numbered? Densely, from 0, in the order in which they became known; a number is never
//! used again.

use serde::{Deserialize, Serialize};

/// A site of a collection: scheme, host and port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SiteId(pub u32);

/// A page of a collection: a URL that was heard of, fetched or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PageId(pub u32);

impl SiteId {
    /// As an index into a column.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl PageId {
    /// As an index into a column.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
