//! Rules that make a parsed URL canonical, one function each; [`UrlRules`] applies them in order.
//!
//! The URL standard's parser has already resolved the reference, converted scheme and host to lower case, converted
//! international names to A-labels, and escaped characters that a URL must not contain. The rules here unify spellings
//! that the standard distinguishes but that name the same page. They do not change:
//!
//! - `www.` in front of a host: often, but not always, the same site;
//! - repeated slashes: most servers treat `//` as `/`, but archives (`/web/2020/http://a.org/`) and stores with empty
//!   keys do not. A wrong merge loses pages; a missed merge is found later as a duplicate;
//! - upper case in paths, `index.html`, a trailing slash: their meaning differs between servers.

use std::borrow::Cow;

use memchr::memchr;

use crate::canonical_url::Scheme;
use crate::url_error::UrlError;
use crate::url_rules::UrlRules;

/// Maximum length of a DNS name as text, without the dot of the root (RFC 1035, section 2.3.4).
const MAX_HOST_BYTES: usize = 253;
/// Maximum length of a label (RFC 1035, section 2.3.4).
const MAX_LABEL_BYTES: usize = 63;

/// Removes the fragment, which is never sent to a server.
///
/// The first `#` always starts the fragment, so this works before parsing.
pub(crate) fn without_fragment(reference: &str) -> &str {
    memchr(b'#', reference.as_bytes()).map_or(reference, |at| &reference[..at])
}

/// Removes the dot of the DNS root (`example.com.` is `example.com`) and checks that the host is a valid DNS name.
///
/// The URL standard accepts `a..b`, `*.example.com` and labels of a thousand bytes, which no lookup can resolve.
/// Rejecting them also keeps `,` and `)` out of SURT keys. Underscores are accepted because they are in use.
pub(crate) fn dns_name(host: &str) -> Result<&str, UrlError> {
    let name = host.strip_suffix('.').unwrap_or(host);
    if name.is_empty() {
        return Err(UrlError::NoHost);
    }
    let is_valid_label = |label: &str| {
        (1..=MAX_LABEL_BYTES).contains(&label.len())
            && label.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
    };
    let is_valid = name.len() <= MAX_HOST_BYTES && name.split('.').all(is_valid_label);
    if is_valid { Ok(name) } else { Err(UrlError::Host) }
}

/// Removes the default port of the scheme; rejects port 0.
pub(crate) fn explicit_port(scheme: Scheme, port: Option<u16>) -> Result<Option<u16>, UrlError> {
    match port {
        Some(0) => Err(UrlError::Port),
        Some(port) if port == scheme.default_port() => Ok(None),
        other => Ok(other),
    }
}

/// Normalises percent-encoding (RFC 3986, section 6.2.2):
///
/// - an escape of an unreserved character (letter, digit, `-._~`) is decoded;
/// - any other escape is kept, in upper case: `%2f` is data, `/` is structure;
/// - a byte that is not allowed in a URI (`|`, `^`, `{`, `"`, ... which the URL standard tolerates in places) is
///   escaped, because some servers respond to the raw byte with 400;
/// - a `%` without two hex digits after it is escaped. Otherwise it could combine with decoded characters after it:
///   `%%34%31` would become `%41`, and then `A`.
pub(crate) fn percent_normal_form(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let is_normal = |at: usize| is_uri_byte(bytes[at]) || is_normal_escape(&bytes[at..]);
    // The hex digits of a normal escape are URI bytes themselves, so each position can be checked alone.
    let Some(first) = (0..bytes.len()).find(|&at| !is_normal(at)) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    let mut at = first;
    while let Some(&byte) = bytes.get(at) {
        match escaped_byte(&bytes[at..]) {
            Some(value) if is_unreserved(value) => out.push(char::from(value)),
            Some(value) => push_escape(&mut out, value),
            None if is_uri_byte(byte) => out.push(char::from(byte)),
            None => push_escape(&mut out, byte),
        }
        at += if escaped_byte(&bytes[at..]).is_some() { 3 } else { 1 };
    }
    Cow::Owned(out)
}

/// Reports whether `bytes` start with an escape that [`percent_normal_form`] does not change.
pub(crate) fn is_normal_escape(bytes: &[u8]) -> bool {
    let is_upper_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'A'..=b'F');
    escaped_byte(bytes).is_some_and(|value| !is_unreserved(value)) && bytes[1..3].iter().all(is_upper_hex)
}

