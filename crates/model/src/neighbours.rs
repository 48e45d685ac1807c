//! How may a page lie to another by links?

/// Pages that lie so to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Neighbours {
    /// They link to it.
    LinksTo,
    /// It links to them.
    LinkedFrom,
    /// They have links in common with it, of one kind or the other.
    Related,
}

impl Neighbours {
    /// As in queries.
    pub fn as_str(self) -> &'static str {
        match self {
            Neighbours::LinksTo => "links-to",
            Neighbours::LinkedFrom => "linked-from",
            Neighbours::Related => "related",
        }
    }
}
