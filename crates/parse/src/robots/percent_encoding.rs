//! Normalization of percent-encoding in patterns and paths.
//!
//! RFC 9309 (2.2.2) decodes unreserved characters and encodes all others before the comparison, so that `/%7Eann` and
//! `/~ann` are equal. Google's published cases compare `Allow` patterns as written, except for the case of hex digits. Both
//! are satisfied by a strict comparison for `Allow` and a normalized one for `Disallow`: under either interpretation no
//! disallowed path is fetched.

use std::borrow::Cow;

/// Degree of normalization.
#[derive(Clone, Copy)]
pub(super) struct Normalization {
    decode_unreserved: bool,
    encode_non_ascii: bool,
}

/// Full normalization, for `Disallow`.
pub(super) const FULL: Normalization = Normalization { decode_unreserved: true, encode_non_ascii: true };
/// Normalization of an `Allow` pattern: octets outside ASCII are encoded, as in a request.
pub(super) const ALLOW_PATTERN: Normalization =
    Normalization { decode_unreserved: false, encode_non_ascii: true };
/// Normalization of a path that is compared with `Allow` patterns.
pub(super) const ALLOW_PATH: Normalization =
    Normalization { decode_unreserved: false, encode_non_ascii: false };

/// Whether a byte is unchanged by every normalization. `*` and `$` are not: they are special in patterns, where `%2A` and
/// `%24` represent the characters (RFC 9309, 2.2.3).
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0x21;
    while byte < 0x7F {
        plain[byte] = !matches!(
            byte as u8,
            b'%' | b'*' | b'$' | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}'
        );
        byte += 1;
    }
    plain
};

/// Returns whether no normalization changes the path, as for most paths, and the set of its bytes.
pub(super) fn scan_bytes(path: &[u8]) -> (bool, u64) {
    path.iter().fold((true, 0), |(plain, set), &byte| (plain & PLAIN[usize::from(byte)], set | bit(byte)))
}

/// Bit of a byte in a set of bytes; several bytes share a bit.
pub(super) fn bit(byte: u8) -> u64 {
    1 << (byte & 63)
}

impl Normalization {
    /// Normalizes a path, or a part of a pattern between its stars.
    pub(super) fn apply<'a>(self, part: &'a [u8]) -> Cow<'a, [u8]> {
        if part.iter().all(|&byte| PLAIN[usize::from(byte)]) {
            return Cow::Borrowed(part);
        }
        let mut out = Vec::with_capacity(part.len() + 16);
        let mut at = 0;
        while let Some(&byte) = part.get(at) {
            at += 1;
            if byte == b'%'
                && let Some(octet) = octet(&part[at..])
            {
                at += 2;
                self.write_octet(octet, &mut out);
            } else if byte == b'%' || PLAIN[usize::from(byte)] || (byte >= 0x80 && !self.encode_non_ascii) {
                out.push(byte);
            } else {
                encode(byte, &mut out);
            }
        }
        Cow::Owned(out)
    }

    fn write_octet(self, octet: u8, out: &mut Vec<u8>) {
        let unreserved = octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_' | b'~');
        if unreserved && self.decode_unreserved { out.push(octet) } else { encode(octet, out) }
    }
}

/// Returns a value for display; bytes that are not UTF-8 are percent-encoded, which is equivalent.
pub(super) fn display_text(value: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(value) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let mut out = String::with_capacity(value.len() * 2);
            for chunk in value.utf8_chunks() {
                out.push_str(chunk.valid());
                chunk.invalid().iter().for_each(|byte| out.push_str(&format!("%{byte:02X}")));
            }
            Cow::Owned(out)
        }
    }
}

/// Parses two hex digits.
fn octet(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| digits.get(at).and_then(|&digit| char::from(digit).to_digit(16));
    u8::try_from(digit(0)? << 4 | digit(1)?).ok()
}

fn encode(octet: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    out.extend([b'%', HEX[usize::from(octet >> 4)], HEX[usize::from(octet & 15)]]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(normalization: Normalization, part: &str) -> String {
        String::from_utf8_lossy(&normalization.apply(part.as_bytes())).into_owned()
    }

    #[test]
    fn the_examples_of_rfc_9309_are_normalized() {
        assert_eq!(normalized(FULL, "/foo/bar?baz=quz"), "/foo/bar?baz=quz");
        assert_eq!(
            normalized(FULL, "/foo/bar?baz=https%3A%2F%2Ffoo.bar"),
            "/foo/bar?baz=https%3A%2F%2Ffoo.bar"
        );
        assert_eq!(normalized(FULL, "/foo/bar/\u{30C4}"), "/foo/bar/%E3%83%84");
        assert_eq!(normalized(FULL, "/foo/bar/%e3%83%84"), "/foo/bar/%E3%83%84");
        assert_eq!(normalized(FULL, "/foo/bar/%62%61%7A"), "/foo/bar/baz");
    }

    #[test]
    fn allow_patterns_are_not_decoded() {
        assert_eq!(normalized(ALLOW_PATTERN, "/%62\u{30C4}"), "/%62%E3%83%84");
        assert_eq!(normalized(ALLOW_PATH, "/%7a\u{30C4}"), "/%7A\u{30C4}");
    }

    #[test]
    fn invalid_escapes_are_unchanged() {
        assert_eq!(normalized(FULL, "/100%/%zz/%4"), "/100%/%zz/%4");
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_displayed_as_escapes() {
        assert_eq!(display_text(b"/caf\xE9\xFF/\xC3\xA9"), "/caf%E9%FF/\u{e9}");
    }
}
