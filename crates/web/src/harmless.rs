//! What is left of a page that can do nothing? Its words, their structure, and where its links lead.
//!
//! The copy is not the page with something taken out, but a new page with what is allowed put in: elements and attributes
//! from short lists, text and values escaped anew. Scripts, styles, forms, frames and everything that is loaded from
//! elsewhere stay behind; an image becomes the words that stand for it. Whatever a browser makes of it, it is also sent
//! under a policy that forbids all of this.

use parse::html::{Characters, Content, Tag, TokenSink, Tokenizer};

use crate::shown::lines;

/// No copy is longer.
const MOST_BYTES: usize = 4 << 20;

/// Elements that stay, in alphabetical order.
const KEPT: [&str; 76] = [
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
const VOID: [&str; 4] = ["br", "col", "hr", "wbr"];
/// Attributes that stay, on any element.
const KEPT_ATTRIBUTES: [&str; 10] =
    ["alt", "colspan", "datetime", "dir", "id", "lang", "rowspan", "scope", "start", "title"];

/// A page without effect.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Harmless {
    /// The inside of its body.
    pub(crate) html: String,
    /// Whether there was more than is here.
    pub(crate) is_cut: bool,
}

/// Makes a copy of a page. `join` takes a base, if the page names one, and a reference, and tells where that leads.
pub(crate) fn harmless(
    page: &str,
    address: &dyn Fn(&str) -> String,
    join: &dyn Fn(Option<&str>, &str) -> Option<String>,
) -> Harmless {
    let mut copier = Copier { out: Harmless::default(), base: None, is_unseen: false, address, join };
    Tokenizer::new(page).run(&mut copier);
    copier.out
}

/// Plain text as a page.
pub(crate) fn preformatted(text: &str) -> Harmless {
    let cut = &text[..text.floor_char_boundary(MOST_BYTES)];
    let mut html = String::with_capacity(cut.len() + 64);
    html.push_str("<pre>");
    escape_into(&lines(cut), &mut html);
    html.push_str("</pre>");
    Harmless { html, is_cut: cut.len() < text.len() }
}

struct Copier<'f> {
    out: Harmless,
    base: Option<String>,
    /// Inside an element of which nothing is shown.
    is_unseen: bool,
    /// The address under which a URL is looked at here.
    address: &'f dyn Fn(&str) -> String,
    join: &'f dyn Fn(Option<&str>, &str) -> Option<String>,
}

impl Copier<'_> {
    fn has_room(&mut self) -> bool {
        self.out.is_cut |= self.out.html.len() >= MOST_BYTES;
        !self.out.is_cut
    }

    fn attribute(&mut self, name: &str, value: &str) {
        let html = &mut self.out.html;
        html.push(' ');
        html.push_str(name);
        html.push_str("=\"");
        escape_into(&lines(value), html);
        html.push('"');
    }

    fn element(&mut self, name: &str, tag: &Tag<'_, '_>) {
        self.out.html.push('<');
        self.out.html.push_str(name);
        for kept in KEPT_ATTRIBUTES {
            if let Some(value) = tag.attribute(kept) {
                self.attribute(kept, &value);
            }
        }
        if name == "a" {
            self.link(tag);
        }
        self.out.html.push('>');
    }

    /// Where a link leads: to another place of the copy, or to what we know of the page.
    fn link(&mut self, tag: &Tag<'_, '_>) {
        if let Some(name) = tag.attribute("name").filter(|_| tag.attribute("id").is_none()) {
            self.attribute("id", &name);
        }
        let Some(reference) = tag.attribute("href") else { return };
        if reference.starts_with('#') {
            return self.attribute("href", &reference);
        }
        if let Some(url) = (self.join)(self.base.as_deref(), &reference) {
            let address = (self.address)(&url);
            self.attribute("href", &address);
            self.out.html.push_str(" target=\"_top\" rel=\"noreferrer nofollow\"");
        }
    }

    /// What stands for something that is not loaded.
    fn stand_in(&mut self, what: &str, words: &str) {
        self.out.html.push_str("<span class=\"not-loaded\">");
        self.out.html.push_str(what);
        if !words.trim().is_empty() {
            self.out.html.push_str(": ");
            escape_into(&crate::shown::shown(words, 200), &mut self.out.html);
        }
        self.out.html.push_str("</span>");
    }

    fn frame(&mut self, tag: &Tag<'_, '_>) {
        let source = tag.attribute("src").unwrap_or_default();
        let Some(url) = (self.join)(self.base.as_deref(), &source) else { return };
        let address = (self.address)(&url);
        self.out.html.push_str("<p class=\"not-loaded\"><a target=\"_top\"");
        self.attribute("href", &address);
        self.out.html.push_str(">frame: ");
        escape_into(&crate::shown::url(&url), &mut self.out.html);
        self.out.html.push_str("</a></p>");
    }
}

