//! Why is a page not in the index?

/// The reason, of a page that was visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeftOut {
    /// It asks not to be found.
    Noindex,
    /// It is no text.
    NotText,
    /// Its content is that of another page.
    Duplicate,
    /// Its last visit brought no content.
    NoContent,
}

/// How many pages were left out, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftOutCounts {
    /// They ask not to be found.
    pub noindex: u64,
    /// They are no text.
    pub not_text: u64,
    /// Their content is that of another page.
    pub duplicate: u64,
    /// Their last visit brought no content.
    pub no_content: u64,
}

impl LeftOutCounts {
    pub(crate) fn add(&mut self, why: LeftOut) {
        *match why {
            LeftOut::Noindex => &mut self.noindex,
            LeftOut::NotText => &mut self.not_text,
            LeftOut::Duplicate => &mut self.duplicate,
            LeftOut::NoContent => &mut self.no_content,
        } += 1;
    }

    pub(crate) fn to_numbers(self) -> [u64; 4] {
        [self.noindex, self.not_text, self.duplicate, self.no_content]
    }

    pub(crate) fn from_numbers([noindex, not_text, duplicate, no_content]: [u64; 4]) -> LeftOutCounts {
        LeftOutCounts { noindex, not_text, duplicate, no_content }
    }
}
