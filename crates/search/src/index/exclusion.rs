//! Reasons why fetched pages are excluded from the index.

/// Reason of an exclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exclusion {
    /// Excluded by noindex or `unavailable_after`.
    Noindex,
    /// Neither HTML nor plain text.
    NotText,
    /// Duplicate of another page.
    Duplicate,
    /// No content from the last fetch.
    NoContent,
    /// The stored record is damaged.
    Damaged,
}

/// Numbers of excluded pages by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExclusionCounts {
    /// Excluded by noindex or `unavailable_after`.
    pub noindex: u64,
    /// Neither HTML nor plain text.
    pub not_text: u64,
    /// Duplicates of other pages.
    pub duplicate: u64,
    /// No content from the last fetch.
    pub no_content: u64,
    /// The stored record is damaged.
    pub damaged: u64,
}

impl ExclusionCounts {
    pub(crate) fn add(&mut self, reason: Exclusion) {
        *match reason {
            Exclusion::Noindex => &mut self.noindex,
            Exclusion::NotText => &mut self.not_text,
            Exclusion::Duplicate => &mut self.duplicate,
            Exclusion::NoContent => &mut self.no_content,
            Exclusion::Damaged => &mut self.damaged,
        } += 1;
    }

    pub(crate) fn to_numbers(self) -> [u64; 5] {
        [self.noindex, self.not_text, self.duplicate, self.no_content, self.damaged]
    }

    pub(crate) fn from_numbers(numbers: [u64; 5]) -> ExclusionCounts {
        let [noindex, not_text, duplicate, no_content, damaged] = numbers;
        ExclusionCounts { noindex, not_text, duplicate, no_content, damaged }
    }
}
