//! What does a page say and where does it lead? The one pass over a page's tokens that fills a [`Document`].
//!
//! It builds no tree: a handful of counters stand for the open elements that matter. It resolves no URL: a `base` may
//! still come, and whoever resolves has rules for it. Broken markup costs precision, never the page.

use std::borrow::Cow;

use super::Options;
use super::characters::Characters;
use super::element::{Element, Gap, Role};
use super::flow::Flow;
use super::kept::Kept;
use super::meta;
use super::tag::Tag;
use super::tokenizer::{Content, TokenSink};
use crate::document::{Context, Document, HeadingRecord, LinkKind, LinkRecord, Span};

/// An anchor that is never closed does not take the rest of the page for its text.
const MAX_LINK_TEXT_BYTES: u32 = 1_024;

/// The pass over one page.
pub(super) struct Extractor<'o, 'd> {
    document: &'d mut Document,
    options: &'o Options,
    flow: Flow,
    kept: Option<Kept<'o>>,
    /// What to do with the next piece of text.
    reading: Reading,
    /// Link whose text is being read.
    open_anchor: Option<usize>,
    open_heading: Option<HeadingRecord>,
    context: Context,
    /// How many elements of each context are open.
    open_contexts: [u16; Context::COUNT],
    open_foreign: u32,
    open_templates: u32,
    has_title: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    Flow,
    Title,
    Nothing,
}

impl<'o, 'd> Extractor<'o, 'd> {
    pub(super) fn new(document: &'d mut Document, options: &'o Options) -> Extractor<'o, 'd> {
        let flow = Flow::new(std::mem::take(&mut document.text), options.limits.text_bytes);
        let kept = options
            .keep
            .as_ref()
            .map(|tags| Kept::new(std::mem::take(&mut document.kept), tags, options.limits.input_bytes));
        Extractor {
            document,
            options,
            flow,
            kept,
            reading: Reading::Flow,
            open_anchor: None,
            open_heading: None,
            context: Context::NONE,
            open_contexts: [0; Context::COUNT],
            open_foreign: 0,
            open_templates: 0,
            has_title: false,
        }
    }

    /// Closes what the page left open.
    pub(super) fn finish(mut self) {
        self.close_anchor();
        self.close_heading();
        self.document.truncated |= self.flow.truncated;
        self.document.text = self.flow.text;
        if let Some(kept) = self.kept {
            self.document.truncated |= kept.is_full();
            self.document.kept = kept.finish();
        }
    }

