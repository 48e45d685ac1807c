//! Settings, progress and summary of an indexer run.

use std::time::Duration;

use parse::html::Options;

use crate::index::exclusion::ExclusionCounts;

/// Settings of the indexer.
#[derive(Debug, Clone)]
pub struct IndexSettings {
    /// Whether to store word positions, which phrases and NEAR need.
    pub positions: bool,
    /// Memory limit.
    pub memory_bytes: usize,
    /// Number of reader threads, and of writer threads.
    pub threads: usize,
    /// Limits of the parser, and the product token of the crawler, to which `noindex` may be restricted.
    pub parse_options: Options,
}

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexProgress {
    /// Pages whose state was compared.
    pub pages_scanned: u64,
    /// All known pages.
    pub pages_known: u64,
    /// New and changed pages that were read.
    pub pages_read: u64,
    /// Size of their bodies.
    pub read_bytes: u64,
}

/// Summary of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IndexSummary {
    /// The commit of the collection that the index follows.
    pub generation: u64,
    /// Pages in the index.
    pub pages: u64,
    /// Pages added by this run.
    pub added: u64,
    /// Pages replaced by a newer version.
    pub updated: u64,
    /// Pages removed because they are gone or excluded now.
    pub removed: u64,
    /// Numbers of excluded pages.
    pub excluded: ExclusionCounts,
    /// The first damaged pages.
    pub damaged: Vec<DamagedPage>,
    /// Pages read by this run.
    pub pages_read: u64,
    /// Size of their bodies.
    pub read_bytes: u64,
    /// Size of the bodies of all pages in the index.
    pub body_bytes: u64,
    /// Size of the index on disk.
    pub index_bytes: u64,
    /// Duration of the run.
    pub duration: Duration,
}

/// Page that is not in the index because its stored record is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedPage {
    /// Its URL.
    pub url: String,
    /// The error of the read.
    pub error: String,
}
