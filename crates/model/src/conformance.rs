//! Do the parsers we stand on, and we ourselves, read URLs as the standards say? The cases are those of the
//! web-platform-tests and of the Public Suffix List.
//!
//! Where we do not, the exceptions are grouped by reason and each group is counted: the tests fail if another case
//! goes wrong, and also if one of these comes right.

use std::collections::BTreeMap;

use url::{Host, Url};

use crate::test_data::{UrlCase, objects, shared_file, url_cases};
use crate::{CanonicalUrl, Rejected, UrlRules};

/// The standard lets a host in ASCII pass without a look into its A-labels; the `idna` crate decodes and checks them.
/// We keep its answer: a link to such a host is refused with a reason, and hardly any exists.
const BAD_A_LABEL: &str = "an A-label that does not decode is refused";

/// The exceptions that were found, counted by reason.
type Exceptions = BTreeMap<&'static str, usize>;

#[test]
fn url_reads_all_cases_of_the_standard_but_these() {
    let Some(cases) = url_cases() else { return };
    let mut exceptions = Exceptions::new();
    for case in &cases {
        if by_url_crate(case) != case.href {
            *exceptions.entry(url_exception(case)).or_default() += 1;
        }
    }
    let expected = [
        ("file: is parsed by older rules, and never fetched", 40),
        ("other schemes are parsed by older rules, and never fetched", 11),
        (BAD_A_LABEL, 7),
        ("more than two slashes before a host, without a scheme (we put that right)", 7),
    ];
    assert_eq!(cases.len(), 891);
    assert_eq!(exceptions, Exceptions::from(expected));
}

fn by_url_crate(case: &UrlCase) -> Option<String> {
    let base = case.base.as_deref().map(Url::parse).transpose().ok()?;
    Url::options().base_url(base.as_ref()).parse(&case.input).ok().map(String::from)
}

fn url_exception(case: &UrlCase) -> &'static str {
    let href = case.href.as_deref().unwrap_or_else(|| panic!("{:?} should be refused", case.input));
    match href.split(':').next() {
        Some("file") => "file: is parsed by older rules, and never fetched",
        _ if is_web(href) && has_a_label(&case.input) => BAD_A_LABEL,
        _ if is_web(href) && case.input.starts_with("///") => {
            "more than two slashes before a host, without a scheme (we put that right)"
        }
        Some("http" | "https" | "ftp") => panic!("{:?} should be {href}", case.input),
        _ => "other schemes are parsed by older rules, and never fetched",
    }
}

#[test]
fn our_rules_read_the_cases_of_the_standard_and_are_idempotent_on_them() {
    let Some(cases) = url_cases() else { return };
    let rules = UrlRules::default();
    let mut accepted = 0;
    let mut refused = Exceptions::new();
    for case in &cases {
        let ours = by_our_rules(&rules, case);
        let standard = case.href.as_deref().and_then(|href| rules.canonical(href).ok());
        assert_eq!(ours, standard, "{:?} on {:?}", case.input, case.base);
        if let Some(url) = ours {
            assert_eq!(rules.canonical(url.as_str()).as_ref(), Ok(&url));
            accepted += 1;
        } else if let Some(href) = case.href.as_deref().filter(|href| is_web(href)) {
            *refused.entry(our_exception(&rules.canonical(href).unwrap_err())).or_default() += 1;
        }
    }
    let expected =
        [(BAD_A_LABEL, 7), ("nobody can connect to port 0", 2), ("a host that DNS cannot hold", 4)];
    assert_eq!((accepted, refused), (243, Exceptions::from(expected)));
}

fn is_web(href: &str) -> bool {
    href.starts_with("http://") || href.starts_with("https://")
}

fn our_exception(reason: &Rejected) -> &'static str {
    match reason {
        Rejected::Syntax(url::ParseError::IdnaError) => BAD_A_LABEL,
        Rejected::Port => "nobody can connect to port 0",
        Rejected::Host | Rejected::NoHost => "a host that DNS cannot hold",
        other => panic!("{other}"),
    }
}

/// A base that is not fetched, or not a URL at all, is none to us, but the reference may be absolute.
fn by_our_rules(rules: &UrlRules, case: &UrlCase) -> Option<CanonicalUrl> {
    match case.base.as_deref().map(|base| rules.canonical(base)) {
        Some(Ok(base)) => rules.join(&base, &case.input).ok(),
        _ => rules.canonical(&case.input).ok(),
    }
}

#[test]
fn international_names_are_read_as_in_idna_test_v2_but_these() {
    let expected = [
        (BAD_A_LABEL, 757),
        ("an empty host is refused by the URL standard itself", 1),
        ("U+3E8AC is valid by the tables of the `idna` crate, unassigned by those of the cases", 2),
    ];
    host_cases("url/IdnaTestV2.json", 2671, &expected);
}

#[test]
fn international_names_are_read_as_in_toascii_but_these() {
    host_cases("url/toascii.json", 87, &[(BAD_A_LABEL, 7)]);
}

fn host_cases(file: &str, count: usize, expected: &[(&'static str, usize)]) {
    let Some(json) = shared_file(file) else { return };
    let cases = objects(&json);
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
        Some("") => "an empty host is refused by the URL standard itself",
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
fn registered_domains_are_those_of_the_public_suffix_list() {
    let Some(text) = shared_file("psl/test_psl.txt") else { return };
    let rules = UrlRules::default();
    let host = |name: &str| rules.canonical(&format!("http://{name}/"));
    let mut count = 0;
    for line in text.lines().filter_map(|line| line.strip_prefix("checkPublicSuffix(")) {
        let (name, domain) = line.strip_suffix(");").and_then(|pair| pair.split_once(", ")).unwrap();
        count += 1;
        let unquoted = |text: &str| (text != "null").then(|| text.trim_matches('\'').to_owned());
        let Some(name) = unquoted(name) else { continue };
        let ours = host(&name).ok().and_then(|url| url.registered_domain().map(str::to_owned));
        // The list's cases are in Unicode in places, our hosts never are.
        let expected = unquoted(domain).map(|domain| host(&domain).unwrap().host().to_owned());
        assert_eq!(ours, expected, "{name}");
    }
    assert_eq!(count, 78);
}
