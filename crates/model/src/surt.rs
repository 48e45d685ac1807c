//! SURT keys (Sort-friendly URI Reordering Transform) of canonical URLs.

use crate::CanonicalUrl;

impl CanonicalUrl {
    /// Returns the SURT key: the labels of the host reversed, then path and query unchanged.
    ///
    /// `https://www.example.com/a?b=1` has the key `com,example,www)/a?b=1`; with a port, `com,example:8080)/`.
    ///
    /// `)` sorts before `,`, and `,` before all characters of a label. The pages of a host are therefore one
    /// contiguous range, and so are a domain and its subdomains; explicit ports sort apart. IP addresses are not
    /// reversed.
    ///
    /// The scheme is not part of the key: the `http` and `https` URLs of a page are adjacent and mostly duplicates.
    /// Two different URLs with the same key differ only in the scheme.
    ///
    /// The CDX indexes of web archives also convert the path to lower case, sort the query and strip `www.`. This key
    /// does not, because it must keep different pages apart.
    pub fn surt(&self) -> String {
        let mut key = String::with_capacity(self.as_str().len());
        self.push_surt(&mut key);
        key
    }

    /// Appends the key to `out`.
    pub fn push_surt(&self, out: &mut String) {
        if self.host_is_ip() {
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
    fn labels_are_reversed_and_path_and_query_are_unchanged() {
        assert_eq!(surt("https://www.example.com/Path?query=1"), "com,example,www)/Path?query=1");
        assert_eq!(surt("http://localhost"), "localhost)/");
        assert_eq!(surt("http://example.com:8080/"), "com,example:8080)/");
        assert_eq!(surt("ftp://example.com/pub/"), "com,example)/pub/");
    }

    #[test]
    fn ip_addresses_are_not_reversed() {
        assert_eq!(surt("http://192.168.0.1/a"), "192.168.0.1)/a");
        assert_eq!(surt("http://[2001:db8::1]:81/a"), "[2001:db8::1]:81)/a");
    }

    #[test]
    fn the_pages_of_a_host_and_its_subdomains_are_contiguous() {
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
        fn urls_with_the_same_key_differ_only_in_the_scheme(
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
