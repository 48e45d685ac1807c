//! Relation between two pages by their links.

/// Relation of other pages to a given page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkRelation {
    /// They link to the page.
    LinksTo,
    /// The page links to them.
    LinkedFrom,
    /// They share link sources (co-citation) or link targets (coupling) with the page.
    Related,
}

impl LinkRelation {
    /// Name in search queries.
    pub fn as_str(self) -> &'static str {
        match self {
            LinkRelation::LinksTo => "links-to",
            LinkRelation::LinkedFrom => "linked-from",
            LinkRelation::Related => "related",
        }
    }
}
