//! Conformance test of robots.txt rules with Google's published cases, and properties for any bytes.
#![allow(clippy::disallowed_methods, reason = "a test reads its cases from a file")]

use parse::RobotsRules;
use proptest::prelude::*;

#[test]
fn all_published_cases_pass() {
    let text = std::fs::read_to_string(testkit::data("robots/spec-cases.json")).unwrap();
    let files: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let mut count = 0;
    let mut wrong = Vec::new();
    for file in &files {
        let robots = base64(file["robots_base64"].as_str().unwrap());
        for case in file["cases"].as_array().unwrap() {
            let (url, agent) = (case["url"].as_str().unwrap(), case["agent"].as_str().unwrap());
            let allowed = RobotsRules::parse(&robots, agent).decide_url(url).allowed;
            count += 1;
            if allowed != case["allowed"].as_bool().unwrap() {
                wrong.push(format!("{}: {case}\n{}", file["file"], String::from_utf8_lossy(&robots)));
            }
        }
    }
    assert_eq!(count, 400);
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut width) = (Vec::new(), 0_u32, 0);
    for digit in text.bytes().filter_map(|byte| DIGITS.iter().position(|&digit| digit == byte)) {
        bits = bits << 6 | digit as u32;
        width += 6;
        if width >= 8 {
            width -= 8;
            bytes.push((bits >> width) as u8);
        }
    }
    bytes
}

/// Bytes that resemble a robots.txt closely enough to reach every branch.
fn robots_like() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        Just(b"User-agent: *\n".to_vec()),
        Just(b"User-agent: weir\n".to_vec()),
        Just(b"Disallow:".to_vec()),
        Just(b"Allow: /index.html\r".to_vec()),
        Just(b"/a*b$".to_vec()),
        Just(b"Crawl-delay: 1".to_vec()),
        Just(b"Sitemap: x\n".to_vec()),
        prop::collection::vec(any::<u8>(), 0..12),
    ];
    prop::collection::vec(word, 0..30).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn any_bytes_and_any_url_give_a_decision(robots in robots_like(), url in ".{0,40}") {
        let rules = RobotsRules::parse(&robots, "weir");
        let decision = rules.decide_url(&url);
        prop_assert!(rules.len() <= robots.len());
        prop_assert_eq!(decision.allowed, decision.rule.is_none_or(|rule| rule.allow));
    }

    #[test]
    fn a_rule_disallows_its_path_in_every_encoding(path in "/[a-z~%\u{e9} ]{0,10}") {
        let rules = RobotsRules::parse(format!("User-agent: *\nDisallow: {path}").as_bytes(), "weir");
        prop_assert!(!rules.decide(path.trim_end()).allowed);
        let encoded: String = path.trim_end().bytes().map(|byte| match byte {
            b'/' | b'%' => char::from(byte).to_string(),
            _ => format!("%{byte:02x}"),
        }).collect();
        prop_assume!(!path.contains('%'));
        prop_assert!(!rules.decide(&encoded).allowed);
    }
}
