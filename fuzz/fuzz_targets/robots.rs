//! Any bytes are a robots.txt: the rule that is named decides, and nothing grows beyond its limit.
//!
//! The input is the file, a NUL, and one URL per line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use parse::{ROBOTS_LIMIT_RULES, ROBOTS_LIMIT_SITEMAPS, RobotsRules};

fuzz_target!(|data: &[u8]| {
    let split = data.iter().position(|&byte| byte == 0).unwrap_or(data.len());
    let (file, urls) = data.split_at(split);
    let rules = RobotsRules::parse(file, "weir");
    assert!(rules.len() <= ROBOTS_LIMIT_RULES && rules.sitemaps.len() <= ROBOTS_LIMIT_SITEMAPS);
    for url in String::from_utf8_lossy(urls).lines() {
        let decision = rules.decide_url(url);
        assert_eq!(decision.allowed, decision.rule.is_none_or(|rule| rule.allow));
        assert!(decision.rule.is_none_or(|rule| (1..=file.len()).contains(&(rule.line as usize))));
        assert!(!rules.is_empty() || decision.allowed);
        assert_eq!(decision.allowed, rules.decide_url(&format!("{url}#fragment")).allowed);
    }
});
