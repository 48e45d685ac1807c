//! Extractor: one pass over the tokens of a page that fills a [`Document`].
//!
//! It builds no tree: counters represent the open elements that matter. It resolves no URLs, because a `base` element may
//! follow and the rules belong to the caller. Invalid markup costs precision, never the page.

use std::borrow::Cow;

use super::Options;
use super::characters::Characters;
use super::element::{Element, Gap, Role};
use super::meta;
use super::outline_builder::OutlineBuilder;
use super::simplified::SimplifiedHtmlWriter;
use super::tag::Tag;
use super::text_flow::TextFlow;
use super::tokenizer::{Content, TokenSink};
use crate::document::{Context, Document, HeadingRecord, LinkKind, LinkRecord, Span};
use crate::outline::BlockKind;

/// Maximum length of an anchor text, for anchors that are never closed.
const MAX_ANCHOR_BYTES: u32 = 1_024;

/// State of the pass over one page.
pub(super) struct Extractor<'o, 'd> {
    document: &'d mut Document,
    options: &'o Options,
    flow: TextFlow,
    outline: OutlineBuilder,
    simplified: Option<SimplifiedHtmlWriter<'o>>,
    /// Target of the next text.
    text_target: TextTarget,
    /// Index of the link whose text is being read.
    open_anchor: Option<usize>,
    open_heading: Option<HeadingRecord>,
    context: Context,
    /// Number of open elements of each context.
    open_contexts: [u16; Context::COUNT],
    open_foreign: u32,
    open_templates: u32,
    has_title: bool,
}

/// Target of text in the current element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextTarget {
    Page,
    Title,
    Discard,
}

impl<'o, 'd> Extractor<'o, 'd> {
    pub(super) fn new(document: &'d mut Document, options: &'o Options) -> Extractor<'o, 'd> {
        let flow = TextFlow::new(std::mem::take(&mut document.text), options.limits.text_bytes);
        let outline = OutlineBuilder::new(std::mem::take(&mut document.outline));
        let writer = options.simplify.as_ref().map(|tags| {
            SimplifiedHtmlWriter::new(
                std::mem::take(&mut document.simplified_html),
                tags,
                options.limits.input_bytes,
            )
        });
        Extractor {
            document,
            options,
            flow,
            outline,
            simplified: writer,
            text_target: TextTarget::Page,
            open_anchor: None,
            open_heading: None,
            context: Context::NONE,
            open_contexts: [0; Context::COUNT],
            open_foreign: 0,
            open_templates: 0,
            has_title: false,
        }
    }

    /// Closes open elements and moves the buffers into the document.
    pub(super) fn finish(mut self) {
        self.close_anchor();
        self.close_heading();
        self.document.truncated |= self.flow.truncated;
        self.document.outline = self.outline.finish(self.flow.position());
        self.document.text = self.flow.text;
        if let Some(writer) = self.simplified {
            self.document.truncated |= writer.is_full();
            self.document.simplified_html = writer.finish();
        }
    }

    fn start_element(&mut self, role: Role, tag: &Tag<'_, '_>) {
        self.flow.gap(role.gap);
        if role.block != BlockKind::None {
            self.outline.start(role, tag, self.flow.position());
        }
        self.open_context(role.context);
        // HTML block elements end an unclosed SVG element.
        if role.gap == Gap::Line {
            self.open_foreign = 0;
        }
        if role.element != Element::Plain {
            self.open(role.element, tag);
        }
        if let Some(writer) = &mut self.simplified {
            writer.start_tag(tag);
        }
    }

    fn end_element(&mut self, role: Role, tag: &Tag<'_, '_>) {
        match role.element {
            Element::A => self.close_anchor(),
            Element::Heading(_) => self.close_heading(),
            Element::Foreign => self.open_foreign = self.open_foreign.saturating_sub(1),
            Element::Pre => self.flow.close_preformatted(),
            _ => {}
        }
        self.flow.gap(role.gap);
        if role.block != BlockKind::None {
            self.outline.end(tag.key, self.flow.position());
        }
        self.close_context(role.context);
        if let Some(writer) = &mut self.simplified {
            writer.end_tag(tag);
        }
    }

