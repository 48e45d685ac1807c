//! Cursor into the log of a batch: everything up to it was received.

use model::SiteId;

/// Cursor into the log of a batch, with what becomes obsolete when it is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogCursor {
    /// Batch.
    pub batch: u64,
    /// Sequence number of the last entry that was received.
    pub seq: u64,
    /// Sites whose results are in the entry and were accepted.
    pub finished_sites: Vec<SiteId>,
    /// Blob that can be deleted once the cursor is committed.
    pub segment: Option<String>,
    /// End of the log, if the entry is its last.
    pub end: Option<LogEnd>,
}

/// State of a batch at the end of its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogEnd {
    /// No worker ever leased the batch.
    NeverLeased,
    /// A worker had it. The last request to a site without an event is unknown.
    Leased,
}
