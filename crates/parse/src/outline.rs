//! Outline of a page: its block elements as ranges of the text, with what their names and attributes say about their content.
//!
//! It replaces an element tree where only the structure of the text matters (see `main_text`). A node is 16 bytes, and inline
//! elements have none.

/// Block elements of a page in source order; a parent precedes its children. The first node is the page itself; a document
/// that is not HTML has no nodes.
#[derive(Debug, Default, Clone)]
pub(crate) struct Outline {
    pub(crate) nodes: Vec<OutlineNode>,
}

impl Outline {
    pub(crate) fn cursor(&self) -> OutlineCursor<'_> {
        OutlineCursor { nodes: &self.nodes, next: 0, current: 0 }
    }
}

/// A block element.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutlineNode {
    /// Index of the parent; the page is its own.
    pub(crate) parent: u32,
    /// Position in the text at which the element starts.
    pub(crate) start: u32,
    /// Position in the text at which the element ends.
    pub(crate) end: u32,
    pub(crate) kind: BlockKind,
    pub(crate) marks: Marks,
}

/// Kinds of block elements that main text distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// Elements that are not in the outline: inline and void elements.
    None,
    /// The page, `html`, `body`: their attributes describe the site, not the text.
    Root,
    /// `div`, `section` and all other blocks.
    Container,
    /// `p`, `blockquote`, `dd`, `figure` and `details`
    Paragraph,
    /// `li`, `dt`
    Item,
    /// `tr`, `td`, `th`, `caption`
    Cell,
    /// `h1` to `h6`
    Heading,
    /// `pre`
    Preformatted,
    /// `select`, `option`, `button`, `label`, `legend`, `textarea`: parts of a form.
    Control,
}

/// Set of what the name and the attributes of an element say about its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Marks(u16);

impl Marks {
    pub(crate) const NONE: Marks = Marks(0);
    /// Menus, breadcrumbs, lists of pages.
    pub(crate) const NAVIGATION: Marks = Marks(1);
    /// Head of a page or a section, with titles and menus.
    pub(crate) const HEADER: Marks = Marks(1 << 1);
    /// Foot of a page or a section.
    pub(crate) const FOOTER: Marks = Marks(1 << 2);
    /// Sidebars and widgets.
    pub(crate) const ASIDE: Marks = Marks(1 << 3);
    /// Comments of readers and their form.
    pub(crate) const COMMENTS: Marks = Marks(1 << 4);
    /// Teasers of other pages.
    pub(crate) const RELATED: Marks = Marks(1 << 5);
    /// Buttons of social networks, printing and mail.
    pub(crate) const SHARING: Marks = Marks(1 << 6);
    /// Cookie banners, newsletters, advertisements, dialogs.
    pub(crate) const NOTICE: Marks = Marks(1 << 7);
    /// Author, date, tags.
    pub(crate) const METADATA: Marks = Marks(1 << 8);
    /// Content that a browser does not show.
    pub(crate) const HIDDEN: Marks = Marks(1 << 9);
    /// Captions and credits of images.
    pub(crate) const CAPTION: Marks = Marks(1 << 10);
    /// The body of an article.
    pub(crate) const BODY: Marks = Marks(1 << 11);
    /// An article with its head and foot.
    pub(crate) const ARTICLE: Marks = Marks(1 << 12);
    /// The content of a page, as opposed to its menus.
    pub(crate) const MAIN: Marks = Marks(1 << 13);
    /// Some mark comes from the name of the element, not from a class.
    pub(crate) const BY_ELEMENT: Marks = Marks(1 << 14);
    /// All marks of boilerplate.
    pub(crate) const BOILERPLATE: Marks = Marks((1 << 11) - 1);

    /// Reports whether a mark of `other` is in the set.
    pub(crate) fn intersects(self, other: Marks) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the marks of both sets.
    pub(crate) const fn union(self, other: Marks) -> Marks {
        Marks(self.0 | other.0)
    }

    /// Returns the marks that are not in `other`.
    pub(crate) const fn without(self, other: Marks) -> Marks {
        Marks(self.0 & !other.0)
    }
}

/// Search for the innermost node at increasing positions.
pub(crate) struct OutlineCursor<'d> {
    nodes: &'d [OutlineNode],
    next: usize,
    current: usize,
}

impl OutlineCursor<'_> {
    /// Returns the index of the innermost element at a position; 0 if there is none.
    pub(crate) fn node_at(&mut self, position: u32) -> u32 {
        while let Some(node) = self.nodes.get(self.next).filter(|node| node.start <= position) {
            if node.end > position {
                self.current = self.next;
            }
            self.next += 1;
        }
        while let Some(node) = self.nodes.get(self.current).filter(|node| node.end <= position) {
            if node.parent as usize == self.current {
                break;
            }
            self.current = node.parent as usize;
        }
        self.current as u32
    }
}