    /// Handles the start tag of an element with a meaning beyond its text.
    fn open(&mut self, element: Element, tag: &Tag<'_, '_>) {
        match element {
            Element::A => self.open_a(tag),
            Element::Area => self.link_with_alt(tag, "href", LinkKind::Area),
            Element::Base => self.base(tag),
            Element::Embed => self.link(tag, "src", LinkKind::Embed),
            Element::Form => self.form(tag),
            Element::Foreign if !tag.self_closing => self.open_foreign += 1,
            Element::Frame => self.link(tag, "src", LinkKind::Frame),
            Element::Iframe => self.link(tag, "src", LinkKind::Iframe),
            Element::Heading(level) => self.open_heading(level),
            Element::Html => self.declare_language(tag),
            Element::Image => self.image(tag),
            Element::Input if attribute_is(tag, "type", "image") => self.link(tag, "src", LinkKind::Img),
            Element::Link => self.link_element(tag),
            Element::Media => self.media(tag),
            Element::Meta => {
                if let Some(target) = meta::read(tag, self.options, self.document) {
                    self.add_link(&target, "", LinkKind::Refresh);
                }
            }
            Element::Object => self.link(tag, "data", LinkKind::Embed),
            Element::Option => self.option(tag),
            Element::Pre => self.flow.open_preformatted(),
            Element::Script => self.link(tag, "src", LinkKind::Script),
            Element::Time => self.time(tag),
            _ => {}
        }
    }

    /// Returns how the content of an element is tokenized, and the target of its text.
    fn content(&mut self, element: Element) -> (Content, TextTarget) {
        if self.open_foreign > 0 {
            // In SVG and MathML these elements contain markup; their text is still not visible.
            let is_hidden = matches!(element, Element::Title | Element::Opaque | Element::Script);
            return (Content::Markup, if is_hidden { TextTarget::Discard } else { TextTarget::Page });
        }
        match element {
            Element::Title if self.has_title || self.open_templates > 0 => {
                (Content::Rcdata, TextTarget::Discard)
            }
            Element::Title => {
                self.has_title = true;
                (Content::Rcdata, TextTarget::Title)
            }
            Element::Textarea => (Content::Rcdata, TextTarget::Discard),
            Element::Opaque | Element::Iframe => (Content::Rawtext, TextTarget::Discard),
            Element::Script => (Content::Script, TextTarget::Discard),
            Element::Plaintext => (Content::Plaintext, TextTarget::Page),
            _ => (Content::Markup, TextTarget::Page),
        }
    }

    fn open_a(&mut self, tag: &Tag<'_, '_>) {
        self.close_anchor();
        let before = self.document.links.len();
        self.link(tag, "href", LinkKind::A);
        if self.document.links.len() > before {
            self.open_anchor = Some(before);
        }
    }

    fn close_anchor(&mut self) {
        let Some(anchor) = self.open_anchor.take() else { return };
        let words = &mut self.document.links[anchor].anchor;
        let mut end = self.flow.position().min(words.start + MAX_ANCHOR_BYTES);
        while !self.flow.text.is_char_boundary(end as usize) {
            end -= 1;
        }
        words.end = end;
    }

    fn open_heading(&mut self, level: u8) {
        self.close_heading();
        let start = self.flow.position();
        self.open_heading = Some(HeadingRecord { level, text: Span { start, end: start } });
    }

    fn close_heading(&mut self) {
        let Some(mut heading) = self.open_heading.take() else { return };
        if self.document.headings.len() >= self.options.limits.links {
            self.document.truncated = true;
            return;
        }
        heading.text.end = self.flow.position();
        self.document.headings.push(heading);
    }

    fn base(&mut self, tag: &Tag<'_, '_>) {
        if self.document.base.is_none()
            && let Some(href) = tag.attribute("href")
        {
            self.document.base = Some(self.store(trim_url(&href)));
        }
    }

