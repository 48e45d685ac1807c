//! Which site did somebody mean who named one that the collection does not know?

use model::{Rejected, SiteId};
use store::Snapshot;

use crate::error::Error;

/// Sites that are named in a suggestion.
const MOST: usize = 3;

/// A sentence with the known sites of the same host, whatever their scheme and port; none if there is none. `meant` may be
/// a URL, a site or a host.
pub fn suggest_sites(snapshot: &Snapshot, meant: &str) -> Option<String> {
    let wanted = host(meant);
    let names = (0..snapshot.sites.sites()).filter_map(|site| snapshot.urls.site_name(SiteId(site)));
    let found: Vec<&str> = names.filter(|name| host(name).eq_ignore_ascii_case(wanted)).take(MOST).collect();
    (!found.is_empty()).then(|| format!("of this host the collection knows {}", found.join(", ")))
}

/// What to type instead of something that is no URL.
pub fn mistyped_url(snapshot: &Snapshot, input: &str, rejected: Rejected) -> Error {
    let example = match rejected {
        Rejected::Relative if input.contains('.') => format!("https://{input}"),
        _ => "https://example.org/news/".to_owned(),
    };
    let known = suggest_sites(snapshot, input).map_or_else(String::new, |known| format!("; {known}"));
    Error::NoUrl { input: input.to_owned(), rejected, example, known }
}

/// The host in a URL, or in what is left of one: without scheme, port and path.
fn host(text: &str) -> &str {
    let behind_scheme = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = behind_scheme.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.rsplit_once(':') {
        // The last part of an IPv6 address is no port.
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !host.ends_with(':') => host,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_in_whatever_was_typed() {
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
