//! Fingerprint of a front page, which is equal under all names of a site.
//!
//! A site can put a comment, the time of day, a counter or its own host name into every response. So the fingerprint covers the
//! title, the text without numbers, and the paths of links and embedded resources: two virtual hosts differ in at least one of
//! them. A page with hardly any text and links has no fingerprint; its bytes are compared.

use model::{CanonicalUrl, UrlRules};
use parse::Document;
use xxhash_rust::xxh3::Xxh3Default;

/// Minimum number of words and links of a page with a fingerprint.
const MIN_PARTS: usize = 12;

/// Fingerprint of the front page of a site; 0 for a page with too little content.
pub(crate) fn front_page_fingerprint(document: &Document, page: &CanonicalUrl, rules: &UrlRules) -> u64 {
    let mut hash = Xxh3Default::new();
    let mut parts = 0;
    hash.update(document.title.trim().as_bytes());
    for word in document.text.split_whitespace() {
        // Numbers change from one response to the next: dates, counters, durations.
        for part in word.split(|character: char| character.is_ascii_digit()).filter(|part| !part.is_empty()) {
            hash.update(part.as_bytes());
        }
        hash.update(&[0]);
        parts += 1;
    }
    document.resolve(page, rules, |resolved| {
        let Ok(url) = resolved.target else { return };
        // The query of an embedded resource is often a version or a random number.
        let path = if resolved.link.kind.leads_to_page() { url.path_and_query() } else { url.path() };
        hash.update(path.as_bytes());
        hash.update(&[0]);
        parts += 1;
    });
    if parts < MIN_PARTS { 0 } else { hash.digest() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::gather_settings::GatherSettings;

    fn fingerprint(url: &str, body: &str) -> u64 {
        let (mut document, rules) = (Document::default(), UrlRules::default());
        document.read(body.as_bytes(), Some("text/html"), None, &GatherSettings::default().options);
        front_page_fingerprint(&document, &rules.canonical(url).unwrap(), &rules)
    }

    /// Front page with a generated part, a link to another page, and a word of its own.
    fn body(generated: &str, link: &str, word: &str) -> String {
        format!(
            "<!doctype html><title>Boats and nets</title><!-- {generated} --><img src='/logo.png?{generated}'>\
             <p>We sell boats, nets and everything else that is needed on a {word}.</p>\
             <p>Visitor {generated}, 12:0{generated} h</p><a href='{link}'>Offers</a>"
        )
    }

    #[test]
    fn generated_parts_and_host_names_do_not_change_the_fingerprint() {
        let first = fingerprint("http://b.example/", &body("1", "http://b.example/offers", "lake"));
        assert_ne!(first, 0);
        for (url, body) in [
            ("http://www.b.example/", body("2", "http://www.b.example/offers", "lake")),
            ("http://www.b.example/", body("345", "http://b.example/offers", "lake")),
            ("http://b.example/", body("17", "/offers", "lake")),
        ] {
            assert_eq!(fingerprint(url, &body), first, "{url} {body}");
        }
    }

    #[test]
    fn other_texts_links_and_titles_change_the_fingerprint() {
        let first = fingerprint("http://b.example/", &body("1", "/offers", "lake"));
        let others = [
            body("1", "/offers", "river"),
            body("1", "/offers?page=2", "lake"),
            body("1", "/offers", "lake").replace("Boats", "Ships"),
            body("1", "/offers", "lake").replace("logo", "sign"),
        ];
        for other in others {
            assert_ne!(fingerprint("http://b.example/", &other), first, "{other}");
        }
        assert_eq!(fingerprint("http://b.example/", "<p>It works!</p><script src=/a.js></script>"), 0);
    }
}
