//! Selection of the lines of a page that are content.

use super::line::Line;
use super::page_blocks::{MIN_ARTICLE_WORDS, MIN_RUNNING_WORDS, PageBlocks};
use crate::document::Document;
use crate::outline::BlockKind;

/// Minimum number of words of main text; a shorter one is not enough to tell pages apart.
const MIN_TEXT_WORDS: u32 = 25;

/// Minimum number of words of a line of text that is in no paragraph, list or table and ends without punctuation.
const MIN_LOOSE_WORDS: u32 = 8;

/// Maximum number of words of a line that announces the link below it ("See also:").
const MAX_ANNOUNCEMENT_WORDS: u32 = 5;

/// Main text is too little if it is this part of the text or less.
const TINY_PART: u32 = 10;

/// Returns whether each line of the page is content.
pub(super) fn select(document: &Document, page: &PageBlocks<'_>) -> Vec<bool> {
    let container = page.find_container();
    let mut selection = Selection {
        document,
        page,
        container,
        start: container.map_or(0, |container| page.range(container).start),
        kept: vec![false; page.lines.len()],
        headings: Vec::new(),
        title: None,
        last: None,
    };
    let lead_start = container.map_or(0, |container| page.lead_start(container));
    let end = container.map_or(u32::MAX, |container| page.range(container).end);
    for (index, line) in page.lines.iter().enumerate() {
        if line.start >= lead_start && line.start < end && !page.is_excluded(line) {
            selection.add(index, line);
        }
    }
    selection.finish()
}

/// Lines that are content, and the state of the pass over the lines.
struct Selection<'d> {
    document: &'d Document,
    page: &'d PageBlocks<'d>,
    container: Option<usize>,
    /// Start of the container; what precedes it is its lead.
    start: u32,
    kept: Vec<bool>,
    /// Headings since the last content; they are content if the text below them is.
    headings: Vec<usize>,
    /// Heading that repeats the title of the page.
    title: Option<usize>,
    /// The last line that is content.
    last: Option<usize>,
}

impl Selection<'_> {
    fn add(&mut self, index: usize, line: &Line) {
        let kind = self.page.kind(line);
        let is_running = line.running_words(kind) > 0;
        let in_lead = line.start < self.start;
        if kind == BlockKind::Heading
            && (in_lead || self.last.is_none())
            && self.document.title.contains(line.text(self.document))
        {
            self.title.get_or_insert(index);
            return;
        }
        let in_header = || kind != BlockKind::Heading && self.page.is_in_header(line, self.container);
        if !is_running && (in_lead || in_header()) {
            return;
        }
        if line.is_mostly_links() && kind != BlockKind::Preformatted {
            self.skip_links(index, line);
        } else if kind == BlockKind::Heading && !is_running {
            self.headings.push(index);
        } else if self.is_content(line, kind) {
            for heading in self.headings.drain(..) {
                self.kept[heading] = true;
            }
            self.kept[index] = true;
            self.last = Some(index);
        }
    }

    /// Skips a line of links, and what announces it: the headings above it, or a short line.
    fn skip_links(&mut self, index: usize, line: &Line) {
        self.headings.clear();
        let lines = self.page.lines;
        if let Some(last) = self.last.filter(|last| last + 1 == index)
            && lines[last].words <= MAX_ANNOUNCEMENT_WORDS
            && lines[last].node != line.node
        {
            self.kept[last] = false;
        }
    }

    fn is_content(&self, line: &Line, kind: BlockKind) -> bool {
        let continues = || self.last.is_some_and(|last| self.page.lines[last].node == line.node);
        match kind {
            BlockKind::Preformatted | BlockKind::Paragraph | BlockKind::Item | BlockKind::Cell => true,
            _ => line.words >= MIN_LOOSE_WORDS || ends_sentence(line.text(self.document)) || continues(),
        }
    }

    /// Falls back to more of the page if the content is too little.
    fn finish(mut self) -> Vec<bool> {
        let page = self.page;
        // Short reference pages often differ in nothing but the title.
        if let Some(title) = self.title.filter(|_| self.words() < MIN_ARTICLE_WORDS) {
            self.kept[title] = true;
        }
        let is_excluded = |index: usize| page.is_excluded(&page.lines[index]);
        let available = page.words(|index| !is_excluded(index));
        if self.words() < (available / TINY_PART).max(MIN_TEXT_WORDS) {
            self.kept.iter_mut().enumerate().for_each(|(index, kept)| *kept = !is_excluded(index));
        }
        if self.words() <= page.words(|_| true) / TINY_PART && self.words() < MIN_RUNNING_WORDS {
            self.kept.fill(true);
        }
        self.kept
    }

    fn words(&self) -> u32 {
        self.page.words(|index| self.kept[index])
    }
}

fn ends_sentence(line: &str) -> bool {
    line.trim_end().ends_with([
        '.', '!', '?', ':', ';', '"', '\u{201d}', '\u{201c}', '\u{bb}', '\u{2026}', '。', '！', '？', '।',
    ])
}
