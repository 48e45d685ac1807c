//! HTML parser: links, text and metadata of a page, in one pass.
//!
//! [`parse_html`] fills a [`Document`]. It is built on the [`Tokenizer`], which parses the syntax and sends tokens to a
//! [`TokenSink`]; the tokenizer is public for other uses, such as the sanitizer of cached pages.

mod character_reference;
mod characters;
mod doctype;
mod element;
mod entities;
mod extractor;
mod marks;
mod meta;
mod outline_builder;
mod raw_text;
mod simplified;
mod tag;
mod text_flow;
mod tokenizer;

pub use characters::Characters;
pub use doctype::Doctype;
pub use simplified::{SIMPLIFIED_ATTRIBUTES, SIMPLIFIED_TAGS, TagAllowlist};
pub use tag::{Attribute, NameKey, Tag};
pub use tokenizer::{Content, TokenSink, Tokenizer};

use crate::document::Document;
use extractor::Extractor;

/// Parser options.
#[derive(Debug, Clone)]
pub struct Options {
    /// Limits of the output.
    pub limits: Limits,
    /// Product token of the crawler in lower case, for `<meta name=TOKEN>`.
    pub agent: String,
    /// Tags and attributes of the simplified HTML; `None` to produce none.
    pub simplify: Option<TagAllowlist>,
}

/// Limits of a parsed page. Content beyond a limit is skipped, and the document is marked as truncated.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum length of the input; never above 1 GiB, because positions are stored in 32 bits.
    pub input_bytes: usize,
    /// Maximum length of the text.
    pub text_bytes: usize,
    /// Maximum length of the title, and of the description.
    pub title_bytes: usize,
    /// Maximum number of links, and of headings.
    pub links: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { input_bytes: 16 << 20, text_bytes: 8 << 20, title_bytes: 2 << 10, links: 20_000 }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options { limits: Limits::default(), agent: "weir".to_owned(), simplify: None }
    }
}

/// Parses a page into `document` and reuses its memory.
pub fn parse_html(html: &str, options: &Options, document: &mut Document) {
    document.clear();
    let limit = options.limits.input_bytes.min(1 << 30);
    let html = if html.len() > limit {
        document.truncated = true;
        &html[..html.floor_char_boundary(limit)]
    } else {
        html
    };
    let mut extractor = Extractor::new(document, options);
    Tokenizer::new(html).run(&mut extractor);
    extractor.finish();
}

/// Appends `text` with collapsed white space and without control characters, up to a maximum length. Returns whether the
/// text was truncated.
fn push_collapsed(out: &mut String, text: &str, max_bytes: usize) -> bool {
    let start = out.len();
    for word in text.split_whitespace() {
        if out.len() > start {
            out.push(' ');
        }
        out.extend(word.chars().filter(|character| !character.is_control()));
        if out.len() - start > max_bytes {
            out.truncate(out.floor_char_boundary(start + max_bytes));
            out.truncate(start + out[start..].trim_end().len());
            return true;
        }
    }
    false
}
