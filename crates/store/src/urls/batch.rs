//! Result of resolving a batch of URLs.

use model::{PageId, SiteId};

/// Page ids of a batch of URLs. `P` is `Option<PageId>` if pages can be refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedBatch<P = PageId> {
    /// Page of each URL, in the order of the batch.
    pub pages: Vec<P>,
    /// First page id that was added by the batch.
    pub first_new_page: PageId,
    /// New pages in the order of their ids, from `first_new_page` on, which is that of their first links in the batch.
    pub new_pages: Vec<NewPage>,
}

/// Page that was added by a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewPage {
    /// Index in the batch of the first link to it.
    pub link_index: u32,
    /// Site of the page.
    pub site: SiteId,
}

impl ResolvedBatch {
    /// Whether the page of a link, by its index in the batch, was added by the batch.
    pub fn is_new(&self, link: usize) -> bool {
        self.pages[link] >= self.first_new_page
    }
}