impl TokenSink for Copier<'_> {
    fn text(&mut self, text: Characters<'_>) {
        if self.is_unseen || !self.has_room() {
            return;
        }
        let mut decoded = String::new();
        text.push_to(&mut decoded);
        let room = MOST_BYTES - self.out.html.len();
        let cut = decoded.floor_char_boundary(room);
        self.out.is_cut |= cut < decoded.len();
        escape_into(&lines(&decoded[..cut]), &mut self.out.html);
    }

    fn start_tag(&mut self, tag: &Tag<'_, '_>) -> Content {
        let name = tag.name();
        let content = content_of(&name);
        self.is_unseen = content != Content::Markup && name != "xmp";
        if !self.has_room() {
            return content;
        }
        match &*name {
            "base" if self.base.is_none() => {
                self.base = tag.attribute("href").map(std::borrow::Cow::into_owned);
            }
            "img" => {
                let words = tag.attribute("alt").unwrap_or_default();
                self.stand_in("image", &words);
            }
            "frame" | "iframe" => self.frame(tag),
            "video" | "audio" | "object" | "embed" | "canvas" => self.stand_in(&name, ""),
            "xmp" => self.out.html.push_str("<pre>"),
            kept if KEPT.binary_search(&kept).is_ok() => self.element(kept, tag),
            // Words on either side of an element that is left out must not become one.
            _ => self.out.html.push(' '),
        }
        content
    }

    fn end_tag(&mut self, tag: &Tag<'_, '_>) {
        self.is_unseen = false;
        let name = tag.name();
        let is_kept = KEPT.binary_search(&&*name).is_ok() && !VOID.contains(&&*name);
        if is_kept && self.has_room() {
            self.out.html.push_str("</");
            self.out.html.push_str(if name == "xmp" { "pre" } else { &name });
            self.out.html.push('>');
        }
    }
}

/// How a browser without scripts reads what is inside an element.
fn content_of(name: &str) -> Content {
    match name {
        "script" => Content::Script,
        "style" | "iframe" | "noembed" | "noframes" | "xmp" => Content::Rawtext,
        "title" | "textarea" => Content::Rcdata,
        "plaintext" => Content::Plaintext,
        _ => Content::Markup,
    }
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

    fn copy(page: &str) -> String {
        let join = |base: Option<&str>, reference: &str| {
            let is_web = !reference.contains(':') || reference.starts_with("http");
            is_web.then(|| format!("{}{reference}", base.unwrap_or_default()))
        };
        harmless(page, &|url| format!("/cached?url={url}"), &join).html
    }

    #[test]
    fn the_lists_are_in_order() {
        assert!(KEPT.is_sorted());
    }

    #[test]
    fn words_and_structure_stay() {
        let page = "<!doctype html><title>t</title><h1 id=a>A &amp; B</h1><p class=x style='color:red'>c<br>d<table><tr><td colspan=2>e";
        assert_eq!(
            copy(page).trim_start(),
            "<h1 id=\"a\">A &amp; B</h1><p>c<br>d<table><tr><td colspan=\"2\">e"
        );
    }

    #[test]
    fn nothing_that_acts_or_loads_is_left() {
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
            let out = copy(page);
            let tags: Vec<&str> = out.split('<').skip(1).collect();
            for tag in &tags {
                let inside = &tag[..tag.find('>').unwrap_or(tag.len())];
                let name: String =
                    inside.trim_start_matches('/').chars().take_while(|c| c.is_alphanumeric()).collect();
                assert!(KEPT.binary_search(&&*name).is_ok() && name != "xmp", "{page}: {out}");
                // What stands between quotes is text, and cannot get out of them.
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
    fn links_lead_to_what_we_know() {
        let page = "<base href='http://b/'><a href='x?a=1&amp;b'>y</a><a href=#z>z</a><a name=q>q</a><iframe src=f></iframe>";
        let out = copy(page);
        assert!(out.contains("<a href=\"/cached?url=http://b/x?a=1&amp;b\" target=\"_top\""), "{out}");
        assert!(out.contains("<a href=\"#z\">z</a><a id=\"q\">q</a>"), "{out}");
        assert!(out.contains(">frame: http://b/f</a>"), "{out}");
    }

    #[test]
    fn a_page_without_end_is_cut() {
        let copy = harmless(&"<b>x".repeat(3 << 20), &|url| url.to_owned(), &|_, _| None);
        assert!(copy.is_cut && copy.html.len() < MOST_BYTES + 100);
        assert!(preformatted(&"é<".repeat(4 << 20)).is_cut);
    }
}
