//! Result of parsing one response body, for all kinds of content.
//!
//! A [`Document`] stores its strings in two buffers, and links are spans of these buffers. A page with a thousand links
//! therefore needs no thousand allocations, and a `Document` can be reused for the next page.

use model::{CanonicalUrl, UrlError, UrlRules};

use crate::charset::CharsetSource;
use crate::content_kind::ContentKind;
use crate::outline::Outline;
use crate::query_charset::escape_query;
use crate::robots_directives::RobotsDirectives;

/// Parsed content of one response body.
#[derive(Debug, Default, Clone)]
pub struct Document {
    /// Kind of the body.
    pub kind: ContentKind,
    /// Charset of the body in lower case; empty if it was not parsed as text.
    pub charset: String,
    /// Source of the charset.
    pub charset_source: Option<CharsetSource>,
    /// Title with collapsed white space; empty if there is none.
    pub title: String,
    /// Description from the meta elements.
    pub description: String,
    /// Visible text: one line per block, white space collapsed, `pre` unchanged.
    pub text: String,
    /// Language that the page declares, as written.
    pub language_declared: String,
    /// Robots directives of the page.
    pub robots_directives: RobotsDirectives,
    /// Publication time that the page states, in Unix seconds.
    pub published: Option<i64>,
    /// Modification time that the page states, in Unix seconds.
    pub modified: Option<i64>,
    /// Simplified HTML, if the options request it.
    pub simplified_html: String,
    /// Whether a limit was reached, so that content is missing.
    pub truncated: bool,
    pub(crate) headings: Vec<HeadingRecord>,
    pub(crate) links: Vec<LinkRecord>,
    pub(crate) outline: Outline,
    /// Dates of the entries of a feed in Unix seconds, parallel to its links.
    pub entry_dates: Vec<Option<i64>>,
    pub(crate) strings: String,
    pub(crate) base: Option<Span>,
    pub(crate) canonical: Option<Span>,
}

/// A link of a page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link<'d> {
    /// The attribute as written, with decoded character references and without surrounding white space.
    pub href: &'d str,
    /// Element of the link.
    pub kind: LinkKind,
    /// The `rel` attribute as written; empty if there is none.
    pub rel: &'d str,
    /// Anchor text: the text of the link, or the `alt` of the image in it.
    pub anchor: &'d str,
    /// Elements around the link.
    pub context: Context,
    /// Position in the page's text: 0 at the start, 1 at the end.
    pub position: f32,
}

/// Element that a link comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// `<a href>`
    A,
    /// `<area href>` of an image map.
    Area,
    /// `<frame src>`
    Frame,
    /// `<iframe src>`
    Iframe,
    /// `<link href>` with any other relation.
    Link,
    /// `<link rel=canonical>`
    Canonical,
    /// `<link rel=alternate>`
    Alternate,
    /// `<link rel=stylesheet>`
    Stylesheet,
    /// `<option value>` with a URL: menus of old sites.
    Option,
    /// `<form action>` with method GET.
    Form,
    /// `<meta http-equiv=refresh>`
    Refresh,
    /// `<img src>`, `<input type=image src>`
    Img,
    /// A candidate of `srcset`.
    Srcset,
    /// `<video>`, `<audio>`, `<source>`, `<track>`: `src` and `poster`.
    Media,
    /// `<embed src>`, `<object data>`
    Embed,
    /// `<script src>`
    Script,
    /// A URL in plain text.
    Text,
    /// An entry of a feed or a sitemap.
    Feed,
    /// The `Location` of a redirect response.
    Redirect,
}

impl LinkKind {
    /// Name in tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            LinkKind::A => "a",
            LinkKind::Area => "area",
            LinkKind::Frame => "frame",
            LinkKind::Iframe => "iframe",
            LinkKind::Link => "link",
            LinkKind::Canonical => "canonical",
            LinkKind::Alternate => "alternate",
            LinkKind::Stylesheet => "stylesheet",
            LinkKind::Option => "option",
            LinkKind::Form => "form",
            LinkKind::Refresh => "refresh",
            LinkKind::Img => "img",
            LinkKind::Srcset => "srcset",
            LinkKind::Media => "media",
            LinkKind::Embed => "embed",
            LinkKind::Script => "script",
            LinkKind::Text => "text",
            LinkKind::Feed => "feed",
            LinkKind::Redirect => "redirect",
        }
    }

    /// Code in link logs: the index in this list. New kinds are appended.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Returns the kind of a code in a link log.
    pub fn from_code(code: u8) -> std::option::Option<LinkKind> {
        use LinkKind::*;
        const ALL: [LinkKind; 19] = [
            A, Area, Frame, Iframe, Link, Canonical, Alternate, Stylesheet, Option, Form, Refresh, Img,
            Srcset, Media, Embed, Script, Text, Feed, Redirect,
        ];
        ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// Reports whether the link leads to a page, not to an embedded resource (an image, a script).
    pub fn leads_to_page(self) -> bool {
        use LinkKind::{Embed, Img, Media, Script, Srcset, Stylesheet};
        !matches!(self, Stylesheet | Img | Srcset | Media | Embed | Script)
    }
}

/// Set of the elements around a link; an input of the weighted link rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Context(u16);

