//! What is a page about, without its menus, teasers and footers?
//!
//! After Kohlschütter, Fankhauser and Nejdl, *Boilerplate Detection using Shallow Text Features* (WSDM 2010): a line
//! of text is content or not by how many words it has, how many of them are links, and the same of its neighbours.
//! Their tree of these numbers (section 5, the one on number of words and link density) decides here too. It departs
//! from the paper where today's pages say outright what they are: `nav`, `aside` and `footer` are never content,
//! `pre` always is, and where `main` or `article` holds enough text, nothing outside it counts.
//!
//! It needs no tree of elements, only the [`Document`] at hand, so that it is cheap enough for every page of a crawl.

use memchr::memchr_iter;

use crate::document::{Context, Document, LinkKind};

/// A `main` with fewer words is a frame that a script was to fill.
const ENOUGH_WORDS: u32 = 50;

const BOILERPLATE: [Context; 3] = [Context::NAVIGATION, Context::ASIDE, Context::FOOTER];

impl Document {
    /// The lines of [`Document::text`] that are content.
    pub fn main_text(&self) -> String {
        let blocks = self.blocks();
        let words_in_main: u32 = blocks.iter().filter(|block| block.in_main()).map(|block| block.words).sum();
        let only_main = words_in_main >= ENOUGH_WORDS;
        let mut out = String::with_capacity(self.text.len());
        // A heading is content if what it heads is.
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

    /// How many words the text has between its spaces.
    pub fn words(&self) -> u32 {
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
            while let Some(link) = links.next_if(|link| link.words.start < end) {
                let text = &self.text
                    [link.words.start.max(start) as usize..link.words.end.min(end).max(start) as usize];
                linked_words += count_words(text);
            }
            // Headings without words, and those of lines before, lie behind.
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

/// A line of the text and the numbers that it is judged by.
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
        // The header of an article is its title and author; that of a page is its menu.
        BOILERPLATE.iter().any(|&context| self.context.contains(context))
            || (self.context.contains(Context::HEADER) && !self.in_main())
    }

    fn link_density(&self) -> f32 {
        self.linked_words.min(self.words) as f32 / self.words.max(1) as f32
    }

    /// The tree of the paper, for a block between its neighbours.
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

/// Words between spaces; of scripts that write without spaces, two characters make a word.
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

/// A word begins where a space is followed by none. Eight bytes are looked at in one step.
fn count_spaced_words(text: &[u8]) -> u32 {
    let mut words = 0;
    // What is before the first byte counts as a space.
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

/// A one in every byte, and the highest bit of every byte.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = ONES << 7;

/// The highest bit of every byte that is white space of ASCII. No sum here reaches the byte beside it.
fn spaces(eight: u64) -> u64 {
    let low = eight & !HIGH;
    let not_blank = (low ^ (ONES * u64::from(b' '))) + ONES * 0x7f;
    let at_least = |least: u8| low + ONES * u64::from(0x80 - least);
    let controls = at_least(b'\t') & !at_least(b'\r' + 1);
    (!not_blank | controls) & !eight & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::{Options, parse_html};

    fn main_text(html: &str) -> String {
        let mut document = Document::default();
        parse_html(html, &Options::default(), &mut document);
        document.main_text()
    }

    const PARAGRAPH: &str = "A weir is a barrier across the width of a river that alters the flow of its water \
                             and usually changes the height of its level; many <a href=x>different designs</a> exist.";

    #[test]
    fn menus_and_footers_are_left_out() {
        let html = format!(
            "<div><a href=1>Home</a> <a href=2>About us</a> <a href=3>Contact</a></div><h1>Weirs</h1><p>{PARAGRAPH}</p>\
             <p>{PARAGRAPH}</p><div><a href=4>Privacy</a> | <a href=5>Terms of use</a></div><div>2024</div>"
        );
        let text = main_text(&html);
        assert!(text.starts_with("Weirs\nA weir is"), "{text}");
        assert!(text.ends_with("designs exist."), "{text}");
    }

    #[test]
    fn a_link_on_a_line_of_its_own_is_no_content() {
        let html = format!("<p>{PARAGRAPH}</p><a href=1>More</a><p>{PARAGRAPH}</p>");
        assert!(!main_text(&html).contains("More"));
    }

    #[test]
    fn a_page_that_marks_its_parts_is_believed() {
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
    fn words_of_scripts_without_spaces_count() {
        assert_eq!(count_words("one, two  three"), 3);
        assert_eq!(count_words("日本語の文章です"), 4);
        assert_eq!(count_words("Rust 言語"), 2);
    }

    #[test]
    fn words_of_ascii_are_counted_as_all_others() {
        for text in ["", " ", "a", " a ", "a b", "\ta\n\nb c\r", "\x08a\x0e!\x21\x1f", &"ab c ".repeat(300)] {
            assert_eq!(count_words(text), text.split_whitespace().count() as u32, "{text}");
        }
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(main_text(""), "");
        assert_eq!(main_text("<nav>only a menu</nav>"), "");
    }
}
