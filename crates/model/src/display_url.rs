//! Display form of a URL: Unicode host name, decoded percent-escapes.

use std::borrow::Cow;

use crate::canonical_url::CanonicalUrl;

impl CanonicalUrl {
    /// Returns the display form, used for the words of a URL in the text index.
    ///
    /// The result is not a URL: decoding may change its meaning. The text itself is borrowed if there is nothing to decode.
    pub fn readable(&self) -> Cow<'_, str> {
        let (host, rest) = (self.host(), self.path_and_query());
        let is_plain = !host.contains("xn--") && !rest.contains('%');
        if is_plain {
            return Cow::Borrowed(self.as_str());
        }
        let name = url::quirks::domain_to_unicode(host);
        let name = if name.is_empty() { host } else { &name };
        Cow::Owned(format!("{}://{name}{}", self.scheme().as_str(), unescaped(rest)))
    }
}

/// Decodes percent-escapes; invalid UTF-8 becomes U+FFFD.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let escaped = behind.first_chunk::<2>().filter(|_| *first == b'%');
        let digits = escaped.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use crate::UrlRules;

    #[test]
    fn escapes_and_a_labels_are_decoded() {
        for (url, readable) in [
            ("http://www.bücher.example:8080/Größe?q=ö%20b", "http://www.bücher.example/Größe?q=ö b"),
            ("http://a.test/100%25/%ff", "http://a.test/100%/\u{fffd}"),
            ("http://a.test/plain?x=1", "http://a.test/plain?x=1"),
            ("http://10.0.0.1/%C3%A9", "http://10.0.0.1/é"),
        ] {
            assert_eq!(UrlRules::default().canonical(url).unwrap().readable(), readable);
        }
    }
}
