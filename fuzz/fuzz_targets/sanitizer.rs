//! Sanitizes any page: the result has no script, no event handler, no embedded resource and no link except to cached pages
//! and fragments, also when it is parsed again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::UrlRules;
use parse::decode;
use parse::html::{Characters, Content, Tag, TokenSink, Tokenizer};
use web::fuzzing::{sanitize_page, sanitize_text};

/// Attributes that the sanitizer writes.
const ATTRIBUTES: [&str; 14] = [
    "alt", "class", "colspan", "datetime", "dir", "href", "id", "lang", "rel", "rowspan", "scope", "start",
    "target", "title",
];
/// Elements that run scripts, load resources, send data, or change how the rest of the page is parsed.
const FORBIDDEN: [&str; 38] = [
    "applet",
    "area",
    "audio",
    "base",
    "body",
    "button",
    "canvas",
    "embed",
    "form",
    "frame",
    "frameset",
    "head",
    "html",
    "iframe",
    "image",
    "img",
    "input",
    "link",
    "listing",
    "map",
    "math",
    "meta",
    "noembed",
    "noframes",
    "noscript",
    "object",
    "option",
    "param",
    "picture",
    "plaintext",
    "portal",
    "script",
    "select",
    "source",
    "style",
    "svg",
    "template",
    "xmp",
];

struct Checker<'a>(&'a str);

impl TokenSink for Checker<'_> {
    fn text(&mut self, _: Characters<'_>) {}

    fn start_tag(&mut self, tag: &Tag<'_, '_>) -> Content {
        let name = tag.name();
        assert!(
            !FORBIDDEN.contains(&&*name) && name != "textarea" && name != "title",
            "<{name}>: {}",
            self.0
        );
        for attribute in tag.attributes {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(ATTRIBUTES.contains(&&*name), "{name}: {}", self.0);
            if name == "href" {
                assert!(value.starts_with('#') || value.starts_with("/cached?url="), "{value}: {}", self.0);
            }
        }
        Content::Markup
    }

    fn end_tag(&mut self, _: &Tag<'_, '_>) {}

    fn comment(&mut self, _: Characters<'_>) {
        panic!("a comment: {}", self.0);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let html = decode(bytes, None, None).text;
    let url = UrlRules::default().canonical("https://example.com/dir/page.html").expect("a URL");
    for clean in [sanitize_page(&url, &html), sanitize_text(&html)] {
        Tokenizer::new(&clean).run(&mut Checker(&clean));
        assert!(
            !clean.contains(|character: char| character.is_control() && !matches!(character, '\n' | '\t'))
        );
    }
});