/// Removes session ids from a path segment: parameters after a semicolon (`/a;jsessionid=1F`), and the segments that
/// ASP.NET inserts for clients without cookies (`/(S(24 letters))/a.aspx`). Otherwise each fetch would discover new
/// URLs.
///
/// An ASP.NET segment becomes `.`, so that the next rule removes it together with its slash.
pub(crate) fn without_path_session<'a>(rules: &UrlRules, segment: &'a str) -> Cow<'a, str> {
    if !rules.drop_session_ids {
        return Cow::Borrowed(segment);
    }
    let kept = without_session_parameters(rules, segment);
    if is_aspnet_session(&kept) { Cow::Borrowed(".") } else { kept }
}

fn without_session_parameters<'a>(rules: &UrlRules, segment: &'a str) -> Cow<'a, str> {
    let mut parameters = segment.split(';');
    let name = parameters.next().unwrap_or_default();
    if !parameters.clone().any(|parameter| is_session(rules, parameter)) {
        return Cow::Borrowed(segment);
    }
    let kept = parameters.filter(|parameter| !is_session(rules, parameter));
    Cow::Owned(kept.fold(name.to_owned(), |all, parameter| all + ";" + parameter))
}

/// Appends `segments` to `text`, whose part from `root` on is a path that ends with a slash, and resolves `.` and
/// `..`. The parser did this before, but removing a session id may produce new dot segments (`/..;jsessionid=1/`).
pub(crate) fn resolve_dot_segments<'a>(
    text: &mut String,
    root: usize,
    segments: impl Iterator<Item = Cow<'a, str>>,
) {
    let mut slash_is_due = false;
    for segment in segments {
        if slash_is_due {
            text.push('/');
        }
        slash_is_due = !matches!(segment.as_ref(), "." | "..");
        if slash_is_due {
            text.push_str(&segment);
        } else if segment == ".." {
            let parent = &text[root..text.len() - 1];
            text.truncate(root + parent.rfind('/').map_or(1, |slash| slash + 1));
        }
    }
}

/// Appends `?` and the parameters that select the page. Session ids, tracking parameters and empty parameters
/// (`a=1&&b=2&`) are removed, and so is the question mark if no parameter remains.
///
/// With [`sort_query`](UrlRules::sort_query) the parameters are sorted by name. The sort is stable, because many
/// programs read repeated parameters as a list.
pub(crate) fn push_query(rules: &UrlRules, text: &mut String, query: &str) {
    let selects_page = |parameter: &&str| {
        let is_removed = (rules.drop_session_ids && is_session(rules, parameter))
            || (rules.drop_tracking && rules.tracking_parameters.contains(parameter_name(parameter)));
        !parameter.is_empty() && !is_removed
    };
    let mut separator = '?';
    let mut push = |parameter: &str| {
        text.push(separator);
        text.push_str(parameter);
        separator = '&';
    };
    let kept = query.split('&').filter(selects_page);
    if rules.sort_query {
        let mut sorted: Vec<&str> = kept.collect();
        sorted.sort_by_key(|parameter| parameter_name(parameter));
        sorted.into_iter().for_each(&mut push);
    } else {
        kept.for_each(&mut push);
    }
}

/// Reports whether the parameter `name=value` carries a session id.
fn is_session(rules: &UrlRules, parameter: &str) -> bool {
    let name = parameter_name(parameter);
    rules.session_parameters.contains(name)
        || (rules.session_hash_parameters.contains(name)
            && parameter.get(name.len() + 1..).is_some_and(is_hex_digest))
}

