//! HTML tokenizer (HTML standard, section 13.2.5); passes all cases of html5lib-tests.
//!
//! The implementation differs from the standard's state machine, with the same results: instead of one state per character
//! it searches for the next significant byte (`<` in text, the quote in a value, the end tag of a script) and emits slices of
//! the input. It copies and decodes nothing, reports no parse errors, builds no tree, and cannot fail: any string is a page.

use memchr::memchr;

use super::characters::{Characters, Rules};
use super::doctype::Doctype;
use super::raw_text;
use super::tag::{Attribute, NameKey, Tag};

/// Maximum number of attributes of a tag; further ones are skipped.
const MAX_ATTRIBUTES: usize = 512;

/// Receiver of the tokens of a page, in source order. Text may be split into several tokens.
pub trait TokenSink {
    /// Text between tags.
    fn text(&mut self, text: Characters<'_>);
    /// A start tag; returns how its content is tokenized.
    fn start_tag(&mut self, tag: &Tag<'_, '_>) -> Content;
    /// An end tag.
    fn end_tag(&mut self, tag: &Tag<'_, '_>);
    /// A comment, or markup that the standard treats as one.
    fn comment(&mut self, _text: Characters<'_>) {}
    /// A document type declaration.
    fn doctype(&mut self, _doctype: &Doctype<'_>) {}
    /// Reports whether the parser is inside SVG or MathML, where CDATA sections exist.
    fn in_foreign_content(&self) -> bool {
        false
    }
}

/// Content model of an element: the tokenizer states of the standard that last longer than a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Text, tags and references.
    Markup,
    /// Text and references up to the end tag: `title`, `textarea`.
    Rcdata,
    /// Text up to the end tag: `style`, `iframe` and the like.
    Rawtext,
    /// Text up to the end tag, with the escapes of scripts.
    Script,
    /// Text up to the end of the page.
    Plaintext,
    /// Text up to `]]>`.
    Cdata,
}

/// Tokenizer of one page.
pub struct Tokenizer<'a> {
    input: &'a str,
    at: usize,
    content: Content,
    /// Name of the element whose content extends to its end tag.
    element: &'a str,
    attributes: Vec<Attribute<'a>>,
    attributes_truncated: bool,
}

impl<'a> Tokenizer<'a> {
    /// Creates a tokenizer for a whole page.
    pub fn new(input: &'a str) -> Tokenizer<'a> {
        Tokenizer::inside(input, Content::Markup, "")
    }

    /// Creates a tokenizer for the content of an element.
    pub fn inside(input: &'a str, content: Content, element: &'a str) -> Tokenizer<'a> {
        Tokenizer { input, at: 0, content, element, attributes: Vec::new(), attributes_truncated: false }
    }

    /// Tokenizes the whole input.
    pub fn run(mut self, sink: &mut impl TokenSink) {
        while self.at < self.input.len() {
            match self.content {
                Content::Markup => self.markup(sink),
                _ => self.element_content(sink),
            }
        }
    }

    /// Emits content without markup, up to its end.
    fn element_content(&mut self, sink: &mut impl TokenSink) {
        let bytes = self.input.as_bytes();
        let name = self.element.as_bytes();
        let (end, rules, skipped) = match self.content {
            Content::Rcdata => (raw_text::end_tag(bytes, self.at, name), Rules::Rcdata, 0),
            Content::Rawtext => (raw_text::end_tag(bytes, self.at, name), Rules::Literal, 0),
            Content::Script => (raw_text::script_end_tag(bytes, self.at, name), Rules::Literal, 0),
            Content::Cdata => (raw_text::cdata_end(bytes, self.at), Rules::Cdata, "]]>".len()),
            Content::Plaintext | Content::Markup => (None, Rules::Literal, 0),
        };
        let text = &self.input[self.at..end.unwrap_or(bytes.len())];
        if !text.is_empty() {
            sink.text(Characters::new(text, rules));
        }
        self.at = end.map_or(bytes.len(), |end| end + skipped);
        self.content = Content::Markup;
    }