    /// Reads a `<time>` element that is marked as the publication date; other times do not describe the page.
    fn time(&mut self, tag: &Tag<'_, '_>) {
        let own = tag.attribute("pubdate").is_some() || attribute_is(tag, "itemprop", "datePublished");
        if own && self.document.published.is_none() {
            let date = tag.attribute("datetime");
            self.document.published = date.and_then(|date| crate::date::parse_date(&date));
        }
    }

    fn declare_language(&mut self, tag: &Tag<'_, '_>) {
        if let Some(language) = tag.attribute("lang").or_else(|| tag.attribute("xml:lang")) {
            self.document.declare_language(&language);
        }
    }

    fn form(&mut self, tag: &Tag<'_, '_>) {
        let posts = tag.attribute("method").is_some_and(|method| !method.trim().eq_ignore_ascii_case("get"));
        if !posts {
            self.link(tag, "action", LinkKind::Form);
        }
    }

    fn image(&mut self, tag: &Tag<'_, '_>) {
        let alt = tag.attribute("alt");
        if let (Some(anchor), Some(alt)) = (self.open_anchor, &alt)
            && self.document.links[anchor].alt.is_empty()
        {
            self.document.links[anchor].alt = self.store_collapsed(alt);
        }
        self.link_with_alt(tag, "src", LinkKind::Img);
        self.srcset(tag);
    }

    fn media(&mut self, tag: &Tag<'_, '_>) {
        self.link(tag, "src", LinkKind::Media);
        self.link(tag, "poster", LinkKind::Img);
        self.srcset(tag);
    }

    /// Adds the candidates of `srcset`: URLs with a descriptor, separated by commas. A URL may contain commas, but not end in
    /// one.
    fn srcset(&mut self, tag: &Tag<'_, '_>) {
        let Some(set) = tag.attribute("srcset") else { return };
        let mut rest: &str = &set;
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
            if rest.is_empty() {
                return;
            }
            let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
            let (candidate, after) = rest.split_at(end);
            let url = candidate.trim_end_matches(',');
            self.add_link(url, "", LinkKind::Srcset);
            let descriptor =
                if url.len() < candidate.len() { 0 } else { after.find(',').unwrap_or(after.len()) };
            rest = &after[descriptor..];
        }
    }

    /// Adds a `<link>`, whose kind depends on its relation.
    fn link_element(&mut self, tag: &Tag<'_, '_>) {
        let (Some(href), Some(rel)) = (tag.attribute("href"), tag.attribute("rel")) else { return };
        let has = |name: &str| rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case(name));
        let kind = if has("canonical") {
            LinkKind::Canonical
        } else if has("stylesheet") {
            LinkKind::Stylesheet
        } else if has("alternate") {
            LinkKind::Alternate
        } else if rel.to_ascii_lowercase().contains("icon") {
            LinkKind::Img
        } else {
            LinkKind::Link
        };
        self.add_link(&href, &rel, kind);
        if kind == LinkKind::Canonical && self.document.canonical.is_none() {
            self.document.canonical = self.document.links.last().map(|link| link.href);
        }
    }

    /// Adds an `<option>` whose value resembles a URL; most values are numbers and names.
    fn option(&mut self, tag: &Tag<'_, '_>) {
        let Some(value) = tag.attribute("value") else { return };
        let url = trim_url(&value);
        let starts = ["http://", "https://", "/", "./", "../"].iter().any(|start| url.starts_with(start));
        let ends = [".html", ".htm", ".php"].iter().any(|end| url.ends_with(end));
        if (starts || ends) && url.len() > 1 && !url.contains(char::is_whitespace) {
            self.add_link(url, "", LinkKind::Option);
        }
    }

    fn link(&mut self, tag: &Tag<'_, '_>, attribute: &str, kind: LinkKind) {
        if let Some(url) = tag.attribute(attribute) {
            let rel = tag.attribute("rel").unwrap_or(Cow::Borrowed(""));
            self.add_link(&url, &rel, kind);
        }
    }

    fn link_with_alt(&mut self, tag: &Tag<'_, '_>, attribute: &str, kind: LinkKind) {
        let before = self.document.links.len();
        self.link(tag, attribute, kind);
        if self.document.links.len() > before
            && let Some(alt) = tag.attribute("alt")
        {
            self.document.links[before].alt = self.store_collapsed(&alt);
        }
    }

    fn add_link(&mut self, url: &str, rel: &str, kind: LinkKind) {
        if self.document.links.len() >= self.options.limits.links {
            self.document.truncated = true;
            return;
        }
        let start = self.flow.position();
        let record = LinkRecord {
            href: self.store(trim_url(url)),
            rel: self.store(rel.trim()),
            anchor: Span { start, end: start },
            alt: Span::default(),
            kind,
            context: self.context,
        };
        self.document.links.push(record);
    }

    fn store(&mut self, text: &str) -> Span {
        let start = self.document.strings.len() as u32;
        self.document.strings.push_str(text);
        Span { start, end: self.document.strings.len() as u32 }
    }

    fn store_collapsed(&mut self, text: &str) -> Span {
        let start = self.document.strings.len() as u32;
        // As for unclosed anchors, a truncated anchor text does not mark the document as truncated.
        let _ = super::push_collapsed(&mut self.document.strings, text, MAX_ANCHOR_BYTES as usize);
        Span { start, end: self.document.strings.len() as u32 }
    }

    fn open_context(&mut self, context: Context) {
        if context != Context::NONE {
            let open = &mut self.open_contexts[context.bits().trailing_zeros() as usize];
            *open = open.saturating_add(1);
            self.context.insert(context);
        }
    }

    fn close_context(&mut self, context: Context) {
        if context != Context::NONE {
            let open = &mut self.open_contexts[context.bits().trailing_zeros() as usize];
            *open = open.saturating_sub(1);
            if *open == 0 {
                self.context.remove(context);
            }
        }
    }
}