impl Context {
    /// The empty set.
    pub const NONE: Context = Context(0);
    /// `h1` to `h6`
    pub const HEADING: Context = Context(1);
    /// `b`, `strong`, `big`
    pub const STRONG: Context = Context(1 << 1);
    /// `em`, `i`
    pub const EMPHASIS: Context = Context(1 << 2);
    /// `ul`, `ol`, `dl`, `dir`
    pub const LIST: Context = Context(1 << 3);
    /// `table`
    pub const TABLE: Context = Context(1 << 4);
    /// `nav`, `menu`
    pub const NAVIGATION: Context = Context(1 << 5);
    /// `header`
    pub const HEADER: Context = Context(1 << 6);
    /// `footer`
    pub const FOOTER: Context = Context(1 << 7);
    /// `aside`
    pub const ASIDE: Context = Context(1 << 8);
    /// `main`, `article`
    pub const MAIN: Context = Context(1 << 9);
    /// `pre`
    pub const PREFORMATTED: Context = Context(1 << 10);
    /// Number of elements.
    pub(crate) const COUNT: usize = 11;

    /// Reports whether all elements of `other` are in the set.
    pub fn contains(self, other: Context) -> bool {
        self.0 & other.0 == other.0
    }

    /// The set as bits, in the order of the constants.
    pub fn bits(self) -> u16 {
        self.0
    }

    pub(crate) fn insert(&mut self, other: Context) {
        self.0 |= other.0;
    }

    pub(crate) fn remove(&mut self, other: Context) {
        self.0 &= !other.0;
    }
}

/// A heading of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heading<'d> {
    /// 1 for `h1`, 6 for `h6`.
    pub level: u8,
    /// Text of the heading.
    pub text: &'d str,
}

/// A link with its canonical target.
#[derive(Debug, Clone, Copy)]
pub struct ResolvedLink<'d, 'u> {
    /// The link.
    pub link: Link<'d>,
    /// Canonical URL of the target, or the reason why it has none.
    pub target: Result<&'u CanonicalUrl, &'u UrlError>,
    /// Whether the target is on the same host.
    pub is_internal: bool,
}

/// Byte range in one of the document's buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    pub(crate) fn is_empty(self) -> bool {
        self.start == self.end
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct HeadingRecord {
    pub(crate) level: u8,
    pub(crate) text: Span,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct LinkRecord {
    pub(crate) href: Span,
    pub(crate) rel: Span,
    /// Range in the text of the page.
    pub(crate) anchor: Span,
    /// Range in the strings; used if the anchor text is empty.
    pub(crate) alt: Span,
    pub(crate) kind: LinkKind,
    pub(crate) context: Context,
}

impl Document {
    /// Returns the links in source order.
    pub fn links(&self) -> impl ExactSizeIterator<Item = Link<'_>> {
        self.links.iter().map(|record| self.link(record))
    }

    /// Returns the headings in source order.
    pub fn headings(&self) -> impl ExactSizeIterator<Item = Heading<'_>> {
        self.headings
            .iter()
            .map(|record| Heading { level: record.level, text: span(&self.text, record.text).trim() })
    }

    /// Returns the canonical URL that the page declares, as written.
    pub fn canonical_url(&self) -> Option<&str> {
        self.canonical.map(|canonical| span(&self.strings, canonical))
    }

    /// Returns the base URL of links: the URL of the page, or that of its `base` element.
    pub fn base(&self, page: &CanonicalUrl, rules: &UrlRules) -> CanonicalUrl {
        self.base
            .and_then(|base| rules.join(page, span(&self.strings, base)).ok())
            .unwrap_or_else(|| page.clone())
    }

    /// Resolves the links in source order and calls `on_link` for each; the buffer of the URL is reused.
    pub fn resolve<'d>(
        &'d self,
        page: &CanonicalUrl,
        rules: &UrlRules,
        mut on_link: impl FnMut(ResolvedLink<'d, '_>),
    ) {
        let base = self.base(page, rules);
        let mut url = page.clone();
        for link in self.links() {
            let outcome = rules.join_into(&base, &escape_query(link.href, &self.charset), &mut url);
            let target = outcome.as_ref().map(|()| &url);
            let internal = target.is_ok_and(|url| url.host() == page.host());
            on_link(ResolvedLink { link, target, is_internal: internal });
        }
    }

    /// Stores the first declared language that is a valid tag.
    pub(crate) fn declare_language(&mut self, language: &str) {
        // Some pages list several languages; the first one is the main language.
        let language = language.split(',').next().unwrap_or_default().trim();
        let is_tag =
            language.len() <= 35 && language.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
        if self.language_declared.is_empty() && is_tag {
            self.language_declared.push_str(language);
        }
    }

    /// Clears the document and keeps the allocated buffers.
    pub(crate) fn clear(&mut self) {
        fn cleared(buffer: &mut String) -> String {
            buffer.clear();
            std::mem::take(buffer)
        }
        self.headings.clear();
        self.links.clear();
        self.outline.nodes.clear();
        self.entry_dates.clear();
        *self = Document {
            text: cleared(&mut self.text),
            simplified_html: cleared(&mut self.simplified_html),
            strings: cleared(&mut self.strings),
            headings: std::mem::take(&mut self.headings),
            links: std::mem::take(&mut self.links),
            outline: std::mem::take(&mut self.outline),
            entry_dates: std::mem::take(&mut self.entry_dates),
            ..Document::default()
        };
    }

    fn link(&self, record: &LinkRecord) -> Link<'_> {
        let words = span(&self.text, record.anchor).trim();
        Link {
            href: span(&self.strings, record.href),
            kind: record.kind,
            rel: span(&self.strings, record.rel),
            anchor: if words.is_empty() { span(&self.strings, record.alt) } else { words },
            context: record.context,
            position: record.anchor.start as f32 / self.text.len().max(1) as f32,
        }
    }
}

fn span(buffer: &str, span: Span) -> &str {
    &buffer[span.start as usize..span.end as usize]
}