    /// Emits text up to the next markup, and that markup.
    fn markup(&mut self, sink: &mut impl TokenSink) {
        let bytes = self.input.as_bytes();
        let start = self.at;
        let mut search = start;
        loop {
            let Some(offset) = memchr(b'<', &bytes[search..]) else {
                self.at = bytes.len();
                return self.text(start, self.at, sink);
            };
            let open = search + offset;
            search = open + 1;
            let Some(&next) = bytes.get(search) else { continue };
            if next.is_ascii_alphabetic() {
                self.text(start, open, sink);
                return self.start_tag(search, sink);
            }
            match next {
                b'/' if search + 1 == bytes.len() => continue,
                b'/' => {
                    self.text(start, open, sink);
                    return self.end_tag_open(search + 1, sink);
                }
                b'!' => {
                    self.text(start, open, sink);
                    return self.declaration(search + 1, sink);
                }
                b'?' => {
                    self.text(start, open, sink);
                    return self.bogus_comment(search, sink);
                }
                // A lone `<` is text.
                _ => {}
            }
        }
    }

    fn text(&self, start: usize, end: usize, sink: &mut impl TokenSink) {
        if start < end {
            sink.text(Characters::new(&self.input[start..end], Rules::Text));
        }
    }

    fn start_tag(&mut self, name_start: usize, sink: &mut impl TokenSink) {
        let Some(tag) = self.read_tag(name_start) else { return };
        let content = sink.start_tag(&Tag {
            raw_name: tag.raw_name,
            key: tag.key,
            attributes: &self.attributes,
            self_closing: tag.self_closing,
            attributes_truncated: self.attributes_truncated,
        });
        self.content = content;
        self.element = tag.raw_name;
    }

    fn end_tag_open(&mut self, at: usize, sink: &mut impl TokenSink) {
        match self.input.as_bytes()[at] {
            letter if letter.is_ascii_alphabetic() => {
                let Some(tag) = self.read_tag(at) else { return };
                sink.end_tag(&Tag {
                    raw_name: tag.raw_name,
                    key: tag.key,
                    attributes: &[],
                    self_closing: tag.self_closing,
                    attributes_truncated: false,
                });
            }
            // `</>` is ignored.
            b'>' => self.at = at + 1,
            _ => self.bogus_comment(at, sink),
        }
    }

    /// Reads a tag from its name on. `None` if the page ends within it: the standard drops such a tag.
    #[inline]
    fn read_tag(&mut self, name_start: usize) -> Option<TagHead<'a>> {
        let bytes = self.input.as_bytes();
        self.attributes.clear();
        self.attributes_truncated = false;
        let (mut key, mut at) = NameKey::scan(bytes, name_start);
        if bytes.get(at).is_some_and(|&byte| !ends_name(byte)) {
            key = NameKey::OTHER;
            at = find(bytes, at, ends_name);
        }
        let raw_name = &self.input[name_start..at];
        let self_closing = match bytes.get(at) {
            Some(b'>') => {
                self.at = at + 1;
                false
            }
            _ => self.read_attributes(at)?,
        };
        Some(TagHead { raw_name, key, self_closing })
    }

    /// Reads attributes and the closing `>`; returns whether the tag closes itself.
    fn read_attributes(&mut self, mut at: usize) -> Option<bool> {
        let bytes = self.input.as_bytes();
        // If the page ends within the tag, tokenizing ends here.
        self.at = bytes.len();
        loop {
            match *bytes.get(at)? {
                byte if is_space(byte) => at += 1,
                b'>' => {
                    self.at = at + 1;
                    return Some(false);
                }
                b'/' if bytes.get(at + 1) == Some(&b'>') => {
                    self.at = at + 2;
                    return Some(true);
                }
                b'/' => at += 1,
                _ => at = self.read_attribute(at)?,
            }
        }
    }

    /// Reads the attribute at `start`; returns its end.
    #[inline]
    fn read_attribute(&mut self, start: usize) -> Option<usize> {
        let bytes = self.input.as_bytes();
        // An equals sign is part of a name only as its first character.
        let name_end = find(bytes, start + 1, ends_attribute_name);
        let mut at = name_end;
        while is_space(*bytes.get(at)?) {
            at += 1;
        }
        let (value, end) = if bytes[at] == b'=' { self.read_value(at + 1)? } else { ("", at) };
        if self.attributes.len() < MAX_ATTRIBUTES {
            let raw_name = &self.input[start..name_end];
            self.attributes.push(Attribute { raw_name, raw_value: value });
        } else {
            self.attributes_truncated = true;
        }
        Some(end)
    }

