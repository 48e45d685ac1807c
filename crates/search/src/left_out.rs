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
    /// What is stored of it cannot be read.
    Damaged,
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
    /// What is stored of them cannot be read.
    pub damaged: u64,
}

impl LeftOutCounts {
    pub(crate) fn add(&mut self, why: LeftOut) {
        *match why {
            LeftOut::Noindex => &mut self.noindex,
            LeftOut::NotText => &mut self.not_text,
            LeftOut::Duplicate => &mut self.duplicate,
            LeftOut::NoContent => &mut self.no_content,
            LeftOut::Damaged => &mut self.damaged,
        } += 1;
    }

    pub(crate) fn to_numbers(self) -> [u64; 5] {
        [self.noindex, self.not_text, self.duplicate, self.no_content, self.damaged]
    }

    pub(crate) fn from_numbers(numbers: [u64; 5]) -> LeftOutCounts {
        let [noindex, not_text, duplicate, no_content, damaged] = numbers;
        LeftOutCounts { noindex, not_text, duplicate, no_content, damaged }
    }
}
