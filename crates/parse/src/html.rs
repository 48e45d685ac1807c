//! HTML: from a page's text to its links, words and wishes, in one pass.
//!
//! [`parse_html`] is what a crawler wants. Below it lies the [`Tokenizer`], which knows the syntax and hands events to
//! a [`TokenSink`]; it is public for whoever wants something else from a page.

mod character_reference;
mod characters;
mod doctype;
mod element;
mod entities;
mod extractor;
mod flow;
mod kept;
mod meta;
mod raw_text;
mod tag;
mod tokenizer;

pub use characters::Characters;
pub use doctype::Doctype;
pub use kept::{KEPT_ATTRIBUTES, KEPT_TAGS, KeptTags};
pub use tag::{Attribute, NameKey, Tag};
pub use tokenizer::{Content, TokenSink, Tokenizer};

use crate::document::Document;
use extractor::Extractor;

/// What to take from a page, and how much of it.
#[derive(Debug, Clone)]
pub struct Options {
    /// Limits on what comes out.
    pub limits: Limits,
    /// The crawler's product token, in lower case: `<meta name=TOKEN>` speaks to it alone.
    pub agent: String,
    /// Which tags the kept form has; `None` when no kept form is wanted.
    pub keep: Option<KeptTags>,
}

/// Limits on what comes out of a page. Whatever lies beyond is left out, and the document says so.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How much of the page is read at all; never above 1 GiB, since positions are kept in 32 bits.
    pub input_bytes: usize,
    /// Text of the page.
    pub text_bytes: usize,
    /// Title, and description.
    pub title_bytes: usize,
    /// Number of links, and of headings.
    pub links: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { input_bytes: 16 << 20, text_bytes: 8 << 20, title_bytes: 2 << 10, links: 20_000 }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options { limits: Limits::default(), agent: "weir".to_owned(), keep: None }
    }
}

/// Reads a page into `document`, whose former content is dropped and whose memory is used again.
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

/// Appends the words of `text`, one space between them and without control characters, up to a limit; tells whether that
/// cut something off.
fn push_words(out: &mut String, text: &str, limit_bytes: usize) -> bool {
    let start = out.len();
    for word in text.split_whitespace() {
        if out.len() > start {
            out.push(' ');
        }
        out.extend(word.chars().filter(|character| !character.is_control()));
        if out.len() - start > limit_bytes {
            out.truncate(out.floor_char_boundary(start + limit_bytes));
            out.truncate(start + out[start..].trim_end().len());
            return true;
        }
    }
    false
}
