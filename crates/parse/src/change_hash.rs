//! Hash of what counts as the content of a page when two versions of it are compared.
//!
//! Four parts are hashed:
//!
//! 1. the main text, as it is;
//! 2. the title and all lines outside of the template, with masked numbers: a list of headlines is content although it is no
//!    main text, while clocks, dates and counters beside the text are no changes; on a page without a main text, only clocks
//!    and dates are masked;
//! 3. lines without letters outside of the template, as they are: cells of tables;
//! 4. the targets of the links outside of the template, without fragments and without values that differ at each request.
//!
//! The template of a page is what is in `nav`, `aside`, `footer` and the page's `header`, and everything outside of `main` or
//! `article` if these contain enough text. A page that consists of nothing else, such as a menu, has no template.

use memchr::memchr_iter;
use xxhash_rust::xxh3::Xxh3;

use crate::document::{Context, Document, LinkKind};
use crate::outline::{Marks, OutlineNode};

/// Minimum number of words of `main`; a `main` with fewer words is usually filled by a script.
const MIN_MAIN_WORDS: usize = 50;
/// Minimum length of a value of letters and digits that identifies a session or a request.
const MIN_TOKEN_BYTES: usize = 16;
/// Minimum length of a number that is a time in seconds or milliseconds.
const MIN_TIMESTAMP_DIGITS: usize = 10;
/// Separates the parts, and lines from links.
const SEPARATOR: &[u8] = &[0xff];

impl Document {
    /// Hash of the content of the page, which has this main text; 0 without any.
    pub fn change_hash(&self, main_text: &str) -> u64 {
        let lines = self.lines();
        let template = Template::of(&lines);
        let mut hash = Xxh3::new();
        hash.update(main_text.as_bytes());
        hash.update(SEPARATOR);
        let mut masked = Vec::new();
        let keeps_counts = main_text.is_empty();
        mask_numbers(&self.title, keeps_counts, &mut masked);
        hash.update(&masked);
        let mut is_empty = main_text.is_empty() && self.title.is_empty();
        for (context, line) in lines {
            if template.contains(context) {
                continue;
            }
            masked.clear();
            mask_numbers(line, keeps_counts, &mut masked);
            masked.push(b'\n');
            hash.update(&masked);
            is_empty = false;
        }
        for link in self.links() {
            let is_link = matches!(
                link.kind,
                LinkKind::A | LinkKind::Area | LinkKind::Frame | LinkKind::Text | LinkKind::Feed
            );
            let target = without_fragment(link.href);
            if is_link && !target.is_empty() && !template.contains(link.context) {
                hash.update(SEPARATOR);
                hash_target(target, &mut hash);
                is_empty = false;
            }
        }
        if is_empty { 0 } else { hash.digest().max(1) }
    }

    /// Lines of the text that are not empty, with the elements around them.
    fn lines(&self) -> Vec<(Context, &str)> {
        let (contexts, mut cursor) = (section_contexts(&self.outline.nodes), self.outline.cursor());
        let (mut lines, mut start) = (Vec::new(), 0);
        for end in memchr_iter(b'\n', self.text.as_bytes()).chain([self.text.len()]) {
            if end > start {
                let node = cursor.node_at(start as u32) as usize;
                lines.push((contexts.get(node).copied().unwrap_or_default(), &self.text[start..end]));
            }
            start = end + 1;
        }
        lines
    }
}

/// Sections that enclose each element of the outline. Only names of elements count: a class can name what it likes.
fn section_contexts(nodes: &[OutlineNode]) -> Vec<Context> {
    const SECTIONS: [(Marks, Context); 5] = [
        (Marks::NAVIGATION, Context::NAVIGATION),
        (Marks::HEADER, Context::HEADER),
        (Marks::FOOTER, Context::FOOTER),
        (Marks::ASIDE, Context::ASIDE),
        (Marks::MAIN.union(Marks::ARTICLE), Context::MAIN),
    ];
    let mut contexts: Vec<Context> = Vec::with_capacity(nodes.len());
    for node in nodes {
        // A parent precedes its children; the page is its own parent.
        let mut context = contexts.get(node.parent as usize).copied().unwrap_or_default();
        if node.marks.intersects(Marks::BY_ELEMENT) {
            SECTIONS
                .iter()
                .filter(|(marks, _)| node.marks.intersects(*marks))
                .for_each(|(_, section)| context.insert(*section));
        }
        contexts.push(context);
    }
    contexts
}

