//! Lines of the text with the features that main text is decided by.

use memchr::memchr_iter;

use crate::document::{Document, LinkKind};
use crate::outline::BlockKind;
use crate::word_count::count_words;

/// A line of the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub(super) start: u32,
    pub(super) end: u32,
    /// Innermost element of the outline at the start of the line; 0 if there is none.
    pub(super) node: u32,
    pub(super) words: u32,
    pub(super) linked_words: u32,
}

/// Minimum number of words of a line of running text: a sentence.
const MIN_SENTENCE_WORDS: u32 = 10;

impl Line {
    /// Reports whether links are more than half of the words.
    pub(super) fn is_mostly_links(&self) -> bool {
        2 * self.linked_words > self.words
    }

    /// Number of words of running text in an element of this kind.
    pub(super) fn running_words(&self, kind: BlockKind) -> u32 {
        match kind {
            BlockKind::Preformatted => self.words,
            _ if self.words < MIN_SENTENCE_WORDS || 2 * self.linked_words >= self.words => 0,
            _ => self.words - self.linked_words,
        }
    }

    pub(super) fn text<'d>(&self, document: &'d Document) -> &'d str {
        &document.text[self.start as usize..self.end as usize]
    }
}

/// Returns the lines of a document that are not empty.
pub(super) fn lines(document: &Document) -> Vec<Line> {
    let text = &document.text;
    let mut links = document.links.iter().filter(|link| link.kind == LinkKind::A).peekable();
    let mut cursor = document.outline.cursor();
    let mut lines = Vec::with_capacity(text.len() / 64);
    let mut start = 0;
    for end in memchr_iter(b'\n', text.as_bytes()).chain([text.len()]).map(|end| end as u32) {
        let mut linked_words = 0;
        while let Some(link) = links.next_if(|link| link.anchor.start < end) {
            let from = link.anchor.start.max(start);
            linked_words += count_words(&text[from as usize..link.anchor.end.min(end).max(from) as usize]);
        }
        let words = count_words(&text[start as usize..end as usize]);
        if words > 0 || end > start {
            lines.push(Line { start, end, node: cursor.node_at(start), words, linked_words });
        }
        start = end + 1;
    }
    lines
}
