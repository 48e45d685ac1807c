//! Link between two pages, and the maximum number of links per page.

use model::PageId;

/// Maximum number of links of a page; parsers stop far below.
pub(crate) const MAX_LINKS_PER_PAGE: usize = 1 << 20;

/// Link of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Link {
    /// Target page.
    pub target: PageId,
    /// Kind of the link (anchor, image, frame, redirect), as a code of the parser.
    pub kind: u8,
    /// Enclosing elements (title, heading, emphasis), as bits of the parser.
    pub context: u16,
    /// Length of the anchor text in characters; 65,535 stands for that many or more.
    pub anchor_chars: u16,
    /// Position in the text of the page: 0 at the start, 65,535 at the end.
    pub position: u16,
}
