//! Canonicalisation: from a URL or reference as written to a [`CanonicalUrl`].
//!
//! Plain references take the fast path of [`crate::fast_path`]. All others are parsed by the URL standard's
//! parser, after which each rule of [`crate::canonical_rules`] is applied.

use std::borrow::Cow;

use url::{Host, Url};

use crate::canonical_url::{CanonicalUrl, Scheme};
use crate::url_error::UrlError;
use crate::url_rules::UrlRules;
use crate::{canonical_rules, fast_path};

impl UrlRules {
    /// Returns the canonical form of an absolute URL.
    pub fn canonical(&self, input: &str) -> Result<CanonicalUrl, UrlError> {
        let mut out = CanonicalUrl::empty();
        if fast_path::absolute(self, input, &mut out) {
            Ok(out)
        } else {
            self.canonical_by_parser(None, input)
        }
    }

    /// Returns the canonical form of `reference`, resolved against the page `base`.
    pub fn join(&self, base: &CanonicalUrl, reference: &str) -> Result<CanonicalUrl, UrlError> {
        let mut out = CanonicalUrl::empty();
        self.join_into(base, reference, &mut out).map(|()| out)
    }

    /// Resolves like [`join`](UrlRules::join) and reuses the allocation of `out`. For the links of a page, start with a
    /// clone of `base`. An error leaves `out` unchanged.
    pub fn join_into(
        &self,
        base: &CanonicalUrl,
        reference: &str,
        out: &mut CanonicalUrl,
    ) -> Result<(), UrlError> {
        if !fast_path::join(self, base, reference, out) {
            out.copy_from(&self.canonical_by_parser(Some(base), reference)?);
        }
        Ok(())
    }

    /// Slow path for any reference: the parser of the URL standard, then every rule.
    pub(crate) fn canonical_by_parser(
        &self,
        base: Option<&CanonicalUrl>,
        reference: &str,
    ) -> Result<CanonicalUrl, UrlError> {
        reject_other_scheme(reference)?;
        let limit_bytes = usize::from(self.max_length_bytes);
        let length_bytes = canonical_rules::without_fragment(reference).len();
        if length_bytes > 4 * limit_bytes {
            return Err(UrlError::TooLong { length_bytes, max_bytes: limit_bytes });
        }
        // Keep the `#`: without it the parser would strip white space before it as trailing white space.
        let reference = &reference[..reference.len().min(length_bytes + 1)];
        let parsed = match base {
            None => Url::parse(reference)?,
            Some(base) => Url::parse(base.as_str())?.join(&two_slashes(base.scheme(), reference))?,
        };
        let canonical = self.apply(&parsed)?;
        let length_bytes = canonical.as_str().len();
        if length_bytes > limit_bytes {
            return Err(UrlError::TooLong { length_bytes, max_bytes: limit_bytes });
        }
        Ok(canonical)
    }

    /// Applies all rules in order. User and fragment are removed because they are not copied.
    fn apply(&self, parsed: &Url) -> Result<CanonicalUrl, UrlError> {
        let scheme =
            Scheme::from_name(parsed.scheme()).ok_or_else(|| UrlError::Scheme(parsed.scheme().to_owned()))?;
        let port = canonical_rules::explicit_port(scheme, parsed.port())?;
        let mut out = CanonicalUrl::empty();
        match host(parsed)? {
            Host::Domain(name) => out.start_site(scheme, canonical_rules::dns_name(&name)?, port),
            address => out.start_site(scheme, &address.to_string(), port),
        }
        let text = out.text_mut();
        let root = text.len();
        text.push('/');
        let path = canonical_rules::percent_normal_form(parsed.path());
        let segments = path.strip_prefix('/').unwrap_or(&path).split('/');
        let segments = segments.map(|segment| canonical_rules::without_path_session(self, segment));
        canonical_rules::resolve_dot_segments(text, root, segments);
        let path_end = text.len();
        canonical_rules::push_query(
            self,
            text,
            &canonical_rules::percent_normal_form(parsed.query().unwrap_or_default()),
        );
        out.finish(path_end);
        Ok(out)
    }
}

/// Parses the host as the URL standard does for HTTP. Gopher is no longer one of the standard's special schemes, so
/// the parser leaves its host as written, and it is parsed here.
fn host(parsed: &Url) -> Result<Host<String>, UrlError> {
    match parsed.host() {
        None | Some(Host::Domain("")) => Err(UrlError::NoHost),
        Some(Host::Domain(name)) if parsed.scheme() == "gopher" => Ok(Host::parse(name)?),
        Some(host) => Ok(host.to_owned()),
    }
}

/// Reduces the slashes before a host to two. The URL standard and browsers accept any number (`///example.com`), the
/// parser does not if there is no scheme before them.
fn two_slashes(scheme: Scheme, reference: &str) -> Cow<'_, str> {
    let is_slash = |c| matches!(c, '/' | '\\');
    let trimmed = reference.trim_start_matches(|c| c <= ' ');
    let rest = trimmed.trim_start_matches(is_slash);
    if scheme != Scheme::Gopher && trimmed.len() - rest.len() > 2 {
        Cow::Owned(format!("//{rest}"))
    } else {
        Cow::Borrowed(reference)
    }
}

