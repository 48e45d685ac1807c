//! Robustness tests: a damaged body is parsed to a document within its limits.
//!
//! The bodies are the seeds of the fuzzers, truncated, duplicated, shuffled and with flipped bits. Unlike the fuzzers, this
//! test runs everywhere.
#![allow(clippy::disallowed_methods, reason = "a test reads its pages from files")]

use std::path::Path;
use std::sync::LazyLock;

use model::UrlRules;
use parse::Document;
use parse::html::{Limits, Options, TagAllowlist};
use proptest::prelude::*;
use proptest::sample::Index;

static BODIES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut bodies = Vec::new();
    for target in ["html", "tokenizer", "sitemap", "charset", "page"] {
        for entry in std::fs::read_dir(corpus.join(target)).unwrap() {
            bodies.push(std::fs::read(entry.unwrap().path()).unwrap());
        }
    }
    bodies
});

/// Damage to a body.
#[derive(Debug, Clone)]
enum Damage {
    Flip(Index, u8),
    Cut(Index, usize),
    Double(Index, usize),
    Insert(Index, Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    let markup = prop::sample::select(vec![
        "<a href='",
        "</a>",
        "<!--",
        "-->",
        "<script>",
        "</script",
        "<title>",
        "&#",
        "&amp",
        "<svg><![CDATA[",
        "\0",
        "\u{a0}",
        "<pre>",
        "<template>",
        "\r",
        "<base href=x>",
        "<meta http-equiv=refresh content='0;url=",
    ]);
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        (any::<Index>(), 1..200usize).prop_map(|(at, length)| Damage::Cut(at, length)),
        (any::<Index>(), 1..200usize).prop_map(|(at, length)| Damage::Double(at, length)),
        (any::<Index>(), markup).prop_map(|(at, text)| Damage::Insert(at, text.as_bytes().to_vec())),
        (any::<Index>(), prop::collection::vec(any::<u8>(), 1..20))
            .prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
    ]
}

fn apply(damage: &Damage, body: &mut Vec<u8>) {
    if body.is_empty() {
        return;
    }
    let span = |at: &Index, length: usize| {
        let start = at.index(body.len());
        start..(start + length).min(body.len())
    };
    match damage {
        Damage::Flip(at, bits) => {
            let at = at.index(body.len());
            body[at] ^= bits;
        }
        Damage::Cut(at, length) => drop(body.drain(span(at, *length))),
        Damage::Double(at, length) => {
            let piece = body[span(at, *length)].to_vec();
            let at = at.index(body.len());
            body.splice(at..at, piece);
        }
        Damage::Insert(at, bytes) => {
            let at = at.index(body.len());
            body.splice(at..at, bytes.iter().copied());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_body_is_parsed_within_the_limits(
        body in any::<Index>(),
        damages in prop::collection::vec(damage(), 1..12),
        content_type in prop::sample::select(vec![
            None, Some("text/html"), Some("text/plain; charset=shift_jis"), Some("application/rss+xml"), Some("text/xml"),
        ]),
    ) {
        let mut body = BODIES[body.index(BODIES.len())].clone();
        for damage in &damages {
            apply(damage, &mut body);
        }
        let limits = Limits { input_bytes: 1 << 12, text_bytes: 500, title_bytes: 40, links: 10 };
        let options = Options { limits, simplify: Some(TagAllowlist::default()), ..Options::default() };
        let mut document = Document::default();
        document.read(&body, content_type, Some("jp"), &options);
        prop_assert!(document.text.len() <= 500 && document.title.len() <= 40 && document.links().len() <= 10);
        prop_assert!(document.main_text().len() <= document.text.len() + 1);
        let rules = UrlRules::default();
        let page = rules.canonical("http://a.test/b/c").unwrap();
        document.resolve(&page, &rules, |resolved| {
            assert!(resolved.target.is_ok_and(|url| url.as_str().bytes().all(|byte| byte.is_ascii_graphic()))
                || resolved.target.is_err());
        });
    }
}
