//! Parses any bytes as robots.txt: the reported rule decides, and all limits are respected.
//!
//! The input is the file, a NUL, and one URL per line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use parse::{MAX_ROBOTS_RULES, MAX_ROBOTS_SITEMAPS, RobotsRules};

fuzz_target!(|data: &[u8]| {
    let split = data.iter().position(|&byte| byte == 0).unwrap_or(data.len());
    let (file, urls) = data.split_at(split);
    let rules = RobotsRules::parse(file, "weir");
    assert!(rules.len() <= MAX_ROBOTS_RULES && rules.sitemaps.len() <= MAX_ROBOTS_SITEMAPS);
    for url in String::from_utf8_lossy(urls).lines() {
        let decision = rules.decide_url(url);
        assert_eq!(decision.allowed, decision.rule.is_none_or(|rule| rule.allow));
        assert!(decision.rule.is_none_or(|rule| (1..=file.len()).contains(&(rule.line as usize))));
        assert!(!rules.is_empty() || decision.allowed);
        assert_eq!(decision.allowed, rules.decide_url(&format!("{url}#fragment")).allowed);
    }
});
