//! Ids of sites and pages: dense, from 0, in the order of discovery, never reused.

use serde::{Deserialize, Serialize};

/// Id of a site (scheme, host and port) of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SiteId(pub u32);

/// Id of a page of a collection: a known URL, fetched or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PageId(pub u32);

impl SiteId {
    /// Index into a column of sites.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl PageId {
    /// Index into a column of pages.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
