//! Builder of the outline: a stack of the open block elements.

use super::element::{Gap, Role};
use super::marks::MarksCache;
use super::tag::{NameKey, Tag};
use crate::outline::{BlockKind, Marks, Outline, OutlineNode};

/// Maximum depth of the outline; deeper elements belong to the element at this depth.
const MAX_DEPTH: usize = 256;

/// Maximum number of nodes; later elements belong to the element that is open then.
const MAX_NODES: usize = 1 << 18;

pub(super) struct OutlineBuilder {
    outline: Outline,
    open: Vec<OpenElement>,
    marks: MarksCache,
}

#[derive(Clone, Copy)]
struct OpenElement {
    key: NameKey,
    kind: BlockKind,
    node: u32,
}

impl OutlineBuilder {
    /// Creates a builder that reuses the memory of an outline.
    pub(super) fn new(mut outline: Outline) -> OutlineBuilder {
        outline.nodes.clear();
        let (kind, marks) = (BlockKind::Root, Marks::NONE);
        outline.nodes.push(OutlineNode { parent: 0, start: 0, end: u32::MAX, kind, marks });
        OutlineBuilder { outline, open: Vec::with_capacity(32), marks: MarksCache::default() }
    }

    /// Handles the start tag of a block element at a position of the text.
    pub(super) fn start(&mut self, role: Role, tag: &Tag<'_, '_>, position: u32) {
        if role.gap == Gap::Line {
            self.close_implied(role.block, position);
        }
        if self.open.len() >= MAX_DEPTH || self.outline.nodes.len() >= MAX_NODES {
            return;
        }
        let node = self.outline.nodes.len() as u32;
        let own = match role.block {
            BlockKind::Root => Marks::NONE,
            // Ids of headings and sections are made of their titles.
            BlockKind::Heading => self.marks.of_tag(tag, false),
            _ => self.marks.of_tag(tag, tag.key != SECTION),
        };
        self.outline.nodes.push(OutlineNode {
            parent: self.open.last().map_or(0, |parent| parent.node),
            start: position,
            end: u32::MAX,
            kind: role.block,
            marks: combine(role.marks, own),
        });
        self.open.push(OpenElement { key: tag.key, kind: role.block, node });
    }

    /// Handles an end tag; ignores it if no such element is open.
    pub(super) fn end(&mut self, key: NameKey, position: u32) {
        if let Some(depth) = self.open.iter().rposition(|open| open.key == key) {
            self.close_to(depth, position);
        }
    }

    pub(super) fn finish(mut self, position: u32) -> Outline {
        self.close_to(0, position);
        self.outline.nodes[0].end = position;
        self.outline
    }

    /// Closes the elements that a start tag ends without an end tag: a paragraph by any block, an item by an item, a cell by
    /// a cell.
    fn close_implied(&mut self, kind: BlockKind, position: u32) {
        let Some(top) = self.open.last() else { return };
        let ends = match top.kind {
            BlockKind::Paragraph => top.key == PARAGRAPH,
            BlockKind::Item => kind == BlockKind::Item,
            _ => false,
        };
        if ends {
            self.close_to(self.open.len() - 1, position);
        }
    }

    fn close_to(&mut self, depth: usize, position: u32) {
        for open in self.open.drain(depth..) {
            self.outline.nodes[open.node as usize].end = position;
        }
    }
}

/// Combines the marks of an element's name with those of its attributes. Classes of `main` and `article` often name what is in
/// it, or the topic of the article.
fn combine(element: Marks, attributes: Marks) -> Marks {
    const IN_ARTICLE: Marks = Marks::BOILERPLATE
        .without(Marks::COMMENTS)
        .without(Marks::RELATED)
        .without(Marks::ASIDE)
        .without(Marks::HIDDEN)
        .without(Marks::CAPTION);
    let attributes = if element.intersects(Marks::MAIN) {
        attributes.without(Marks::BOILERPLATE)
    } else if element.intersects(Marks::ARTICLE) {
        attributes.without(IN_ARTICLE)
    } else {
        attributes
    };
    element.union(attributes)
}

const SECTION: NameKey = NameKey::new("section");
const PARAGRAPH: NameKey = NameKey::new("p");
