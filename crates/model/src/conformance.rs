//! Conformance tests of URL parsing with the cases of web-platform-tests and of the Public Suffix List.
//!
//! Deviations are grouped by reason and counted: the tests fail if another case deviates, and also if one of the
//! listed deviations disappears.

use std::collections::BTreeMap;

use url::{Host, Url};

use crate::test_data::{UrlCase, objects, read_data, url_cases};
use crate::{CanonicalUrl, UrlError, UrlRules};

/// The standard accepts an ASCII host without validation of its A-labels; the `idna` crate decodes and validates them.
/// Weir rejects such hosts too; hardly any link to one exists.
const BAD_A_LABEL: &str = "an A-label that does not decode is rejected";

/// Number of deviations by reason.
type Exceptions = BTreeMap<&'static str, usize>;

#[test]
fn the_url_crate_passes_all_cases_except_the_listed_ones() {
    let cases = url_cases();
    let mut exceptions = Exceptions::new();
    for case in &cases {
        if by_url_crate(case) != case.href {
            *exceptions.entry(url_exception(case)).or_default() += 1;
        }
    }
    let expected = [
        ("file: URLs are parsed by older rules; they are never fetched", 40),
        ("other schemes are parsed by older rules; they are never fetched", 11),
        (BAD_A_LABEL, 7),
        ("more than two slashes before a host, without a scheme (corrected by `UrlRules`)", 7),
    ];
    assert_eq!(cases.len(), 891);
    assert_eq!(exceptions, Exceptions::from(expected));
}

fn by_url_crate(case: &UrlCase) -> Option<String> {
    let base = case.base.as_deref().map(Url::parse).transpose().ok()?;
    Url::options().base_url(base.as_ref()).parse(&case.input).ok().map(String::from)
}

fn url_exception(case: &UrlCase) -> &'static str {
    let href = case.href.as_deref().unwrap_or_else(|| panic!("{:?} should be rejected", case.input));
    match href.split(':').next() {
        Some("file") => "file: URLs are parsed by older rules; they are never fetched",
        _ if is_web(href) && has_a_label(&case.input) => BAD_A_LABEL,
        _ if is_web(href) && case.input.starts_with("///") => {
            "more than two slashes before a host, without a scheme (corrected by `UrlRules`)"
        }
        Some("http" | "https" | "ftp") => panic!("{:?} should be {href}", case.input),
        _ => "other schemes are parsed by older rules; they are never fetched",
    }
}

#[test]
fn url_rules_pass_the_cases_of_the_standard_and_are_idempotent() {
    let cases = url_cases();
    let rules = UrlRules::default();
    let mut accepted = 0;
    let mut rejected = Exceptions::new();
    for case in &cases {
        let ours = by_our_rules(&rules, case);
        let standard = case.href.as_deref().and_then(|href| rules.canonical(href).ok());
        assert_eq!(ours, standard, "{:?} on {:?}", case.input, case.base);
        if let Some(url) = ours {
            assert_eq!(rules.canonical(url.as_str()).as_ref(), Ok(&url));
            accepted += 1;
        } else if let Some(href) = case.href.as_deref().filter(|href| is_web(href)) {
            *rejected.entry(our_exception(&rules.canonical(href).unwrap_err())).or_default() += 1;
        }
    }
    let expected = [(BAD_A_LABEL, 7), ("port 0 is not usable", 2), ("the host is not a DNS name", 4)];
    assert_eq!((accepted, rejected), (243, Exceptions::from(expected)));
}

fn is_web(href: &str) -> bool {
    href.starts_with("http://") || href.starts_with("https://")
}

fn our_exception(reason: &UrlError) -> &'static str {
    match reason {
        UrlError::Syntax(url::ParseError::IdnaError) => BAD_A_LABEL,
        UrlError::Port => "port 0 is not usable",
        UrlError::Host | UrlError::NoHost => "the host is not a DNS name",
        other => panic!("{other}"),
    }
}

/// Resolves a case by the rules; a base that is not a fetchable URL is ignored, the reference may still be absolute.
fn by_our_rules(rules: &UrlRules, case: &UrlCase) -> Option<CanonicalUrl> {
    match case.base.as_deref().map(|base| rules.canonical(base)) {
        Some(Ok(base)) => rules.join(&base, &case.input).ok(),
        _ => rules.canonical(&case.input).ok(),
    }
}

#[test]
fn international_names_pass_idna_test_v2_except_the_listed_cases() {
    let expected = [
        (BAD_A_LABEL, 757),
        ("an empty host is rejected by the URL standard itself", 1),
        ("U+3E8AC is valid by the tables of the `idna` crate, unassigned by those of the cases", 2),
    ];
    host_cases("url/IdnaTestV2.json", 2671, &expected);
}

#[test]
fn international_names_pass_toascii_except_the_listed_cases() {
    host_cases("url/toascii.json", 87, &[(BAD_A_LABEL, 7)]);
}

fn host_cases(file: &str, count: usize, expected: &[(&'static str, usize)]) {
    let cases = objects(&read_data(file));
    let mut exceptions = Exceptions::new();
    for case in &cases {
        let (input, output) = (case["input"].as_str().unwrap(), case["output"].as_str());
        if Host::parse(input).ok().map(|host| host.to_string()).as_deref() != output {
            *exceptions.entry(host_exception(input, output)).or_default() += 1;
        }
    }
    assert_eq!(cases.len(), count);
    assert_eq!(exceptions, expected.iter().copied().collect());
}

fn host_exception(input: &str, output: Option<&str>) -> &'static str {
    match output {
        Some("") => "an empty host is rejected by the URL standard itself",
        Some(_) if input.is_ascii() && has_a_label(input) => BAD_A_LABEL,
        None if input.starts_with('\u{3e8ac}') => {
            "U+3E8AC is valid by the tables of the `idna` crate, unassigned by those of the cases"
        }
        other => panic!("{input:?} should be {other:?}"),
    }
}

fn has_a_label(text: &str) -> bool {
    text.to_ascii_lowercase().contains("xn--")
}

#[test]
fn registered_domains_agree_with_the_public_suffix_list() {
    let text = read_data("psl/test_psl.txt");
    let rules = UrlRules::default();
    let host = |name: &str| rules.canonical(&format!("http://{name}/"));
    let mut count = 0;
    for line in text.lines().filter_map(|line| line.strip_prefix("checkPublicSuffix(")) {
        let (name, domain) = line.strip_suffix(");").and_then(|pair| pair.split_once(", ")).unwrap();
        count += 1;
        let unquoted = |text: &str| (text != "null").then(|| text.trim_matches('\'').to_owned());
        let Some(name) = unquoted(name) else { continue };
        let ours = host(&name).ok().and_then(|url| url.registered_domain().map(str::to_owned));
        // Some cases are in Unicode; canonical hosts are always ASCII.
        let expected = unquoted(domain).map(|domain| host(&domain).unwrap().host().to_owned());
        assert_eq!(ours, expected, "{name}");
    }
    assert_eq!(count, 78);
}
