//! Canonicalises any string: it is rejected, or its canonical form is stable, absolute and relative to any base.
//!
//! The input is a base and, after a line feed, a reference.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::{CanonicalUrl, UrlHasher, UrlRules};

fn check(rules: &UrlRules, url: &CanonicalUrl) {
    assert!(url.as_str().len() <= usize::from(rules.max_length_bytes));
    assert!(url.as_str().is_ascii());
    assert!(url.as_str().starts_with(url.site()));
    assert!(url.as_str().ends_with(url.path_and_query()));
    assert!(url.path().starts_with('/'));
    assert!(url.registered_domain().is_none_or(|domain| url.host().ends_with(domain)));
    let again = rules.canonical(url.as_str()).expect("a canonical URL");
    assert_eq!(again.as_str(), url.as_str());
    let hasher = UrlHasher::new(1);
    assert_eq!(hasher.page(&again), hasher.page(url));
}

fuzz_target!(|input: &str| {
    let (base, reference) = input.split_once('\n').unwrap_or((input, ""));
    for sort_query in [false, true] {
        let rules = UrlRules { sort_query, ..UrlRules::default() };
        let Ok(base) = rules.canonical(base) else { continue };
        check(&rules, &base);
        let Ok(url) = rules.join(&base, reference) else { continue };
        check(&rules, &url);
        assert_eq!(rules.join(&base, url.as_str()).expect("an absolute URL").as_str(), url.as_str());
        // Surrounding white space has no effect; it also disables the fast path.
        let padded = rules.join(&base, &format!("\t {reference} ")).expect("the same reference");
        assert_eq!(padded.as_str(), url.as_str());
    }
});