/// Parts of a page that all pages of its site have.
#[derive(Clone, Copy)]
enum Template {
    /// Nothing is template.
    None,
    /// Navigation and other sections by their elements.
    Sections,
    /// Everything outside of `main` and `article`, and the sections within.
    OutsideMain,
}

impl Template {
    fn of(lines: &[(Context, &str)]) -> Template {
        let mut words_in_main = 0;
        let mut has_content = false;
        for (context, line) in lines {
            if !is_section(*context) {
                has_content = true;
                if context.contains(Context::MAIN) && words_in_main < MIN_MAIN_WORDS {
                    words_in_main += line.split_ascii_whitespace().take(MIN_MAIN_WORDS).count();
                }
            }
        }
        match (has_content, words_in_main >= MIN_MAIN_WORDS) {
            (false, _) => Template::None,
            (true, false) => Template::Sections,
            (true, true) => Template::OutsideMain,
        }
    }

    fn contains(self, context: Context) -> bool {
        match self {
            Template::None => false,
            Template::Sections => is_section(context),
            Template::OutsideMain => is_section(context) || !context.contains(Context::MAIN),
        }
    }
}

fn is_section(context: Context) -> bool {
    let sections = [Context::NAVIGATION, Context::ASIDE, Context::FOOTER];
    // The header of an article contains its title, the header of a page its menu.
    let is_page_header = context.contains(Context::HEADER) && !context.contains(Context::MAIN);
    is_page_header || sections.into_iter().any(|section| context.contains(section))
}

/// Appends a line in which numbers are replaced, except for amounts of two decimals, and for all that are no dates and times if
/// `keeps_counts` is set. A line without letters is data and stays as it is, unless it is a time of day.
fn mask_numbers(line: &str, keeps_counts: bool, masked: &mut Vec<u8>) {
    let bytes = line.as_bytes();
    let has_letters = bytes.iter().any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii());
    if !has_letters && !bytes.contains(&b':') {
        masked.extend_from_slice(bytes);
        return;
    }
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(u8::is_ascii_digit) {
        let length = rest[at..].iter().position(|byte| !is_number_byte(*byte)).unwrap_or(rest.len() - at);
        let (before, number) = (&rest[..at], &rest[at..at + length]);
        masked.extend_from_slice(before);
        if is_amount(number) || keeps_counts && !is_time(number) {
            masked.extend_from_slice(number);
        } else {
            masked.push(b'0');
        }
        rest = &rest[at + length..];
    }
    masked.extend_from_slice(rest);
}

fn is_number_byte(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b':' | b'/' | b'-')
}

/// Whether a number is a time of day or a date: `8:15`, `2026-11-18`, `18.11.2026`.
fn is_time(number: &[u8]) -> bool {
    let separators = |separator: u8| number.iter().filter(|byte| **byte == separator).count();
    separators(b':') > 0 || [b'-', b'/', b'.'].into_iter().any(|separator| separators(separator) == 2)
}

/// Whether a number is an amount with two decimals, such as `1,234.50`, and no date.
fn is_amount(number: &[u8]) -> bool {
    let end = number.iter().rposition(u8::is_ascii_digit).map_or(0, |last| last + 1);
    let number = &number[..end];
    let Some((_, [separator, decimals @ ..])) = number.split_last_chunk::<3>() else { return false };
    matches!(separator, b'.' | b',')
        && decimals.iter().all(u8::is_ascii_digit)
        && number.iter().filter(|byte| *byte == separator).count() == 1
        && !number.iter().any(|byte| matches!(byte, b':' | b'/' | b'-'))
}

fn without_fragment(href: &str) -> &str {
    href.split('#').next().unwrap_or_default()
}

/// Hashes the target of a link without the values that differ at each request: sessions, tokens, timestamps.
fn hash_target(target: &str, hash: &mut Xxh3) {
    for (index, part) in target.split_inclusive(['?', '&', ';']).enumerate() {
        let parameter = part.trim_end_matches(['?', '&', ';']);
        match parameter.split_once('=').filter(|(_, value)| index > 0 && is_token(value)) {
            Some((name, _)) => hash.update(name.as_bytes()),
            None => hash.update(part.as_bytes()),
        }
    }
}

