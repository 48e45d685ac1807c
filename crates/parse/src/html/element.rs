//! Table of HTML elements with their effect on text and links.

use super::tag::NameKey;
use crate::document::Context;
use crate::outline::{BlockKind, Marks};

/// Elements with a special treatment in the extractor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    A,
    Area,
    Base,
    Embed,
    Form,
    Frame,
    Heading(u8),
    Html,
    Iframe,
    Image,
    Input,
    Link,
    Meta,
    Object,
    Option,
    Pre,
    Script,
    Media,
    /// Elements with markup of another language: SVG, MathML.
    Foreign,
    /// Elements with raw text that is not visible.
    Opaque,
    Plaintext,
    Template,
    Textarea,
    Time,
    Title,
    /// All other elements; only their effect on the text matters.
    Plain,
}

/// Separator between the text before and after a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    Nothing,
    Space,
    Line,
}

/// An element with its effect on the text and the context of the links within it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Role {
    pub(super) element: Element,
    pub(super) gap: Gap,
    pub(super) context: Context,
    /// Kind of the element in the outline.
    pub(super) block: BlockKind,
    /// Marks of the element in the outline.
    pub(super) marks: Marks,
}

impl Role {
    const PLAIN: Role = Role {
        element: Element::Plain,
        gap: Gap::Nothing,
        context: Context::NONE,
        block: BlockKind::None,
        marks: Marks::NONE,
    };

    /// Returns the role of an element; elements not in the table are plain and inline.
    pub(super) fn from_key(key: NameKey) -> Role {
        let mut slot = slot_of(key);
        loop {
            match SLOTS[slot] {
                0 => return Role::PLAIN,
                entry if ROLES[entry as usize - 1].0 == key => return ROLES[entry as usize - 1].1,
                _ => slot = (slot + 1) % SLOT_COUNT,
            }
        }
    }
}

/// Number of slots of the open-addressing table over [`ROLES`]: four times its size, so that most lookups touch one slot.
const SLOT_COUNT: usize = 512;
const SLOTS: [u8; SLOT_COUNT] = {
    let mut slots = [0; SLOT_COUNT];
    let mut entry = 0;
    while entry < ROLES.len() {
        let mut slot = slot_of(ROLES[entry].0);
        while slots[slot] != 0 {
            slot = (slot + 1) % SLOT_COUNT;
        }
        slots[slot] = entry as u8 + 1;
        entry += 1;
    }
    slots
};

