//! Suggestions for unknown sites and mistyped URLs.

use model::{SiteId, UrlError};
use store::Snapshot;

use crate::error::Error;

/// Maximum number of sites in a suggestion.
const MAX_SUGGESTIONS: usize = 3;

/// Text with the known sites of the same host, of any scheme and port; `None` if there are none. `input` may be a URL, a site or
/// a host.
pub fn suggest_sites(snapshot: &Snapshot, input: &str) -> Option<String> {
    let input_host = host(input);
    let names = (0..snapshot.site_state.sites()).filter_map(|site| snapshot.urls.site_name(SiteId(site)));
    let sites: Vec<&str> =
        names.filter(|name| host(name).eq_ignore_ascii_case(input_host)).take(MAX_SUGGESTIONS).collect();
    (!sites.is_empty()).then(|| format!("known sites of this host: {}", sites.join(", ")))
}

/// Error for an argument that is not a URL, with an example.
pub fn invalid_url_error(snapshot: &Snapshot, input: &str, error: UrlError) -> Error {
    let example = match error {
        UrlError::Relative | UrlError::Scheme(_) if input.contains('.') => format!("https://{input}"),
        _ => "https://example.org/news/".to_owned(),
    };
    let known = suggest_sites(snapshot, input).map_or_else(String::new, |known| format!("; {known}"));
    Error::InvalidUrl { input: input.to_owned(), error, example, known }
}

/// Host of a URL or of a part of one, without scheme, port and path.
fn host(text: &str) -> &str {
    let after_scheme = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = after_scheme.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.rsplit_once(':') {
        // The last part of an IPv6 address is not a port.
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !host.ends_with(':') => host,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_found_in_urls_and_parts_of_urls() {
        let cases = [
            ("http://a.test:8080/b", "a.test"),
            ("a.test", "a.test"),
            ("a.test:80", "a.test"),
            ("a.test/b:1", "a.test"),
            ("https://a.test?x", "a.test"),
            ("http://[::1]:80/", "[::1]"),
            ("http://[::1]/", "[::1]"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(host(text), expected, "{text}");
        }
    }
}
