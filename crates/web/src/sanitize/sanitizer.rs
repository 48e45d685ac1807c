//! HTML sanitizer: reduces a page to text, structure and links.
//!
//! It works by allowlist: it writes a new page with elements and attributes from short lists, and escapes all text and values.
//! Scripts, styles, forms, frames and embedded resources are dropped; an image is replaced by its alternative text. As second line of
//! defence the result is sent with a content security policy that forbids all of these.

use std::ops::Range;

use parse::html::{Characters, Content, Tag, TokenSink, Tokenizer};

use crate::sanitize::display_text::sanitize_block;

/// Maximum size of the output.
const MAX_BYTES: usize = 4 << 20;

/// Allowed elements, sorted.
const ALLOWED_TAGS: [&str; 76] = [
    "a",
    "abbr",
    "address",
    "article",
    "aside",
    "b",
    "bdi",
    "bdo",
    "big",
    "blockquote",
    "br",
    "caption",
    "center",
    "cite",
    "code",
    "col",
    "colgroup",
    "dd",
    "del",
    "details",
    "dfn",
    "dir",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "i",
    "ins",
    "kbd",
    "li",
    "main",
    "mark",
    "menu",
    "nav",
    "ol",
    "p",
    "pre",
    "q",
    "rp",
    "rt",
    "ruby",
    "s",
    "samp",
    "section",
    "small",
    "span",
    "strike",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "time",
    "tr",
    "tt",
    "u",
    "ul",
    "var",
    "wbr",
    "xmp",
];
/// Elements without an end tag.
const VOID: [&str; 4] = ["br", "col", "hr", "wbr"];
/// Attributes allowed on any element.
const ALLOWED_ATTRIBUTES: [&str; 10] =
    ["alt", "colspan", "datetime", "dir", "id", "lang", "rowspan", "scope", "start", "title"];

/// Sanitized HTML.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SanitizedHtml {
    /// Content of the `body` element.
    pub(crate) html: String,
    /// Whether the page exceeded the maximum size.
    pub(crate) is_truncated: bool,
}

/// Finds the byte ranges of a text that are highlighted, in order and without overlap.
pub(crate) type FindMarks<'f> = dyn Fn(&str) -> Vec<Range<usize>> + 'f;

/// Sanitizes a page. `link` maps the URL of a page to the URL of its cached version; `join` resolves a reference against the base URL
/// of the page, if it sets one; `mark` finds the words to highlight.
pub(crate) fn sanitize(
    page: &str,
    link: &dyn Fn(&str) -> String,
    join: &dyn Fn(Option<&str>, &str) -> Option<String>,
    mark: &FindMarks<'_>,
) -> SanitizedHtml {
    let out = SanitizedHtml::default();
    let mut sanitizer = Sanitizer { out, base: None, is_hidden: false, link, join, mark };
    Tokenizer::new(page).run(&mut sanitizer);
    sanitizer.out
}

/// Converts plain text to HTML.
pub(crate) fn preformatted(text: &str, mark: &FindMarks<'_>) -> SanitizedHtml {
    let shown = &text[..text.floor_char_boundary(MAX_BYTES)];
    let mut html = String::with_capacity(shown.len() + 64);
    html.push_str("<pre>");
    mark_into(&sanitize_block(shown), mark, &mut html);
    html.push_str("</pre>");
    SanitizedHtml { html, is_truncated: shown.len() < text.len() }
}

struct Sanitizer<'f> {
    out: SanitizedHtml,
    base: Option<String>,
    /// Inside an element whose text is not displayed.
    is_hidden: bool,
    link: &'f dyn Fn(&str) -> String,
    join: &'f dyn Fn(Option<&str>, &str) -> Option<String>,
    mark: &'f FindMarks<'f>,
}

