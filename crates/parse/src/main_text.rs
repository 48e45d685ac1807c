//! Main text of a page, without boilerplate such as menus, teasers and footers.
//!
//! Algorithm: Kohlschütter, Fankhauser and Nejdl, *Boilerplate Detection using Shallow Text Features* (WSDM 2010). A line of
//! text is classified as content by its number of words, its link density, and those of the adjacent lines, with the decision
//! tree of section 5. Departures from the paper use the elements of today's pages: `nav`, `aside` and `footer` are never
//! content, `pre` always is, and if `main` or `article` contains enough text, nothing outside it is content.
//!
//! The algorithm needs only the [`Document`], not an element tree, so it is cheap enough for every page of a crawl.

use memchr::memchr_iter;

use crate::document::{Context, Document, LinkKind};

/// Minimum number of words of `main`; a `main` with fewer words is usually filled by a script.
const MIN_MAIN_WORDS: u32 = 50;

const BOILERPLATE: [Context; 3] = [Context::NAVIGATION, Context::ASIDE, Context::FOOTER];

impl Document {
    /// Returns the lines of [`Document::text`] that are content.
    pub fn main_text(&self) -> String {
        let blocks = self.blocks();
        let words_in_main: u32 = blocks.iter().filter(|block| block.in_main()).map(|block| block.words).sum();
        let only_main = words_in_main >= MIN_MAIN_WORDS;
        let mut out = String::with_capacity(self.text.len());
        // A heading is content if the text below it is.
        let mut heading = None;
        for (number, block) in blocks.iter().enumerate() {
            if block.is_boilerplate() || (only_main && !block.in_main()) {
                continue;
            }
            if block.heading {
                heading = Some(block.line);
            } else if block
                .is_content(neighbour(&blocks, number.checked_sub(1)), neighbour(&blocks, Some(number + 1)))
            {
                for line in heading.take().into_iter().chain([block.line]) {
                    out.push_str(line);
                    out.push('\n');
                }
            }
        }
        out.truncate(out.trim_end().len());
        out
    }

    /// Returns the number of words of the text, separated by white space.
    pub fn word_count(&self) -> u32 {
        count_spaced_words(self.text.as_bytes())
    }

    fn blocks(&self) -> Vec<Block<'_>> {
        let mut links = self.links.iter().filter(|link| link.kind == LinkKind::A).peekable();
        let mut headings = self.headings.iter().peekable();
        let mut start = 0;
        let mut blocks = Vec::new();
        let ends = memchr_iter(b'\n', self.text.as_bytes()).chain([self.text.len()]);
        for end in ends.map(|end| end as u32) {
            let line = &self.text[start as usize..end as usize];
            let mut linked_words = 0;
            while let Some(link) = links.next_if(|link| link.anchor.start < end) {
                let text = &self.text
                    [link.anchor.start.max(start) as usize..link.anchor.end.min(end).max(start) as usize];
                linked_words += count_words(text);
            }
            // Skip empty headings and headings of earlier lines.
            while headings.next_if(|heading| heading.text.end < start.max(1)).is_some() {}
            blocks.push(Block {
                line,
                words: count_words(line),
                linked_words,
                context: self.context_at(start),
                heading: headings
                    .peek()
                    .is_some_and(|heading| heading.text.start <= start && end <= heading.text.end),
            });
            start = end + 1;
        }
        blocks
    }
}

/// A line of the text and its features.
#[derive(Clone, Copy)]
struct Block<'d> {
    line: &'d str,
    words: u32,
    linked_words: u32,
    context: Context,
    heading: bool,
}

impl Block<'_> {
    const NONE: Block<'static> =
        Block { line: "", words: 0, linked_words: 0, context: Context::NONE, heading: false };

    fn in_main(&self) -> bool {
        self.context.contains(Context::MAIN)
    }

    fn is_boilerplate(&self) -> bool {
        // The header of an article contains its title and author, the header of a page its menu.
        BOILERPLATE.iter().any(|&context| self.context.contains(context))
            || (self.context.contains(Context::HEADER) && !self.in_main())
    }

    fn link_density(&self) -> f32 {
        self.linked_words.min(self.words) as f32 / self.words.max(1) as f32
    }

    /// Decision tree of the paper.
    fn is_content(&self, previous: Block<'_>, next: Block<'_>) -> bool {
        if self.context.contains(Context::PREFORMATTED) {
            return true;
        }
        if self.link_density() > 0.333 {
            return false;
        }
        if previous.link_density() <= 0.556 {
            self.words > 16 || next.words > 15 || previous.words > 4
        } else {
            self.words > 40 || next.words > 17
        }
    }
}

fn neighbour<'d>(blocks: &[Block<'d>], number: Option<usize>) -> Block<'d> {
    number.and_then(|number| blocks.get(number)).copied().unwrap_or(Block::NONE)
}