    fn start_element(&mut self, role: Role, tag: &Tag<'_, '_>) {
        self.flow.gap(role.gap);
        self.open_context(role.context);
        // Block elements of HTML end a piece of SVG that was left open.
        if role.gap == Gap::Line {
            self.open_foreign = 0;
        }
        if role.element != Element::Plain {
            self.open(role.element, tag);
        }
        if let Some(kept) = &mut self.kept {
            kept.start_tag(tag);
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
        self.close_context(role.context);
        if let Some(kept) = &mut self.kept {
            kept.end_tag(tag);
        }
    }

    /// What an element's start tag means, apart from its place in the text.
    fn open(&mut self, element: Element, tag: &Tag<'_, '_>) {
        match element {
            Element::A => self.open_a(tag),
            Element::Area => self.link_with_alternative(tag, "href", LinkKind::Area),
            Element::Base => self.base(tag),
            Element::Embed => self.link(tag, "src", LinkKind::Embed),
            Element::Form => self.form(tag),
            Element::Foreign if !tag.self_closing => self.open_foreign += 1,
            Element::Frame => self.link(tag, "src", LinkKind::Frame),
            Element::Iframe => self.link(tag, "src", LinkKind::Iframe),
            Element::Heading(level) => self.open_heading(level),
            Element::Html => self.declare_language(tag),
            Element::Image => self.image(tag),
            Element::Input if is_word(tag, "type", "image") => self.link(tag, "src", LinkKind::Img),
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

    /// How the content of an element is read, and what becomes of its text.
    fn content(&mut self, element: Element) -> (Content, Reading) {
        if self.open_foreign > 0 {
            // Of the same syntax as the rest, and of no more use to a reader than elsewhere.
            let unread = matches!(element, Element::Title | Element::Opaque | Element::Script);
            return (Content::Markup, if unread { Reading::Nothing } else { Reading::Flow });
        }
        match element {
            Element::Title if self.has_title || self.open_templates > 0 => {
                (Content::Rcdata, Reading::Nothing)
            }
            Element::Title => {
                self.has_title = true;
                (Content::Rcdata, Reading::Title)
            }
            Element::Textarea => (Content::Rcdata, Reading::Nothing),
            Element::Opaque | Element::Iframe => (Content::Rawtext, Reading::Nothing),
            Element::Script => (Content::Script, Reading::Nothing),
            Element::Plaintext => (Content::Plaintext, Reading::Flow),
            _ => (Content::Markup, Reading::Flow),
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
        let words = &mut self.document.links[anchor].words;
        let mut end = self.flow.position().min(words.start + MAX_LINK_TEXT_BYTES);
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

    /// `<time>` may tell of anything; only some say that it is the page's own date.
    fn time(&mut self, tag: &Tag<'_, '_>) {
        let own = tag.attribute("pubdate").is_some() || is_word(tag, "itemprop", "datePublished");
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
        let alternative = tag.attribute("alt");
        if let (Some(anchor), Some(alternative)) = (self.open_anchor, &alternative)
            && self.document.links[anchor].alternative.is_empty()
        {
            self.document.links[anchor].alternative = self.store_words(alternative);
        }
        self.link_with_alternative(tag, "src", LinkKind::Img);
        self.srcset(tag);
    }

    fn media(&mut self, tag: &Tag<'_, '_>) {
        self.link(tag, "src", LinkKind::Media);
        self.link(tag, "poster", LinkKind::Img);
        self.srcset(tag);
    }

    /// Candidates are URLs with a descriptor each, separated by commas; a URL may hold commas, but not end in one.
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

    /// `<link>`: the relation says what it is.
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
            self.document.canonical = self.document.links.last().map(|link| link.raw);
        }
    }

    /// `<option>`: its value is a link if it looks like one; most are numbers and names.
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

    fn link_with_alternative(&mut self, tag: &Tag<'_, '_>, attribute: &str, kind: LinkKind) {
        let before = self.document.links.len();
        self.link(tag, attribute, kind);
        if self.document.links.len() > before
            && let Some(alternative) = tag.attribute("alt")
        {
            self.document.links[before].alternative = self.store_words(&alternative);
        }
    }

    fn add_link(&mut self, url: &str, rel: &str, kind: LinkKind) {
        if self.document.links.len() >= self.options.limits.links {
            self.document.truncated = true;
            return;
        }
        let start = self.flow.position();
        let record = LinkRecord {
            raw: self.store(trim_url(url)),
            rel: self.store(rel.trim()),
            words: Span { start, end: start },
            alternative: Span::default(),
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

    fn store_words(&mut self, text: &str) -> Span {
        let start = self.document.strings.len() as u32;
        // The words of a link are cut without a word, as those of one that was left open are.
        let _ = super::push_words(&mut self.document.strings, text, MAX_LINK_TEXT_BYTES as usize);
        Span { start, end: self.document.strings.len() as u32 }
    }

    fn open_context(&mut self, context: Context) {
        if context != Context::NONE {
            let open = &mut self.open_contexts[context.bits().trailing_zeros() as usize];
            *open = open.saturating_add(1);
            self.context.insert(context);
            self.mark_region(context);
        }
    }

    fn close_context(&mut self, context: Context) {
        if context != Context::NONE {
            let open = &mut self.open_contexts[context.bits().trailing_zeros() as usize];
            *open = open.saturating_sub(1);
            if *open == 0 {
                self.context.remove(context);
                self.mark_region(context);
            }
        }
    }

    /// Notes where parts of the page begin and end in its text.
    fn mark_region(&mut self, changed: Context) {
        if !Context::SECTIONS.contains(changed) {
            return;
        }
        let start = self.flow.position();
        let regions = &mut self.document.regions;
        if regions.last().is_some_and(|(last, _)| *last == start) {
            regions.pop();
        }
        regions.push((start, self.context));
    }
}

impl TokenSink for Extractor<'_, '_> {
    fn text(&mut self, text: Characters<'_>) {
        match self.reading {
            Reading::Flow if self.open_templates == 0 => {
                self.flow.push(text);
                if let Some(kept) = &mut self.kept {
                    kept.text(text);
                }
            }
            Reading::Title => {
                let title = text.decoded();
                let limit_bytes = self.options.limits.title_bytes;
                self.document.truncated |= super::push_words(&mut self.document.title, &title, limit_bytes);
                if let Some(kept) = &mut self.kept {
                    kept.text(text);
                }
            }
            Reading::Flow | Reading::Nothing => {}
        }
    }

    fn start_tag(&mut self, tag: &Tag<'_, '_>) -> Content {
        let role = Role::of(tag.key);
        self.document.truncated |= tag.attributes_cut;
        // What a template holds is not part of the page before a script makes it so.
        if role.element == Element::Template {
            self.open_templates += 1;
        } else if self.open_templates == 0 {
            self.start_element(role, tag);
        }
        let (content, reading) = self.content(role.element);
        self.reading = reading;
        content
    }

    fn end_tag(&mut self, tag: &Tag<'_, '_>) {
        let role = Role::of(tag.key);
        self.reading = Reading::Flow;
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

/// URLs in attributes may have white space and control characters around them.
fn trim_url(url: &str) -> &str {
    url.trim_matches(|c: char| c <= ' ')
}

fn is_word(tag: &Tag<'_, '_>, attribute: &str, word: &str) -> bool {
    tag.attribute(attribute).is_some_and(|value| value.trim().eq_ignore_ascii_case(word))
}