impl Sanitizer<'_> {
    fn has_room(&mut self) -> bool {
        self.out.is_truncated |= self.out.html.len() >= MAX_BYTES;
        !self.out.is_truncated
    }

    fn attribute(&mut self, name: &str, value: &str) {
        let html = &mut self.out.html;
        html.push(' ');
        html.push_str(name);
        html.push_str("=\"");
        escape_into(&sanitize_block(value), html);
        html.push('"');
    }

    fn element(&mut self, name: &str, tag: &Tag<'_, '_>) {
        self.out.html.push('<');
        self.out.html.push_str(name);
        for name in ALLOWED_ATTRIBUTES {
            if let Some(value) = tag.attribute(name) {
                self.attribute(name, &value);
            }
        }
        if name == "a" {
            self.anchor(tag);
        }
        self.out.html.push('>');
    }

    /// Writes the target of a link: a fragment of the same page, or the cached version of another page.
    fn anchor(&mut self, tag: &Tag<'_, '_>) {
        if let Some(name) = tag.attribute("name").filter(|_| tag.attribute("id").is_none()) {
            self.attribute("id", &name);
        }
        let Some(reference) = tag.attribute("href") else { return };
        if reference.starts_with('#') {
            return self.attribute("href", &reference);
        }
        if let Some(url) = (self.join)(self.base.as_deref(), &reference) {
            let href = (self.link)(&url);
            self.attribute("href", &href);
            self.out.html.push_str(" target=\"_top\" rel=\"noreferrer nofollow\"");
        }
    }

    /// Writes a placeholder for an embedded resource, with its alternative text.
    fn placeholder(&mut self, kind: &str, alt: &str) {
        self.out.html.push_str("<span class=\"not-loaded\">");
        self.out.html.push_str(kind);
        if !alt.trim().is_empty() {
            self.out.html.push_str(": ");
            escape_into(&crate::sanitize::display_text::sanitize_line(alt, 200), &mut self.out.html);
        }
        self.out.html.push_str("</span>");
    }

    fn frame(&mut self, tag: &Tag<'_, '_>) {
        let source = tag.attribute("src").unwrap_or_default();
        let Some(url) = (self.join)(self.base.as_deref(), &source) else { return };
        let href = (self.link)(&url);
        self.out.html.push_str("<p class=\"not-loaded\"><a target=\"_top\"");
        self.attribute("href", &href);
        self.out.html.push_str(">frame: ");
        escape_into(&crate::sanitize::display_text::url(&url), &mut self.out.html);
        self.out.html.push_str("</a></p>");
    }
}

impl TokenSink for Sanitizer<'_> {
    fn text(&mut self, text: Characters<'_>) {
        if self.is_hidden || !self.has_room() {
            return;
        }
        let mut decoded = String::new();
        text.push_to(&mut decoded);
        let room = MAX_BYTES - self.out.html.len();
        let end = decoded.floor_char_boundary(room);
        self.out.is_truncated |= end < decoded.len();
        mark_into(&sanitize_block(&decoded[..end]), self.mark, &mut self.out.html);
    }

    fn start_tag(&mut self, tag: &Tag<'_, '_>) -> Content {
        let name = tag.name();
        let content = content_of(&name);
        self.is_hidden = content != Content::Markup && name != "xmp";
        if !self.has_room() {
            return content;
        }
        match &*name {
            "base" if self.base.is_none() => {
                self.base = tag.attribute("href").map(std::borrow::Cow::into_owned);
            }
            "img" => {
                let alt = tag.attribute("alt").unwrap_or_default();
                self.placeholder("image", &alt);
            }
            "frame" | "iframe" => self.frame(tag),
            "video" | "audio" | "object" | "embed" | "canvas" => self.placeholder(&name, ""),
            "xmp" => self.out.html.push_str("<pre>"),
            name if ALLOWED_TAGS.binary_search(&name).is_ok() => self.element(name, tag),
            // The words on both sides of a dropped element must not join.
            _ => self.out.html.push(' '),
        }
        content
    }

    fn end_tag(&mut self, tag: &Tag<'_, '_>) {
        self.is_hidden = false;
        let name = tag.name();
        let is_allowed = ALLOWED_TAGS.binary_search(&&*name).is_ok() && !VOID.contains(&&*name);
        if is_allowed && self.has_room() {
            self.out.html.push_str("</");
            self.out.html.push_str(if name == "xmp" { "pre" } else { &name });
            self.out.html.push('>');
        }
    }
}

/// Tokenizer state inside an element, as in a browser with scripting disabled.
fn content_of(name: &str) -> Content {
    match name {
        "script" => Content::Script,
        "style" | "iframe" | "noembed" | "noframes" | "xmp" => Content::Rawtext,
        "title" | "textarea" => Content::Rcdata,
        "plaintext" => Content::Plaintext,
        _ => Content::Markup,
    }
}

/// Escapes a text, with the words to highlight in `mark` elements.
fn mark_into(text: &str, mark: &FindMarks<'_>, out: &mut String) {
    let mut at = 0;
    for range in mark(text) {
        let (Some(before), Some(word)) = (text.get(at..range.start), text.get(range.clone())) else {
            continue;
        };
        escape_into(before, out);
        out.push_str("<mark>");
        escape_into(word, out);
        out.push_str("</mark>");
        at = range.end;
    }
    escape_into(text.get(at..).unwrap_or_default(), out);
}

