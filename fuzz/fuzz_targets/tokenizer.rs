//! Tokenizes any string: tokens are slices of the page in order, and their decoded text is bounded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use parse::html::{Characters, Content, Tag, TokenSink, Tokenizer};

/// Maximum growth by decoding: a NUL becomes U+FFFD, three bytes.
const MAX_GROWTH: usize = 3;

struct Checker<'a> {
    page: &'a str,
    seen: usize,
    foreign: bool,
}

impl Checker<'_> {
    /// Checks that `slice` is part of the page, after all earlier slices.
    fn advance(&mut self, slice: &str) {
        let start = slice.as_ptr().addr() - self.page.as_ptr().addr();
        assert!(start >= self.seen && start + slice.len() <= self.page.len());
        self.seen = start + slice.len();
    }

    fn characters(&mut self, characters: Characters<'_>) {
        self.advance(characters.raw);
        let mut pushed = String::new();
        characters.push_to(&mut pushed);
        assert_eq!(pushed, characters.decoded());
        assert!(pushed.len() <= MAX_GROWTH * characters.raw.len());
    }

    fn tag(&mut self, tag: &Tag<'_, '_>) {
        for attribute in tag.attributes {
            assert!(attribute.value().len() <= MAX_GROWTH * self.page.len());
        }
    }
}

impl TokenSink for Checker<'_> {
    fn text(&mut self, text: Characters<'_>) {
        self.characters(text);
    }

    fn start_tag(&mut self, tag: &Tag<'_, '_>) -> Content {
        self.tag(tag);
        match tag.name().as_ref() {
            "title" | "textarea" => Content::Rcdata,
            "style" | "iframe" => Content::Rawtext,
            "script" => Content::Script,
            "plaintext" => Content::Plaintext,
            name => {
                self.foreign |= name == "svg";
                Content::Markup
            }
        }
    }

    fn end_tag(&mut self, tag: &Tag<'_, '_>) {
        self.tag(tag);
        self.foreign &= tag.name() != "svg";
    }

    fn comment(&mut self, text: Characters<'_>) {
        self.characters(text);
    }

    fn in_foreign_content(&self) -> bool {
        self.foreign
    }
}

fuzz_target!(|page: &str| Tokenizer::new(page).run(&mut Checker { page, seen: 0, foreign: false }));