/// Rejects links to `javascript:`, `mailto:` or `data:` by their first bytes, without reading the rest.
fn reject_other_scheme(reference: &str) -> Result<(), UrlError> {
    /// Maximum length of a scheme in the error message; no registered scheme is longer.
    const MAX_SHOWN_BYTES: usize = 32;
    let reference = reference.trim_start_matches(|c| c <= ' ');
    let is_scheme_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let length = reference.bytes().take_while(|&byte| is_scheme_byte(byte)).count();
    let name = &reference[..length];
    let is_scheme =
        reference[length..].starts_with(':') && name.starts_with(|c: char| c.is_ascii_alphabetic());
    if is_scheme && Scheme::from_name(name).is_none() {
        return Err(UrlError::Scheme(name[..length.min(MAX_SHOWN_BYTES)].to_ascii_lowercase()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(input: &str) -> Result<String, UrlError> {
        UrlRules::default().canonical(input).map(String::from)
    }

    fn join(base: &str, reference: &str) -> Result<String, UrlError> {
        let rules = UrlRules::default();
        rules.join(&rules.canonical(base).unwrap(), reference).map(String::from)
    }

    #[test]
    fn references_are_resolved() {
        let base = "http://example.com/a/b.html?q=1";
        assert_eq!(join(base, "c.html#x").unwrap(), "http://example.com/a/c.html");
        assert_eq!(join(base, "../c d").unwrap(), "http://example.com/c%20d");
        assert_eq!(join(base, "?r=2").unwrap(), "http://example.com/a/b.html?r=2");
        assert_eq!(join(base, "#top").unwrap(), base);
        assert_eq!(join(base, "").unwrap(), base);
        assert_eq!(join(base, "//other.org").unwrap(), "http://other.org/");
        assert_eq!(join(base, "///\\other.org/c").unwrap(), "http://other.org/c");
        assert_eq!(join(base, " \n/x\t/y\r ").unwrap(), "http://example.com/x/y");
        assert_eq!(join(base, " x #y ").unwrap(), "http://example.com/a/x%20");
        assert_eq!(join(base, "http:d").unwrap(), "http://example.com/a/d");
    }

    #[test]
    fn unsupported_schemes_are_named_in_the_error() {
        let scheme = |name: &str| Err(UrlError::Scheme(name.to_owned()));
        assert_eq!(canonical("javascript:void(0)"), scheme("javascript"));
        assert_eq!(canonical(" MAILTO:a@example.com"), scheme("mailto"));
        assert_eq!(canonical("data:text/html,<p>"), scheme("data"));
        assert_eq!(canonical("java\nscript:alert(1)"), scheme("javascript"));
        assert_eq!(canonical("file:///etc/passwd"), scheme("file"));
        assert_eq!(canonical("tel:+123"), scheme("tel"));
        assert_eq!(canonical("localhost:8080/a"), scheme("localhost"));
        assert_eq!(join("http://a.org/", "about:blank"), scheme("about"));
        assert_eq!(canonical(&format!("{}:", "x".repeat(100_000))), scheme(&"x".repeat(32)));
    }

    #[test]
    fn each_invalid_url_has_its_error() {
        assert_eq!(canonical(""), Err(UrlError::Relative));
        assert_eq!(canonical("example.com/a"), Err(UrlError::Relative));
        assert_eq!(canonical("http://"), Err(UrlError::NoHost));
        assert_eq!(canonical("http://./"), Err(UrlError::NoHost));
        assert_eq!(canonical("http://a..b/"), Err(UrlError::Host));
        assert_eq!(canonical("http://a.org:65536/"), Err(UrlError::Port));
        assert_eq!(canonical("http://a.org:0/"), Err(UrlError::Port));
        assert_eq!(canonical("http://a.org:8o/"), Err(UrlError::Port));
        assert_eq!(
            canonical("http://1.2.3.999/"),
            Err(UrlError::Syntax(url::ParseError::InvalidIpv4Address))
        );
        assert_eq!(canonical("http://a b/"), Err(UrlError::Syntax(url::ParseError::IdnaError)));
    }

    #[test]
    fn the_maximum_applies_to_the_canonical_length() {
        let rules = UrlRules::default();
        let of_length = |length: usize| format!("http://a.org/{}", "x".repeat(length - 13));
        assert_eq!(rules.canonical(&of_length(2048)).unwrap().as_str().len(), 2048);
        let too_long = |length_bytes| Err(UrlError::TooLong { length_bytes, max_bytes: 2048 });
        assert_eq!(rules.canonical(&of_length(2049)), too_long(2049));
        assert_eq!(rules.canonical(&of_length(100_000)), too_long(100_000));
        assert_eq!(rules.canonical(&format!("http://a.org/{}", "é".repeat(400))), too_long(13 + 2400));
        let tracked = format!("http://a.org/?utm_source={}&a=1", "x".repeat(3000));
        assert_eq!(rules.canonical(&tracked).unwrap().as_str(), "http://a.org/?a=1");
        let fragment = format!("http://a.org/#{}", "x".repeat(100_000));
        assert_eq!(rules.canonical(&fragment).unwrap().as_str(), "http://a.org/");
        let base = rules.canonical(&of_length(2000)).unwrap();
        assert_eq!(rules.join(&base, &format!("?{}", "x".repeat(48))), too_long(2049));
    }

    #[test]
    fn an_error_leaves_the_buffer_unchanged() {
        let rules = UrlRules::default();
        let base = rules.canonical("http://a.org/b").unwrap();
        let mut out = rules.canonical("http://c.org/d?e").unwrap();
        for reference in ["mailto:x", "http://[::1", &"/x".repeat(1100), &"é/".repeat(1000), "//a..b/"] {
            assert!(rules.join_into(&base, reference, &mut out).is_err(), "{reference}");
            assert_eq!((out.as_str(), out.path(), out.query()), ("http://c.org/d?e", "/d", Some("e")));
        }
    }

    #[test]
    fn gopher_and_ftp_are_canonicalised_like_http() {
        assert_eq!(canonical("FTP://Example.com:21/pub/").unwrap(), "ftp://example.com/pub/");
        assert_eq!(canonical("gopher://Bücher.Example.:70").unwrap(), "gopher://xn--bcher-kva.example/");
        assert_eq!(canonical("gopher://example.com:7070/1/a%7e").unwrap(), "gopher://example.com:7070/1/a~");
        assert_eq!(canonical("gopher://0x7f.1/").unwrap(), "gopher://127.0.0.1/");
        assert_eq!(canonical("gopher:a"), Err(UrlError::NoHost));
        assert_eq!(canonical("gopher:///a"), Err(UrlError::NoHost));
        assert_eq!(join("gopher://example.com/1/a", "../0/b").unwrap(), "gopher://example.com/0/b");
        assert_eq!(join("gopher://example.com/1/a", "//other.org").unwrap(), "gopher://other.org/");
    }

    #[test]
    fn nulls_and_replacement_characters_are_escaped_in_the_path_and_rejected_in_the_host() {
        assert_eq!(canonical("http://a.org/\0\u{fffd}").unwrap(), "http://a.org/%00%EF%BF%BD");
        assert!(matches!(canonical("http://a\u{fffd}b/"), Err(UrlError::Syntax(_))));
        assert!(matches!(canonical("http://a\0b/"), Err(UrlError::Syntax(_))));
    }

    /// Hostile URLs: special substrings mixed with arbitrary text.
    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            3 => prop::sample::select(vec![
                "http://", "https:", "HTTPS://", "ftp://", "gopher://", "//", "/", "\\", "..", "/.", "%2e", "%2E/",
                ";jsessionid=1", "?", "&", "=", "utm_source=1", "sid=0123456789abcdef0123456789abcdef", "#", "@", ":",
                ":80", ":0", "%", "%4", "%34%31", "%c3%a9", "a", "B", "é", "xn--", "example.com", ".", "127.1", "0x7f",
                "[::1]", "(S(lit3py55t21z5v55vlm25s55))", " ", "\t", "\n", "\0", "\u{fffd}", "'", "|", "ß", "。", "*",
            ]).prop_map(str::to_owned),
            1 => any::<String>(),
            1 => "[ -~]{0,6}",
        ];
        prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
    }

    fn assert_canonical(rules: &UrlRules, url: &CanonicalUrl) {
        let text = url.as_str();
        assert_eq!(rules.canonical(text).as_ref(), Ok(url));
        assert_eq!(rules.canonical_by_parser(None, text).as_ref(), Ok(url));
        assert_eq!(rules.join(url, text).as_ref(), Ok(url));
        assert!(text.is_ascii() && !text.contains(['#', '\\', ' ']) && text.len() <= 2048);
        assert!(url.path().starts_with('/') && url.query() != Some(""));
        assert_eq!(format!("{}{}", url.site(), url.path_and_query()), text);
        assert_eq!(
            format!("{}://{}", url.scheme().as_str(), url.host()),
            text[..url.site().len() - url.explicit_port().len()]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn canonical_is_idempotent(start in prop::sample::select(vec!["", "http://", "https://a.b", "gopher://a/"]),
                                   rest in hostile(), sort_query: bool) {
            let rules = UrlRules { sort_query, ..UrlRules::default() };
            if let Ok(url) = rules.canonical(&(start.to_owned() + &rest)) {
                assert_canonical(&rules, &url);
            }
        }

        #[test]
        fn join_gives_canonical_urls(scheme in prop::sample::select(vec!["http", "ftp", "gopher"]), reference in hostile()) {
            let rules = UrlRules::default();
            let base = rules.canonical(&format!("{scheme}://example.com/a/b/c.html?d=1")).unwrap();
            if let Ok(url) = rules.join(&base, &reference) {
                assert_canonical(&rules, &url);
            }
        }
    }
}
