//! HTML: from a page's text to its links, words and wishes, in one pass.

mod character_reference;
mod characters;
mod doctype;
mod entities;
mod raw_text;
mod tag;
mod tokenizer;

pub use characters::Characters;
pub use doctype::Doctype;
pub use tag::{Attribute, NameKey, Tag};
pub use tokenizer::{Content, TokenSink, Tokenizer};