impl TokenSink for Extractor<'_, '_> {
    fn text(&mut self, text: Characters<'_>) {
        match self.text_target {
            TextTarget::Page if self.open_templates == 0 => {
                self.flow.push(text);
                if let Some(writer) = &mut self.simplified {
                    writer.text(text);
                }
            }
            TextTarget::Title => {
                let title = text.decoded();
                let max_bytes = self.options.limits.title_bytes;
                self.document.truncated |= super::push_collapsed(&mut self.document.title, &title, max_bytes);
                if let Some(writer) = &mut self.simplified {
                    writer.text(text);
                }
            }
            TextTarget::Page | TextTarget::Discard => {}
        }
    }

    fn start_tag(&mut self, tag: &Tag<'_, '_>) -> Content {
        let role = Role::from_key(tag.key);
        self.document.truncated |= tag.attributes_truncated;
        // The content of a template is not part of the page until a script inserts it.
        if role.element == Element::Template {
            self.open_templates += 1;
        } else if self.open_templates == 0 {
            self.start_element(role, tag);
        }
        let (content, reading) = self.content(role.element);
        self.text_target = reading;
        content
    }

    fn end_tag(&mut self, tag: &Tag<'_, '_>) {
        let role = Role::from_key(tag.key);
        self.text_target = TextTarget::Page;
        if role.element == Element::Template {
            self.open_templates = self.open_templates.saturating_sub(1);
        } else if self.open_templates == 0 {
            self.end_element(role, tag);
        }
    }

    fn in_foreign_content(&self) -> bool {
        self.open_foreign > 0
    }
}

/// Removes white space and control characters around a URL.
fn trim_url(url: &str) -> &str {
    url.trim_matches(|c: char| c <= ' ')
}

fn attribute_is(tag: &Tag<'_, '_>, attribute: &str, word: &str) -> bool {
    tag.attribute(attribute).is_some_and(|value| value.trim().eq_ignore_ascii_case(word))
}