/// Whether a value is a timestamp, or random letters and digits.
fn is_token(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    if digits == value.len() {
        return digits >= MIN_TIMESTAMP_DIGITS;
    }
    value.len() >= MIN_TOKEN_BYTES && digits >= 2 && value.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::{Options, parse_html};

    fn hash(html: &str) -> u64 {
        let mut document = Document::default();
        parse_html(html, &Options::default(), &mut document);
        document.change_hash(&document.main_text())
    }

    const TEXT: &str = "A weir is a barrier across the width of a river that alters the flow of its water and usually \
                        changes the height of its level, and many different designs of such barriers exist today.";

    #[test]
    fn a_front_page_that_gains_a_link_has_changed() {
        let front = |items: &str| {
            hash(&format!("<nav><a href=/>Home</a></nav><ul>{items}</ul><footer>2026</footer>"))
        };
        let before = front("<li><a href=/1>First story</a>");
        assert_ne!(before, front("<li><a href=/1>First story</a><li><a href=/2>Second story</a>"));
        assert_ne!(before, front("<li><a href=/2>First story</a>"), "another target");
        assert_ne!(before, front("<li><a href=/1>Changed story</a>"), "another headline");
        assert_eq!(before, front("<li class=new><a href='/1#top'>First  story</a>"));
    }

    #[test]
    fn templates_clocks_counters_and_tokens_are_no_changes() {
        let page = |menu: &str, note: &str, token: &str| {
            hash(&format!(
                "<title>Weirs</title><header><p>{menu}</header><nav><a href=/{menu}>{menu}</a></nav><div>{note}</div><h1>Weirs</h1><p>{TEXT}<p>{TEXT}</p>\
                 <a href='/next?sid={token}'>Next</a><aside>{menu}</aside><footer>{menu}</footer><script>{token}</script>"
            ))
        };
        let before = page("menu", "As of 2026-11-18 08:15, 1,204 visitors", "a1b2c3d4e5f6a7b8c9d0");
        assert_eq!(before, page("other", "As of 2026-11-19 23:59, 1,377 visitors", "0f9e8d7c6b5a49382716"));
        assert_ne!(before, page("menu", "As of 2026-11-18 08:15, all visitors", "a1b2c3d4e5f6a7b8c9d0"));
        assert_ne!(before, page("menu", "As of 2026-11-18 08:15, 1,204 visitors", "42"));
    }

    #[test]
    fn numbers_of_the_text_of_tables_and_amounts_are_content() {
        let page = |sentence: &str, cell: &str, price: &str| {
            hash(&format!(
                "<p>{TEXT} It has {sentence} gates.<p>{TEXT}<table><tr><td>{cell}</table><div>Price: {price} EUR</div>"
            ))
        };
        let before = page("12", "7", "19.99");
        assert_eq!(before, page("12", "7", "19.99"));
        assert_ne!(before, page("13", "7", "19.99"));
        assert_ne!(before, page("12", "8", "19.99"));
        assert_ne!(before, page("12", "7", "18.99"));
    }

    #[test]
    fn on_a_page_without_a_main_text_counts_are_content_and_times_are_not() {
        let page = |text: &str| hash(&format!("<p>{text}</p>"));
        assert_ne!(page("Week 1"), page("Week 2"));
        assert_eq!(page("Now 8:15, 18.11.2026"), page("Now 8:16, 19.11.2026"));
    }

    #[test]
    fn outside_of_a_main_element_nothing_counts() {
        let page = |beside: &str, within: &str| {
            hash(&format!(
                "<div><a href=/{beside}>{beside}</a></div><main><p>{TEXT}<p>{TEXT}<ul><li><a href=/{within}>{within}</a></ul></main>"
            ))
        };
        assert_eq!(page("a", "c"), page("b", "c"));
        assert_ne!(page("a", "c"), page("a", "d"));
    }

    #[test]
    fn a_page_of_menus_is_compared_as_a_whole_and_an_empty_one_has_no_hash() {
        assert_ne!(
            hash("<nav><a href=/1>One</a></nav>"),
            hash("<nav><a href=/1>One</a><a href=/2>Two</a></nav>")
        );
        assert_eq!(hash("<script>var a</script>"), 0);
    }

    #[test]
    fn amounts_are_told_from_dates_times_and_counts() {
        for amount in ["19.99", "1,234.50", "1.234,50", "0,99"] {
            assert!(is_amount(amount.as_bytes()), "{amount}");
        }
        for other in ["18.11.26", "12:30", "2026-11-18", "1,204", "42", "0.023", "1/2", ".", "7.5"] {
            assert!(!is_amount(other.as_bytes()), "{other}");
        }
    }
}
