//! Outlinks of a stored page.

use harvest::item::fetch_outcome::FetchOutcome;
use harvest::item::gathered_page::{GatheredLinks, GatheredPage};
use model::{CanonicalUrl, PageId};

/// Stored page and its outlinks.
#[derive(Debug)]
pub(crate) struct PageLinks {
    pub(crate) id: PageId,
    pub(crate) url: CanonicalUrl,
    pub(crate) fetched_ms: i64,
    pub(crate) outcome: FetchOutcome,
    /// Whether the page was never fetched before.
    pub(crate) is_first: bool,
    /// Cash that is distributed among its link targets.
    pub(crate) cash: f32,
    pub(crate) links: GatheredLinks,
}

impl PageLinks {
    pub(crate) fn from_page(page: GatheredPage, id: PageId, first: bool, cash: f32) -> PageLinks {
        let GatheredPage { url, fetched_ms, outcome, links, .. } = page;
        PageLinks { id, url, fetched_ms, outcome, is_first: first, cash, links }
    }
}