fn escape_into(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            character => out.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sanitized(page: &str) -> String {
        let join = |base: Option<&str>, reference: &str| {
            let is_web = !reference.contains(':') || reference.starts_with("http");
            is_web.then(|| format!("{}{reference}", base.unwrap_or_default()))
        };
        sanitize(page, &|url| format!("/cached?url={url}"), &join, &|_| Vec::new()).html
    }

    #[test]
    fn the_allowlist_is_sorted() {
        assert!(ALLOWED_TAGS.is_sorted());
    }

    #[test]
    fn text_and_structure_are_kept() {
        let page = "<!doctype html><title>t</title><h1 id=a>A &amp; B</h1><p class=x style='color:red'>c<br>d<table><tr><td colspan=2>e";
        assert_eq!(
            sanitized(page).trim_start(),
            "<h1 id=\"a\">A &amp; B</h1><p>c<br>d<table><tr><td colspan=\"2\">e"
        );
    }

    #[test]
    fn elements_that_execute_or_load_are_removed() {
        let hostile = [
            "<script>alert(1)</script>",
            "<SCRIPT SRC=//x></SCRIPT>",
            "<img src=x onerror=alert(1)>",
            "<a href='javascript:alert(1)' onclick=alert(1)>x</a>",
            "<a href=' java\nscript:alert(1)'>x</a>",
            "<iframe src=javascript:alert(1)></iframe>",
            "<style>@import '//x'</style>",
            "<svg onload=alert(1)><script>alert(1)</script><style><img src=x onerror=alert(1)></style></svg>",
            "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=x onerror=alert(1)&gt;\">",
            "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
            "<meta http-equiv=refresh content='0;url=//x'>",
            "<link rel=dns-prefetch href=//x><link rel=stylesheet href=//x>",
            "<base href=//x><form action=//x><input autofocus onfocus=alert(1)><button formaction=javascript:alert(1)>b",
            "<object data=x><embed src=x><video src=x poster=x><source src=x></video>",
            "<textarea><script>alert(1)</script></textarea><plaintext><script>alert(1)",
            "<p id='\"><script>alert(1)</script>'>",
            "<body background=x onload=alert(1)><table background=x>",
            "<template><script>alert(1)</script></template><portal src=x>",
        ];
        for page in hostile {
            let out = sanitized(page);
            let tags: Vec<&str> = out.split('<').skip(1).collect();
            for tag in &tags {
                let inside = &tag[..tag.find('>').unwrap_or(tag.len())];
                let name: String =
                    inside.trim_start_matches('/').chars().take_while(|c| c.is_alphanumeric()).collect();
                assert!(ALLOWED_TAGS.binary_search(&&*name).is_ok() && name != "xmp", "{page}: {out}");
                // Quoted values are escaped: a quote cannot end them.
                let outside: String = inside.split('"').step_by(2).collect();
                for bad in [" on", " src", " style", " action", " formaction", " background", "javascript:"] {
                    assert!(!outside.contains(bad), "{page}: {out}");
                }
                for target in inside.split("href=\"").skip(1) {
                    assert!(!target.trim_start().to_ascii_lowercase().starts_with("java"), "{page}: {out}");
                }
            }
        }
    }

    #[test]
    fn links_lead_to_cached_pages() {
        let page = "<base href='http://b/'><a href='x?a=1&amp;b'>y</a><a href=#z>z</a><a name=q>q</a><iframe src=f></iframe>";
        let out = sanitized(page);
        assert!(out.contains("<a href=\"/cached?url=http://b/x?a=1&amp;b\" target=\"_top\""), "{out}");
        assert!(out.contains("<a href=\"#z\">z</a><a id=\"q\">q</a>"), "{out}");
        assert!(out.contains(">frame: http://b/f</a>"), "{out}");
    }

    #[test]
    fn words_are_highlighted_and_escaped() {
        let mark = |text: &str| text.match_indices("a<b").map(|(at, word)| at..at + word.len()).collect();
        let page = "<p title='a&lt;b'>x a&lt;b &amp; a&lt;b";
        let out = sanitize(page, &|url| url.to_owned(), &|_, _| None, &mark).html;
        assert_eq!(out, "<p title=\"a&lt;b\">x <mark>a&lt;b</mark> &amp; <mark>a&lt;b</mark>");
    }

    #[test]
    fn a_huge_page_is_truncated() {
        let output = sanitize(&"<b>x".repeat(3 << 20), &|url| url.to_owned(), &|_, _| None, &|_| Vec::new());
        assert!(output.is_truncated && output.html.len() < MAX_BYTES + 100);
        assert!(preformatted(&"é<".repeat(4 << 20), &|_| Vec::new()).is_truncated);
    }
}
