//! Fetches that the user requests.

use model::PageId;
use store::{Collection, PageFlags, PageStage, Result};

/// Result of a request for fetches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RefetchSummary {
    /// Pages that the next crawl fetches first.
    pub pages: u64,
    /// Pages that are rejected, and not fetched.
    pub rejected: u64,
}

/// Requests that the next crawl fetches these pages, sorted by id, before all others; durable with the next commit.
pub fn request_refetch(collection: &mut Collection, pages: &[PageId]) -> Result<RefetchSummary> {
    let mut summary = RefetchSummary::default();
    collection.page_state.update(pages, |_, record| {
        if record.stage == PageStage::Rejected {
            summary.rejected += 1;
            return;
        }
        summary.pages += 1;
        record.flags = record.flags.with(PageFlags::REFETCH);
    })?;
    Ok(summary)
}
