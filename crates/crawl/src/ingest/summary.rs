//! Result of the ingestion of a batch.

/// Result of the ingestion of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IngestSummary {
    /// Fetches ingested.
    pub pages: u64,
    /// Bytes of their bodies, as transferred.
    pub bytes: u64,
    /// Fetches that were already stored, and are ignored.
    pub already_stored: u64,
    /// Links of their documents, as in the table `links`.
    pub links: u64,
    /// Pages discovered.
    pub new_pages: u64,
    /// Pages with the same body as another page.
    pub duplicates: u64,
    /// Pages whose body was cut at a limit on size or time.
    pub truncated: u64,
}