/// Counts words between spaces; in scripts without spaces two characters count as a word.
fn count_words(text: &str) -> u32 {
    if text.is_ascii() {
        return count_spaced_words(text.as_bytes());
    }
    let mut words = 0;
    let mut unspaced = 0;
    let mut in_word = false;
    for character in text.chars() {
        match character {
            '\u{e00}'..='\u{eff}' | '\u{3040}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}' => {
                unspaced += 1;
                in_word = false;
            }
            _ if character.is_whitespace() => in_word = false,
            _ => {
                words += u32::from(!in_word);
                in_word = true;
            }
        }
    }
    words + unspaced / 2
}

/// Counts the positions at which white space is followed by another character, eight bytes at a time.
fn count_spaced_words(text: &[u8]) -> u32 {
    let mut words = 0;
    // The position before the first byte counts as white space.
    let mut last_is_space = 0x80;
    let mut count = |eight: u64| {
        let spaces = spaces(eight);
        let starts = !spaces & HIGH & (spaces << 8 | last_is_space);
        words += ((starts >> 7).wrapping_mul(ONES) >> 56) as u32;
        last_is_space = spaces >> 56;
    };
    let (eights, rest) = text.as_chunks();
    eights.iter().for_each(|eight| count(u64::from_le_bytes(*eight)));
    let mut last = [b' '; 8];
    last[..rest.len()].copy_from_slice(rest);
    count(u64::from_le_bytes(last));
    words
}

/// The lowest bit of every byte; below, the highest one.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = ONES << 7;

/// Sets the highest bit of every byte that is ASCII white space. The sums never carry into the next byte.
fn spaces(eight: u64) -> u64 {
    let low = eight & !HIGH;
    let not_blank = (low ^ (ONES * u64::from(b' '))) + ONES * 0x7f;
    let at_least = |min: u8| low + ONES * u64::from(0x80 - min);
    let controls = at_least(b'\t') & !at_least(b'\r' + 1);
    (!not_blank | controls) & !eight & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::Options;
    use crate::html::parse_html;

    fn main_text(html: &str) -> String {
        let mut document = Document::default();
        parse_html(html, &Options::default(), &mut document);
        document.main_text()
    }

    const PARAGRAPH: &str = "A weir is a barrier across the width of a river that alters the flow of its water \
                             and usually changes the height of its level; many <a href=x>different designs</a> exist.";

    #[test]
    fn menus_and_footers_are_not_main_text() {
        let html = format!(
            "<div><a href=1>Home</a> <a href=2>About us</a> <a href=3>Contact</a></div><h1>Weirs</h1><p>{PARAGRAPH}</p>\
             <p>{PARAGRAPH}</p><div><a href=4>Privacy</a> | <a href=5>Terms of use</a></div><div>2024</div>"
        );
        let text = main_text(&html);
        assert!(text.starts_with("Weirs\nA weir is"), "{text}");
        assert!(text.ends_with("designs exist."), "{text}");
    }

    #[test]
    fn a_link_on_its_own_line_is_not_main_text() {
        let html = format!("<p>{PARAGRAPH}</p><a href=1>More</a><p>{PARAGRAPH}</p>");
        assert!(!main_text(&html).contains("More"));
    }

    #[test]
    fn section_elements_decide_if_they_are_present() {
        let html = format!(
            "<header><p>{PARAGRAPH} not this</p></header><main><header><h1>Title</h1></header><p>{PARAGRAPH}<p>{PARAGRAPH}\
             <pre>x = 1</pre><aside>{PARAGRAPH} nor this</aside></main><p>{PARAGRAPH} nor that</p>"
        );
        let text = main_text(&html);
        assert!(text.contains("Title\nA weir") && text.contains("x = 1"), "{text}");
        assert!(
            !text.contains("not this") && !text.contains("nor this") && !text.contains("nor that"),
            "{text}"
        );
    }

    #[test]
    fn words_of_scripts_without_spaces_are_counted() {
        assert_eq!(count_words("one, two  three"), 3);
        assert_eq!(count_words("日本語の文章です"), 4);
        assert_eq!(count_words("Rust 言語"), 2);
    }

    #[test]
    fn ascii_words_are_counted_as_by_the_standard_library() {
        for text in ["", " ", "a", " a ", "a b", "\ta\n\nb c\r", "\x08a\x0e!\x21\x1f", &"ab c ".repeat(300)] {
            assert_eq!(count_words(text), text.split_whitespace().count() as u32, "{text}");
        }
    }

    #[test]
    fn an_empty_page_has_no_main_text() {
        assert_eq!(main_text(""), "");
        assert_eq!(main_text("<nav>only a menu</nav>"), "");
    }
}