    /// Reads a value after its equals sign; returns it without quotes, and its end.
    #[inline]
    fn read_value(&self, mut at: usize) -> Option<(&'a str, usize)> {
        let bytes = self.input.as_bytes();
        while is_space(*bytes.get(at)?) {
            at += 1;
        }
        match bytes[at] {
            quote @ (b'"' | b'\'') => {
                let start = at + 1;
                let end = start + memchr(quote, &bytes[start..])?;
                Some((&self.input[start..end], end + 1))
            }
            b'>' => Some(("", at)),
            _ => {
                let end = find(bytes, at, |byte| byte == b'>' || is_space(byte));
                Some((&self.input[at..end], end))
            }
        }
    }

    /// Handles the markup after `<!`.
    fn declaration(&mut self, at: usize, sink: &mut impl TokenSink) {
        let rest = &self.input.as_bytes()[at..];
        if rest.starts_with(b"--") {
            self.comment(at + 2, sink);
        } else if rest.get(..7).is_some_and(|word| word.eq_ignore_ascii_case(b"doctype")) {
            let (doctype, length) = Doctype::read(&self.input[at + 7..]);
            self.at = at + 7 + length;
            sink.doctype(&doctype);
        } else if rest.starts_with(b"[CDATA[") && sink.in_foreign_content() {
            self.at = at + 7;
            self.content = Content::Cdata;
        } else {
            self.bogus_comment(at, sink);
        }
    }

    /// Reads a comment after its `<!--`. It ends at the first `-->` or `--!>`, and also at a leading `>` or `->`.
    fn comment(&mut self, start: usize, sink: &mut impl TokenSink) {
        let bytes = self.input.as_bytes();
        let rest = &bytes[start..];
        let (length, taken) = if rest.starts_with(b">") {
            (0, 1)
        } else if rest.starts_with(b"->") {
            (0, 2)
        } else {
            comment_length(rest)
        };
        self.at = start + taken;
        sink.comment(Characters::new(&self.input[start..start + length], Rules::Literal));
    }

    /// Reads markup that the standard treats as a comment up to the next `>`.
    fn bogus_comment(&mut self, start: usize, sink: &mut impl TokenSink) {
        let bytes = self.input.as_bytes();
        let end = memchr(b'>', &bytes[start..]).map(|offset| start + offset);
        self.at = end.map_or(bytes.len(), |end| end + 1);
        let text = &self.input[start..end.unwrap_or(bytes.len())];
        sink.comment(Characters::new(text, Rules::Literal));
    }
}

struct TagHead<'a> {
    raw_name: &'a str,
    key: NameKey,
    self_closing: bool,
}

/// Returns the length of a comment's text, and of the text with its end marker.
fn comment_length(rest: &[u8]) -> (usize, usize) {
    let mut from = 0;
    while let Some(offset) = memchr(b'>', &rest[from..]) {
        let close = from + offset;
        if rest[..close].ends_with(b"--") {
            return (close - 2, close + 1);
        }
        if rest[..close].ends_with(b"--!") {
            return (close - 3, close + 1);
        }
        from = close + 1;
    }
    // The page ends within the comment: an incomplete end marker is not text.
    let mark = [&b"--!"[..], b"--", b"-"].into_iter().find(|mark| rest.ends_with(mark));
    (rest.len() - mark.map_or(0, <[u8]>::len), rest.len())
}

/// Returns the first position from `at` on whose byte satisfies `stop`, or the end.
#[inline]
fn find(bytes: &[u8], at: usize, stop: impl Fn(u8) -> bool) -> usize {
    bytes[at..].iter().position(|&byte| stop(byte)).map_or(bytes.len(), |offset| at + offset)
}

#[inline]
fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}

#[inline]
fn ends_name(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b'/' | b'>')
}

#[inline]
fn ends_attribute_name(byte: u8) -> bool {
    ends_name(byte) || byte == b'='
}
