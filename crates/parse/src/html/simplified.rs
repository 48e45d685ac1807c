//! Simplified HTML: structure and logical markup of a page, as WIRE stores it.
//!
//! Tags that are not in the allowlist are removed and their content is retained. Only attributes in the allowlist are
//! retained. Text is collapsed and escaped again.

use super::characters::Characters;
use super::element::{Gap, Role};
use super::tag::{NameKey, Tag};

/// Tags and attributes that are retained in simplified HTML.
#[derive(Debug, Clone)]
pub struct TagAllowlist {
    tags: Vec<NameKey>,
    /// Tags without a unique key.
    other_tags: Vec<String>,
    attributes: Vec<String>,
}

impl TagAllowlist {
    /// Creates an allowlist of tags and attributes in lower case.
    pub fn new<'n>(
        tags: impl IntoIterator<Item = &'n str>,
        attributes: impl IntoIterator<Item = &'n str>,
    ) -> TagAllowlist {
        let (other_tags, tags): (Vec<&str>, Vec<&str>) =
            tags.into_iter().partition(|tag| NameKey::new(tag) == NameKey::OTHER);
        let tags = tags.into_iter().map(NameKey::new).collect();
        let other_tags = other_tags.into_iter().map(str::to_owned).collect();
        TagAllowlist { tags, other_tags, attributes: attributes.into_iter().map(str::to_owned).collect() }
    }

    fn contains(&self, tag: &Tag<'_, '_>) -> bool {
        match tag.key {
            NameKey::OTHER => self.other_tags.iter().any(|name| *name == tag.name()),
            key => self.tags.contains(&key),
        }
    }
}

/// Default tags: structure, logical markup and links; without `div`, `span`, styles and scripts.
#[rustfmt::skip]
pub const SIMPLIFIED_TAGS: &[&str] = &[
    "html", "head", "title", "body", "main", "article", "section", "nav", "header", "footer", "aside", "h1", "h2", "h3",
    "h4", "h5", "h6", "p", "br", "hr", "ul", "ol", "li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tfoot",
    "tr", "th", "td", "blockquote", "q", "cite", "pre", "code", "kbd", "samp", "var", "em", "strong", "b", "i", "u", "sub",
    "sup", "abbr", "dfn", "time", "mark", "ins", "del", "figure", "figcaption", "a", "img",
];

/// Default attributes.
pub const SIMPLIFIED_ATTRIBUTES: &[&str] = &["href", "lang", "datetime", "alt"];

impl Default for TagAllowlist {
    /// [`SIMPLIFIED_TAGS`] and [`SIMPLIFIED_ATTRIBUTES`].
    fn default() -> TagAllowlist {
        TagAllowlist::new(SIMPLIFIED_TAGS.iter().copied(), SIMPLIFIED_ATTRIBUTES.iter().copied())
    }
}

/// Writer of simplified HTML.
pub(super) struct SimplifiedHtmlWriter<'o> {
    out: String,
    allowlist: &'o TagAllowlist,
    gap: Gap,
    preformatted: u32,
    max_bytes: usize,
}

impl<'o> SimplifiedHtmlWriter<'o> {
    pub(super) fn new(out: String, tags: &'o TagAllowlist, max_bytes: usize) -> SimplifiedHtmlWriter<'o> {
        SimplifiedHtmlWriter { out, allowlist: tags, gap: Gap::Nothing, preformatted: 0, max_bytes }
    }

    /// Reports whether the maximum length is reached; further content is skipped.
    pub(super) fn is_full(&self) -> bool {
        self.out.len() >= self.max_bytes
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    pub(super) fn start_tag(&mut self, tag: &Tag<'_, '_>) {
        self.gap = self.gap.max(Role::from_key(tag.key).gap);
        if !self.allowlist.contains(tag) || self.is_full() {
            return;
        }
        self.fill_gap();
        self.preformatted += u32::from(tag.key == PRE);
        self.out.push('<');
        self.out.push_str(&tag.name());
        for attribute in tag.attributes {
            if self.allowlist.attributes.iter().any(|name| attribute.is(name)) {
                self.out.push(' ');
                self.out.push_str(&attribute.name());
                self.out.push_str("=\"");
                push_escaped(&mut self.out, &attribute.value());
                self.out.push('"');
            }
        }
        self.out.push('>');
    }

    pub(super) fn end_tag(&mut self, tag: &Tag<'_, '_>) {
        if self.allowlist.contains(tag) && !self.is_full() {
            self.preformatted = self.preformatted.saturating_sub(u32::from(tag.key == PRE));
            self.out.push_str("</");
            self.out.push_str(&tag.name());
            self.out.push('>');
        }
        self.gap = self.gap.max(Role::from_key(tag.key).gap);
    }

    pub(super) fn text(&mut self, text: Characters<'_>) {
        if self.is_full() {
            return;
        }
        let text = text.decoded();
        if self.preformatted > 0 {
            self.fill_gap();
            return push_escaped(&mut self.out, &text);
        }
        for (number, word) in text.split(|c: char| c.is_ascii_whitespace()).enumerate() {
            if number > 0 {
                self.gap = self.gap.max(Gap::Space);
            }
            if !word.is_empty() {
                self.fill_gap();
                push_escaped(&mut self.out, word);
            }
        }
    }

    fn fill_gap(&mut self) {
        let gap = std::mem::replace(&mut self.gap, Gap::Nothing);
        match gap {
            Gap::Nothing => {}
            _ if self.out.is_empty() || self.out.ends_with('\n') => {}
            Gap::Space => self.out.push(' '),
            Gap::Line => self.out.push('\n'),
        }
    }
}

const PRE: NameKey = NameKey::new("pre");

fn push_escaped(out: &mut String, text: &str) {
    let mut copied = 0;
    for (at, byte) in text.bytes().enumerate() {
        let reference = match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            _ => continue,
        };
        out.push_str(&text[copied..at]);
        out.push_str(reference);
        copied = at + 1;
    }
    out.push_str(&text[copied..]);
}
