//! What is left of a page when only structure and logical markup stay? The kept form, as WIRE stored it.
//!
//! Tags that are not kept vanish and their content stays; of the attributes only those that say something about the
//! content stay; text is collapsed and escaped anew. The result is HTML that means the same to a machine that reads.

use super::characters::Characters;
use super::element::{Gap, Role};
use super::tag::{NameKey, Tag};

/// Which tags and attributes the kept form keeps.
#[derive(Debug, Clone)]
pub struct KeptTags {
    tags: Vec<NameKey>,
    /// Those whose keys do not tell them from others.
    other_tags: Vec<String>,
    attributes: Vec<String>,
}

impl KeptTags {
    /// Keeps these tags and attributes, given in lower case, and nothing else.
    pub fn new<'n>(
        tags: impl IntoIterator<Item = &'n str>,
        attributes: impl IntoIterator<Item = &'n str>,
    ) -> KeptTags {
        let (other_tags, tags): (Vec<&str>, Vec<&str>) =
            tags.into_iter().partition(|tag| NameKey::new(tag) == NameKey::OTHER);
        let tags = tags.into_iter().map(NameKey::new).collect();
        let other_tags = other_tags.into_iter().map(str::to_owned).collect();
        KeptTags { tags, other_tags, attributes: attributes.into_iter().map(str::to_owned).collect() }
    }

    fn keeps(&self, tag: &Tag<'_, '_>) -> bool {
        match tag.key {
            NameKey::OTHER => self.other_tags.iter().any(|name| *name == tag.name()),
            key => self.tags.contains(&key),
        }
    }
}

/// The tags that are kept without a wish: structure, logical markup and links; neither `div` nor `span`, neither style nor
/// script.
#[rustfmt::skip]
pub const KEPT_TAGS: &[&str] = &[
    "html", "head", "title", "body", "main", "article", "section", "nav", "header", "footer", "aside", "h1", "h2", "h3",
    "h4", "h5", "h6", "p", "br", "hr", "ul", "ol", "li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tfoot",
    "tr", "th", "td", "blockquote", "q", "cite", "pre", "code", "kbd", "samp", "var", "em", "strong", "b", "i", "u", "sub",
    "sup", "abbr", "dfn", "time", "mark", "ins", "del", "figure", "figcaption", "a", "img",
];

/// The attributes that are kept without a wish.
pub const KEPT_ATTRIBUTES: &[&str] = &["href", "lang", "datetime", "alt"];

impl Default for KeptTags {
    /// [`KEPT_TAGS`] and [`KEPT_ATTRIBUTES`].
    fn default() -> KeptTags {
        KeptTags::new(KEPT_TAGS.iter().copied(), KEPT_ATTRIBUTES.iter().copied())
    }
}

/// The kept form under construction.
pub(super) struct Kept<'o> {
    out: String,
    tags: &'o KeptTags,
    gap: Gap,
    preformatted: u32,
    limit_bytes: usize,
}

impl<'o> Kept<'o> {
    pub(super) fn new(out: String, tags: &'o KeptTags, limit_bytes: usize) -> Kept<'o> {
        Kept { out, tags, gap: Gap::Nothing, preformatted: 0, limit_bytes }
    }

    /// Whether the limit is reached: from then on nothing is added.
    pub(super) fn is_full(&self) -> bool {
        self.out.len() >= self.limit_bytes
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    pub(super) fn start_tag(&mut self, tag: &Tag<'_, '_>) {
        self.gap = self.gap.max(Role::of(tag.key).gap);
        if !self.tags.keeps(tag) || self.is_full() {
            return;
        }
        self.fill_gap();
        self.preformatted += u32::from(tag.key == PRE);
        self.out.push('<');
        self.out.push_str(&tag.name());
        for attribute in tag.attributes {
            if self.tags.attributes.iter().any(|name| attribute.is(name)) {
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
        if self.tags.keeps(tag) && !self.is_full() {
            self.preformatted = self.preformatted.saturating_sub(u32::from(tag.key == PRE));
            self.out.push_str("</");
            self.out.push_str(&tag.name());
            self.out.push('>');
        }
        self.gap = self.gap.max(Role::of(tag.key).gap);
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