/// Reports whether a value is a digest in hex: MD5, SHA-1 or SHA-256. Session ids are, names of pages are not.
fn is_hex_digest(value: &str) -> bool {
    matches!(value.len(), 32 | 40 | 64) && value.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the name of a parameter: the text before its first `=`.
fn parameter_name(parameter: &str) -> &str {
    parameter.find('=').map_or(parameter, |at| &parameter[..at])
}

/// Reports whether a segment is an ASP.NET session id (2.0 and later): `(S(...))` around 24 letters or digits.
fn is_aspnet_session(segment: &str) -> bool {
    let id = segment.strip_prefix("(S(").and_then(|rest| rest.strip_suffix("))"));
    id.is_some_and(|id| id.len() == 24 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Decodes the escape at the start of `bytes`: `%` and two hex digits.
fn escaped_byte(bytes: &[u8]) -> Option<u8> {
    let &[b'%', high, low, ..] = bytes else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(high)? * 16 + digit(low)?) as u8)
}

fn push_escape(out: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    out.push(char::from(DIGITS[usize::from(byte >> 4)]));
    out.push(char::from(DIGITS[usize::from(byte & 15)]));
}

/// Reports whether a byte is unreserved (RFC 3986): letter, digit, `-`, `.`, `_` or `~`.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Reports whether a byte is allowed unescaped in a path or query: unreserved or reserved.
fn is_uri_byte(byte: u8) -> bool {
    is_unreserved(byte) || b":/?#[]@!$&'()*+,;=".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(url: &str) -> String {
        UrlRules::default().canonical(url).unwrap().into()
    }

    fn query(query: &str) -> String {
        let mut text = String::new();
        push_query(&UrlRules::default(), &mut text, query);
        text
    }

    #[test]
    fn the_fragment_is_removed() {
        assert_eq!(without_fragment("a#b#c"), "a");
        assert_eq!(without_fragment("#"), "");
        assert_eq!(canonical("http://example.com/a#!/state"), "http://example.com/a");
        assert_eq!(canonical("http://example.com#@evil.org/"), "http://example.com/");
    }

    #[test]
    fn the_user_is_removed() {
        assert_eq!(canonical("http://user:secret@example.com/a"), "http://example.com/a");
        assert_eq!(canonical("http://user@name@example.com/a"), "http://example.com/a");
    }

    #[test]
    fn the_host_is_lower_case_and_has_no_root_dot() {
        assert_eq!(dns_name("example.com."), Ok("example.com"));
        assert_eq!(canonical("http://WWW.Example.COM./"), "http://www.example.com/");
    }

    #[test]
    fn www_is_kept() {
        assert_eq!(canonical("http://www.example.com/"), "http://www.example.com/");
    }

    #[test]
    fn a_host_that_is_not_a_dns_name_is_rejected() {
        let (label, host) = ("a".repeat(64), "a.".repeat(127) + "a");
        for name in [".a", "a..b", "a..", "*.example.com", "a,b", "a)b", &label, &host] {
            assert_eq!(dns_name(name), Err(UrlError::Host), "{name}");
        }
        assert_eq!(dns_name("."), Err(UrlError::NoHost));
        for name in ["a", "_dmarc.example.com", "-a-.b", &"a".repeat(63), &("a.".repeat(126) + "a")] {
            assert_eq!(dns_name(name), Ok(name));
        }
    }

    #[test]
    fn international_names_become_a_labels() {
        assert_eq!(canonical("http://bücher.example/"), "http://xn--bcher-kva.example/");
        assert_eq!(canonical("http://XN--BCHER-KVA.example/"), "http://xn--bcher-kva.example/");
    }

    /// A Cyrillic `а` looks like a Latin one; the A-label differs.
    #[test]
    fn homographs_are_different_hosts() {
        assert_eq!(canonical("http://аpple.com/"), "http://xn--pple-43d.com/");
        assert_ne!(canonical("http://аpple.com/"), canonical("http://apple.com/"));
    }

    #[test]
    fn the_default_port_is_removed() {
        assert_eq!(explicit_port(Scheme::Http, Some(80)), Ok(None));
        assert_eq!(explicit_port(Scheme::Http, Some(443)), Ok(Some(443)));
        assert_eq!(explicit_port(Scheme::Gopher, Some(70)), Ok(None));
        assert_eq!(explicit_port(Scheme::Https, None), Ok(None));
        assert_eq!(explicit_port(Scheme::Https, Some(0)), Err(UrlError::Port));
        assert_eq!(canonical("https://example.com:443"), "https://example.com/");
        assert_eq!(canonical("https://example.com:"), "https://example.com/");
    }

    #[test]
    fn escapes_are_normalised() {
        assert_eq!(percent_normal_form("/a%2fb%7Ec%c3%a9"), "/a%2Fb~c%C3%A9");
        assert_eq!(percent_normal_form("/%41%2d%5F"), "/A-_");
        assert_eq!(percent_normal_form("/a|b^c"), "/a%7Cb%5Ec");
        assert_eq!(percent_normal_form("é"), "%C3%A9");
        assert!(matches!(percent_normal_form("/a%2Fb?[c]"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_percent_sign_without_hex_digits_is_escaped() {
        assert_eq!(percent_normal_form("100%"), "100%25");
        assert_eq!(percent_normal_form("%zz%4"), "%25zz%254");
        assert_eq!(percent_normal_form("%%34%31"), "%2541");
        assert_eq!(percent_normal_form("%2541"), "%2541");
    }

    #[test]
    fn a_normal_escape_is_in_upper_case_and_necessary() {
        assert!(is_normal_escape(b"%2Fb") && is_normal_escape(b"%25"));
        for other in ["%2f", "%41", "%7E", "%", "%2", "%G0", "a%2F", ""] {
            assert!(!is_normal_escape(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn session_ids_in_the_path_are_removed() {
        let rules = UrlRules::default();
        let without = |segment| without_path_session(&rules, segment).into_owned();
        assert_eq!(without("a.jsp;jsessionid=1F2E"), "a.jsp");
        assert_eq!(without("a.jsp;JSESSIONID=1F2E.node1;b=2"), "a.jsp;b=2");
        assert_eq!(without(";jsessionid"), "");
        assert_eq!(without("a;b;c=d"), "a;b;c=d");
        assert_eq!(without("a;jsessionidx=1"), "a;jsessionidx=1");
        assert_eq!(without("(S(lit3py55t21z5v55vlm25s55))"), ".");
        assert_eq!(without("(S(lit3py55t21z5v55vlm25s55));jsessionid=1"), ".");
        assert_eq!(without("(S(short))"), "(S(short))");
        assert_eq!(canonical("http://a.org/x/(S(lit3py55t21z5v55vlm25s55))/b.aspx"), "http://a.org/x/b.aspx");
        assert_eq!(canonical("http://a.org/x/y/..;jsessionid=1/b"), "http://a.org/x/b");
    }

    #[test]
    fn dot_segments_are_resolved() {
        let resolved = |path: &str| {
            let mut text = "http://a.org/".to_owned();
            resolve_dot_segments(&mut text, "http://a.org".len(), path.split('/').map(Cow::Borrowed));
            text["http://a.org".len()..].to_owned()
        };
        assert_eq!(resolved("a/./b/../c"), "/a/c");
        assert_eq!(resolved("../../a"), "/a");
        assert_eq!(resolved("a/b/.."), "/a/");
        assert_eq!(resolved("a/."), "/a/");
        assert_eq!(resolved("."), "/");
        assert_eq!(resolved(".."), "/");
        assert_eq!(resolved("a//../b"), "/a/b");
        assert_eq!(resolved("a/.../.b/c."), "/a/.../.b/c.");
        assert_eq!(canonical("http://a.org/a/%2E%2e/%2e/b"), "http://a.org/b");
    }

    #[test]
    fn repeated_slashes_are_kept() {
        assert_eq!(canonical("http://a.org//a///b/"), "http://a.org//a///b/");
        assert_eq!(canonical("http://a.org/web/2020/http://b.org/"), "http://a.org/web/2020/http://b.org/");
    }

    #[test]
    fn an_empty_query_is_removed() {
        assert_eq!(canonical("http://a.org/?"), "http://a.org/");
        assert_eq!(query(""), "");
        assert_eq!(query("&&"), "");
    }

    #[test]
    fn empty_parameters_are_removed() {
        assert_eq!(query("&a=1&&b=&c&"), "?a=1&b=&c");
        assert_eq!(query("="), "?=");
    }

    #[test]
    fn session_parameters_are_removed() {
        assert_eq!(query("a=1&PHPSESSID=8f&b=2"), "?a=1&b=2");
        assert_eq!(query("ASPSESSIONIDQQBCSDTA=X&CFID=1&CFTOKEN=2&osCsid=3"), "");
    }

    #[test]
    fn an_ambiguous_parameter_is_a_session_only_with_a_hex_digest() {
        assert_eq!(query("sid=0123456789abcdef0123456789ABCDEF&t=1"), "?t=1");
        assert_eq!(query("s=5&sid=news"), "?s=5&sid=news");
        assert_eq!(query("sid=0123456789abcdef0123456789abcdeg"), "?sid=0123456789abcdef0123456789abcdeg");
        assert_eq!(query("id=0123456789abcdef0123456789abcdef"), "?id=0123456789abcdef0123456789abcdef");
    }

    #[test]
    fn tracking_parameters_are_removed() {
        assert_eq!(query("utm_source=x&utm_campaign=y&id=1&fbclid=z&gclid"), "?id=1");
        assert_eq!(canonical("http://a.org/?%75tm_source=x"), "http://a.org/");
    }

    #[test]
    fn rules_can_be_switched_off() {
        let rules = UrlRules { drop_session_ids: false, drop_tracking: false, ..UrlRules::default() };
        let url = "http://a.org/(S(lit3py55t21z5v55vlm25s55))/b;jsessionid=1?sid=2&PHPSESSID=3&utm_source=4";
        assert_eq!(rules.canonical(url).unwrap().as_str(), url);
    }

    #[test]
    fn the_query_is_sorted_only_if_enabled_and_by_name_only() {
        let sorted = UrlRules { sort_query: true, ..UrlRules::default() };
        let url = "http://a.org/?b=2&a=2&b=1&a=1";
        assert_eq!(canonical(url), url);
        assert_eq!(sorted.canonical(url).unwrap().as_str(), "http://a.org/?a=2&a=1&b=2&b=1");
    }
}
