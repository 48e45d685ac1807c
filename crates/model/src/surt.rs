//! In which order do the pages of a host lie together, and its subdomains beside their domain?

use crate::CanonicalUrl;

impl CanonicalUrl {
    /// The sort-friendly key (SURT, as in web archives): the host's labels reversed, then path and query as they
    /// are: `https://www.example.com/a?b=1` has `com,example,www)/a?b=1`, with a port `com,example:8080)/`.
    ///
    /// `)` sorts before `,` and that before all that a label may hold, so a host's pages are one run, and a domain
    /// with all its subdomains is another (ports other than the scheme's own lie apart). IP addresses are not reversed.
    ///
    /// The scheme is no part of it: `http` and `https` of a page are neighbours, mostly duplicates of each other.
    /// Two different URLs with one key differ in the scheme and nowhere else; order those by their text.
    ///
    /// Indexes of web archives (CDX) also lower the path, sort the query and strip `www.`; this key does not,
    /// for it must tell pages apart.
    pub fn surt(&self) -> String {
        let mut key = String::with_capacity(self.as_str().len());
        self.push_surt(&mut key);
        key
    }

    /// Appends the key to `out`.
    pub fn push_surt(&self, out: &mut String) {
        if self.host_is_address() {
            out.push_str(self.host());
        } else {
            for (nth, label) in self.host().rsplit('.').enumerate() {
                if nth > 0 {
                    out.push(',');
                }
                out.push_str(label);
            }
        }
        out.push_str(self.explicit_port());
        out.push(')');
        out.push_str(self.path_and_query());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::UrlRules;

    fn surt(url: &str) -> String {
        UrlRules::default().canonical(url).unwrap().surt()
    }

    #[test]
    fn labels_are_reversed_and_the_rest_is_kept() {
        assert_eq!(surt("https://www.example.com/Path?query=1"), "com,example,www)/Path?query=1");
        assert_eq!(surt("http://localhost"), "localhost)/");
        assert_eq!(surt("http://example.com:8080/"), "com,example:8080)/");
        assert_eq!(surt("ftp://example.com/pub/"), "com,example)/pub/");
    }

    #[test]
    fn addresses_are_not_reversed() {
        assert_eq!(surt("http://192.168.0.1/a"), "192.168.0.1)/a");
        assert_eq!(surt("http://[2001:db8::1]:81/a"), "[2001:db8::1]:81)/a");
    }

    #[test]
    fn a_host_and_then_its_subdomains_lie_together() {
        let in_order = [
            "http://example.com/",
            "http://example.com/~zebra",
            "http://a.example.com/",
            "http://www.example.com/",
            "http://example-a.com/",
            "http://example0.com/",
            "http://example.com:8080/",
            "http://examples.com/",
            "http://example.org/",
        ];
        let keys: Vec<_> = in_order.into_iter().map(surt).collect();
        assert!(keys.is_sorted(), "{keys:?}");
    }

    proptest! {
        #[test]
        fn one_key_means_one_url_but_for_its_scheme(
            a in "https?://[ab1]{1,2}(\\.[ab]){0,2}(:8[01])?/[ab,):]{0,3}(\\?[ab)])?",
            b in "https?://[ab1]{1,2}(\\.[ab]){0,2}(:8[01])?/[ab,):]{0,3}(\\?[ab)])?",
        ) {
            let rules = UrlRules::default();
            if let (Ok(a), Ok(b)) = (rules.canonical(&a), rules.canonical(&b)) {
                let after_scheme = |url: &str| url.split_once("://").unwrap().1.to_owned();
                prop_assert_eq!(a.surt() == b.surt(), after_scheme(a.as_str()) == after_scheme(b.as_str()));
            }
        }
    }
}
