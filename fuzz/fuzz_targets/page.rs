//! Parses any bytes with any MIME type: the main text is part of the text, and URLs in the text are at their positions.
//!
//! The input is a Content-Type, a line feed, and the body.
#![no_main]

use libfuzzer_sys::fuzz_target;
use parse::html::Options;
use parse::{Document, LanguageHints, detect_language, plain_urls};

fuzz_target!(|input: &[u8]| {
    let split = input.iter().position(|&byte| byte == b'\n').unwrap_or(0);
    let content_type = std::str::from_utf8(&input[..split]).ok();
    let options = Options::default();
    let mut document = Document::default();
    document.read(&input[split..], content_type, Some("de"), &options);
    assert!(document.links().len() <= options.limits.links);
    assert!(document.main_text().lines().all(|line| document.text.contains(line)));
    for (start, url) in plain_urls(&document.text) {
        assert_eq!(&document.text[start..start + url.len()], url);
    }
    let language = detect_language(&document.text, LanguageHints::default());
    assert!(language.is_none_or(|language| (0.0..=1.0).contains(&language.confidence)));
});
