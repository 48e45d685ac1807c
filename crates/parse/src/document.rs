//! What did a page say? The answer of every parser here, whatever the page was written in.
//!
//! One `Document` holds one fetch. It keeps its strings together in two buffers, and links are spans of these, so that
//! a page of a thousand links costs no thousand allocations and a `Document` can be used again for the next page.

use model::{CanonicalUrl, Rejected, UrlRules};

use crate::charset::CharsetSource;
use crate::directives::RobotsDirectives;
use crate::legacy_query::escape_query;
use crate::page::PageKind;

/// What was parsed from one fetch.
#[derive(Debug, Default, Clone)]
pub struct Document {
    /// What the body was.
    pub kind: PageKind,
    /// The encoding of the body, in lower case; empty when it was not read as text.
    pub charset: String,
    /// What the choice of that encoding rests on.
    pub charset_source: Option<CharsetSource>,
    /// The title, white space collapsed; empty when there is none.
    pub title: String,
    /// The description that the page gives of itself.
    pub description: String,
    /// What a reader sees: a line per block, white space collapsed, `pre` as it stands.
    pub text: String,
    /// The language that the page declares for itself, as written.
    pub declared_language: String,
    /// What the page wants robots to do.
    pub robots: RobotsDirectives,
    /// When the page says it was published, in Unix seconds.
    pub published: Option<i64>,
    /// When the page says it was last modified, in Unix seconds.
    pub modified: Option<i64>,
    /// Structure and logical markup only, when that was asked for.
    pub kept: String,
    /// Whether a limit was met: there was more than is here.
    pub truncated: bool,
    pub(crate) headings: Vec<HeadingRecord>,
    pub(crate) links: Vec<LinkRecord>,
    /// From which position of the text on which context holds, in order.
    pub(crate) regions: Vec<(u32, Context)>,
    pub(crate) strings: String,
    pub(crate) base: Option<Span>,
    pub(crate) canonical: Option<Span>,
}

/// A link as the page has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link<'d> {
    /// The attribute as written, references decoded, surrounding white space removed.
    pub raw: &'d str,
    /// Which element it came from.
    pub kind: LinkKind,
    /// The `rel` attribute as written; empty when there is none.
    pub rel: &'d str,
    /// The words of the link: its text, or the `alt` of the image in it.
    pub text: &'d str,
    /// In which elements it stands.
    pub context: Context,
    /// Where in the page's text it stands: 0 at the start, 1 at the end.
    pub position: f32,
}

/// Which element a link came from, and so what it is for.
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
    /// `<link href>` of any relation without a kind of its own.
    Link,
    /// `<link rel=canonical>`
    Canonical,
    /// `<link rel=alternate>`
    Alternate,
    /// `<link rel=stylesheet>`
    Stylesheet,
    /// `<option value>` that holds a URL: menus of old sites.
    Option,
    /// `<form action>` with the method GET.
    Form,
    /// `<meta http-equiv=refresh>`
    Refresh,
    /// `<img src>`, `<input type=image src>`
    Img,
    /// One of the candidates of `srcset`.
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
    /// The `Location` of a redirect, which is the whole answer.
    Redirect,
}

impl LinkKind {
    /// Its name in tables and JSON.
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

    /// Its number in logs of links, the place in this list: new kinds come last.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// What a number in a log stands for.
    pub fn from_code(code: u8) -> std::option::Option<LinkKind> {
        use LinkKind::*;
        const ALL: [LinkKind; 19] = [
            A, Area, Frame, Iframe, Link, Canonical, Alternate, Stylesheet, Option, Form, Refresh, Img,
            Srcset, Media, Embed, Script, Text, Feed, Redirect,
        ];
        ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// Whether it leads to a page, rather than to a part of this one (an image, a script).
    pub fn leads_to_page(self) -> bool {
        use LinkKind::{Embed, Img, Media, Script, Srcset, Stylesheet};
        !matches!(self, Stylesheet | Img | Srcset | Media | Embed | Script)
    }
}

/// The elements around a link, as a set: the weighted link rank asks for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Context(u16);

impl Context {
    /// No element of note.
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
    /// How many there are.
    pub(crate) const COUNT: usize = 11;
    /// Those that hold whole parts of a page.
    pub(crate) const SECTIONS: Context = Context(0b111_1110_0000);