const fn slot_of(key: NameKey) -> usize {
    // Fibonacci hashing: the top bits of the product are well mixed.
    (key.word().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize
}

const fn plain(name: &str, gap: Gap, context: Context) -> (NameKey, Role) {
    role(name, Element::Plain, gap, context)
}

const fn role(name: &str, element: Element, gap: Gap, context: Context) -> (NameKey, Role) {
    let key = NameKey::new(name);
    let block = block_kind(key, gap);
    (key, Role { element, gap, context, block, marks: marks(key) })
}

const fn block_kind(key: NameKey, gap: Gap) -> BlockKind {
    if key.is_one_of(&["html", "body", "head"]) {
        BlockKind::Root
    } else if key.is_one_of(&["br", "hr", "iframe", "input", "plaintext", "xmp"]) {
        BlockKind::None
    } else if key.is_one_of(&["p", "blockquote", "dd", "figure", "figcaption", "details", "summary"]) {
        BlockKind::Paragraph
    } else if key.is_one_of(&["li", "dt"]) {
        BlockKind::Item
    } else if key.is_one_of(&["tr", "td", "th", "caption"]) {
        BlockKind::Cell
    } else if key.is_one_of(&["h1", "h2", "h3", "h4", "h5", "h6"]) {
        BlockKind::Heading
    } else if key.is_one_of(&["pre"]) {
        BlockKind::Preformatted
    } else if key.is_one_of(&["select", "option", "optgroup", "button", "label", "legend", "textarea"]) {
        BlockKind::Control
    } else if matches!(gap, Gap::Line) || key.is_one_of(&["noscript"]) {
        BlockKind::Container
    } else {
        BlockKind::None
    }
}

const fn marks(key: NameKey) -> Marks {
    let marks = if key.is_one_of(&["nav", "menu"]) {
        Marks::NAVIGATION
    } else if key.is_one_of(&["header"]) {
        Marks::HEADER
    } else if key.is_one_of(&["footer", "address"]) {
        Marks::FOOTER
    } else if key.is_one_of(&["aside"]) {
        Marks::ASIDE
    } else if key.is_one_of(&["dialog"]) {
        Marks::NOTICE
    } else if key.is_one_of(&["noscript"]) {
        Marks::HIDDEN
    } else if key.is_one_of(&["figcaption"]) {
        Marks::CAPTION
    } else if key.is_one_of(&["article"]) {
        Marks::ARTICLE
    } else if key.is_one_of(&["main"]) {
        Marks::MAIN
    } else {
        return Marks::NONE;
    };
    marks.union(Marks::BY_ELEMENT)
}

const ROLES: &[(NameKey, Role)] = &[
    role("a", Element::A, Gap::Nothing, Context::NONE),
    role("area", Element::Area, Gap::Nothing, Context::NONE),
    role("audio", Element::Media, Gap::Nothing, Context::NONE),
    role("base", Element::Base, Gap::Nothing, Context::NONE),
    role("embed", Element::Embed, Gap::Nothing, Context::NONE),
    role("form", Element::Form, Gap::Line, Context::NONE),
    role("frame", Element::Frame, Gap::Nothing, Context::NONE),
    role("h1", Element::Heading(1), Gap::Line, Context::HEADING),
    role("h2", Element::Heading(2), Gap::Line, Context::HEADING),
    role("h3", Element::Heading(3), Gap::Line, Context::HEADING),
    role("h4", Element::Heading(4), Gap::Line, Context::HEADING),
    role("h5", Element::Heading(5), Gap::Line, Context::HEADING),
    role("h6", Element::Heading(6), Gap::Line, Context::HEADING),
    role("html", Element::Html, Gap::Line, Context::NONE),
    role("iframe", Element::Iframe, Gap::Line, Context::NONE),
    role("image", Element::Image, Gap::Nothing, Context::NONE),
    role("img", Element::Image, Gap::Nothing, Context::NONE),
    role("input", Element::Input, Gap::Space, Context::NONE),
    role("link", Element::Link, Gap::Nothing, Context::NONE),
    role("math", Element::Foreign, Gap::Nothing, Context::NONE),
    role("meta", Element::Meta, Gap::Nothing, Context::NONE),
    role("noembed", Element::Opaque, Gap::Nothing, Context::NONE),
    role("noframes", Element::Opaque, Gap::Nothing, Context::NONE),
    role("object", Element::Object, Gap::Nothing, Context::NONE),
    role("option", Element::Option, Gap::Line, Context::NONE),
    role("plaintext", Element::Plaintext, Gap::Line, Context::NONE),
    role("pre", Element::Pre, Gap::Line, Context::PREFORMATTED),
    role("script", Element::Script, Gap::Nothing, Context::NONE),
    role("source", Element::Media, Gap::Nothing, Context::NONE),
    role("style", Element::Opaque, Gap::Nothing, Context::NONE),
    role("svg", Element::Foreign, Gap::Nothing, Context::NONE),
    role("template", Element::Template, Gap::Nothing, Context::NONE),
    role("textarea", Element::Textarea, Gap::Line, Context::NONE),
    role("time", Element::Time, Gap::Nothing, Context::NONE),
    role("title", Element::Title, Gap::Nothing, Context::NONE),
    role("track", Element::Media, Gap::Nothing, Context::NONE),
    role("video", Element::Media, Gap::Nothing, Context::NONE),
    role("xmp", Element::Opaque, Gap::Line, Context::NONE),
    plain("address", Gap::Line, Context::NONE),
    plain("article", Gap::Line, Context::MAIN),
    plain("aside", Gap::Line, Context::ASIDE),
    plain("b", Gap::Nothing, Context::STRONG),
    plain("big", Gap::Nothing, Context::STRONG),
    plain("blockquote", Gap::Line, Context::NONE),
    plain("body", Gap::Line, Context::NONE),
    plain("br", Gap::Line, Context::NONE),
    plain("button", Gap::Space, Context::NONE),
    plain("caption", Gap::Line, Context::NONE),
    plain("center", Gap::Line, Context::NONE),
    plain("dd", Gap::Line, Context::NONE),
    plain("details", Gap::Line, Context::NONE),
    plain("dialog", Gap::Line, Context::NONE),
    plain("dir", Gap::Line, Context::LIST),
    plain("div", Gap::Line, Context::NONE),
    plain("dl", Gap::Line, Context::LIST),
    plain("dt", Gap::Line, Context::NONE),
    plain("em", Gap::Nothing, Context::EMPHASIS),
    plain("fieldset", Gap::Line, Context::NONE),
    plain("figcaption", Gap::Line, Context::NONE),
    plain("figure", Gap::Line, Context::NONE),
    plain("footer", Gap::Line, Context::FOOTER),
    plain("head", Gap::Line, Context::NONE),
    plain("header", Gap::Line, Context::HEADER),
    plain("hgroup", Gap::Line, Context::NONE),
    plain("hr", Gap::Line, Context::NONE),
    plain("i", Gap::Nothing, Context::EMPHASIS),
    plain("label", Gap::Space, Context::NONE),
    plain("legend", Gap::Line, Context::NONE),
    plain("li", Gap::Line, Context::NONE),
    plain("main", Gap::Line, Context::MAIN),
    plain("menu", Gap::Line, Context::NAVIGATION),
    plain("nav", Gap::Line, Context::NAVIGATION),
    plain("noscript", Gap::Nothing, Context::NONE),
    plain("ol", Gap::Line, Context::LIST),
    plain("optgroup", Gap::Line, Context::NONE),
    plain("p", Gap::Line, Context::NONE),
    plain("section", Gap::Line, Context::NONE),
    plain("select", Gap::Line, Context::NONE),
    plain("strong", Gap::Nothing, Context::STRONG),
    plain("summary", Gap::Line, Context::NONE),
    plain("table", Gap::Line, Context::TABLE),
    plain("tbody", Gap::Line, Context::NONE),
    plain("td", Gap::Space, Context::NONE),
    plain("tfoot", Gap::Line, Context::NONE),
    plain("th", Gap::Space, Context::NONE),
    plain("thead", Gap::Line, Context::NONE),
    plain("tr", Gap::Line, Context::NONE),
    plain("ul", Gap::Line, Context::LIST),
];