    /// Whether all elements of `other` are in the set.
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

/// A heading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heading<'d> {
    /// 1 for `h1`, 6 for `h6`.
    pub level: u8,
    /// Its words.
    pub text: &'d str,
}

/// A link with the page that it leads to.
#[derive(Debug, Clone, Copy)]
pub struct Resolved<'d, 'u> {
    /// The link as the page has it.
    pub link: Link<'d>,
    /// Where it leads, or why nowhere.
    pub target: Result<&'u CanonicalUrl, &'u Rejected>,
    /// Whether it leads to a page of the same host.
    pub internal: bool,
}

/// A part of one of the document's buffers.
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
    pub(crate) raw: Span,
    pub(crate) rel: Span,
    /// In the text of the page.
    pub(crate) words: Span,
    /// In the strings; counts when there are no words.
    pub(crate) alternative: Span,
    pub(crate) kind: LinkKind,
    pub(crate) context: Context,
}

impl Document {
    /// The links in source order.
    pub fn links(&self) -> impl ExactSizeIterator<Item = Link<'_>> {
        self.links.iter().map(|record| self.link(record))
    }

    /// The headings in source order.
    pub fn headings(&self) -> impl ExactSizeIterator<Item = Heading<'_>> {
        self.headings
            .iter()
            .map(|record| Heading { level: record.level, text: span(&self.text, record.text).trim() })
    }

    /// The context that holds at a position of the text.
    pub(crate) fn context_at(&self, position: u32) -> Context {
        let after = self.regions.partition_point(|(start, _)| *start <= position);
        after.checked_sub(1).map_or(Context::NONE, |region| self.regions[region].1)
    }

    /// The URL that the page calls its own, as written.
    pub fn canonical(&self) -> Option<&str> {
        self.canonical.map(|canonical| span(&self.strings, canonical))
    }

    /// The URL that links are relative to: that of the page, unless it has a `base`.
    pub fn base(&self, page: &CanonicalUrl, rules: &UrlRules) -> CanonicalUrl {
        self.base
            .and_then(|base| rules.join(page, span(&self.strings, base)).ok())
            .unwrap_or_else(|| page.clone())
    }

    /// Resolves every link, in source order, and hands it to `each`; the URL lives in a buffer that is used again.
    pub fn resolve<'d>(
        &'d self,
        page: &CanonicalUrl,
        rules: &UrlRules,
        mut each: impl FnMut(Resolved<'d, '_>),
    ) {
        let base = self.base(page, rules);
        let mut url = page.clone();
        for link in self.links() {
            let outcome = rules.join_into(&base, &escape_query(link.raw, &self.charset), &mut url);
            let target = outcome.as_ref().map(|()| &url);
            let internal = target.is_ok_and(|url| url.host() == page.host());
            each(Resolved { link, target, internal });
        }
    }

    /// Takes the first language declared, if it looks like one.
    pub(crate) fn declare_language(&mut self, language: &str) {
        // Some list several; the first is the one meant.
        let language = language.split(',').next().unwrap_or_default().trim();
        let is_tag =
            language.len() <= 35 && language.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
        if self.declared_language.is_empty() && is_tag {
            self.declared_language.push_str(language);
        }
    }

    /// Empties it for the next page; the large buffers stay.
    pub(crate) fn clear(&mut self) {
        fn emptied(buffer: &mut String) -> String {
            buffer.clear();
            std::mem::take(buffer)
        }
        self.headings.clear();
        self.links.clear();
        self.regions.clear();
        *self = Document {
            text: emptied(&mut self.text),
            kept: emptied(&mut self.kept),
            strings: emptied(&mut self.strings),
            headings: std::mem::take(&mut self.headings),
            links: std::mem::take(&mut self.links),
            regions: std::mem::take(&mut self.regions),
            ..Document::default()
        };
    }

    fn link(&self, record: &LinkRecord) -> Link<'_> {
        let words = span(&self.text, record.words).trim();
        Link {
            raw: span(&self.strings, record.raw),
            kind: record.kind,
            rel: span(&self.strings, record.rel),
            text: if words.is_empty() { span(&self.strings, record.alternative) } else { words },
            context: record.context,
            position: record.words.start as f32 / self.text.len().max(1) as f32,
        }
    }
}

fn span(buffer: &str, span: Span) -> &str {
    &buffer[span.start as usize..span.end as usize]
}
