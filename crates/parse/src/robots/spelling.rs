//! When are two spellings of a path the same path? Percent-encoding, for patterns and paths alike.
//!
//! RFC 9309 (2.2.2) has unreserved characters decoded and all others encoded before they are compared, so that
//! `/%7Eann` and `/~ann` are one path. Google's published cases want the contrary of an `Allow`: the path as it
//! is written, only the case of hex digits set aside. Both are kept by reading strictly where it opens a site and
//! widely where it closes one, so that no reading of a file by its author is ever overstepped.

use std::borrow::Cow;

/// How much of the spelling is set aside.
#[derive(Clone, Copy)]
pub(super) struct Spelling {
    decode_unreserved: bool,
    encode_non_ascii: bool,
}

/// Any spelling of a path, for what is forbidden.
pub(super) const ANY: Spelling = Spelling { decode_unreserved: true, encode_non_ascii: true };
/// A pattern that allows: octets beyond ASCII are written as their percent-encoding in a request.
pub(super) const ALLOW_PATTERN: Spelling = Spelling { decode_unreserved: false, encode_non_ascii: true };
/// A path that something is to allow.
pub(super) const ALLOW_PATH: Spelling = Spelling { decode_unreserved: false, encode_non_ascii: false };

/// Whether a byte stands for itself in every spelling. `*` and `$` do not: they are special in patterns, where
/// `%2A` and `%24` stand for the characters (RFC 9309, 2.2.3).
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

/// Whether the path is the same in every spelling, as most are; and the set of its bytes.
pub(super) fn survey(path: &[u8]) -> (bool, u64) {
    path.iter().fold((true, 0), |(plain, set), &byte| (plain & PLAIN[usize::from(byte)], set | bit(byte)))
}

/// The place of a byte in a set of bytes; some share one.
pub(super) fn bit(byte: u8) -> u64 {
    1 << (byte & 63)
}

impl Spelling {
    /// Writes a path, or a part of a pattern between its stars, in this spelling.
    pub(super) fn write<'a>(self, part: &'a [u8]) -> Cow<'a, [u8]> {
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

/// A value as people may read it; bytes that are not UTF-8 become their percent-encoding, which means the same.
pub(super) fn readable(value: &[u8]) -> Cow<'_, str> {
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

/// The octet that two hex digits stand for.
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

    fn written(spelling: Spelling, part: &str) -> String {
        String::from_utf8_lossy(&spelling.write(part.as_bytes())).into_owned()
    }

    #[test]
    fn the_examples_of_rfc_9309_hold() {
        assert_eq!(written(ANY, "/foo/bar?baz=quz"), "/foo/bar?baz=quz");
        assert_eq!(written(ANY, "/foo/bar?baz=https%3A%2F%2Ffoo.bar"), "/foo/bar?baz=https%3A%2F%2Ffoo.bar");
        assert_eq!(written(ANY, "/foo/bar/\u{30C4}"), "/foo/bar/%E3%83%84");
        assert_eq!(written(ANY, "/foo/bar/%e3%83%84"), "/foo/bar/%E3%83%84");
        assert_eq!(written(ANY, "/foo/bar/%62%61%7A"), "/foo/bar/baz");
    }

    #[test]
    fn a_spelling_that_allows_keeps_what_is_encoded() {
        assert_eq!(written(ALLOW_PATTERN, "/%62\u{30C4}"), "/%62%E3%83%84");
        assert_eq!(written(ALLOW_PATH, "/%7a\u{30C4}"), "/%7A\u{30C4}");
    }

    #[test]
    fn broken_escapes_stay_as_they_are() {
        assert_eq!(written(ANY, "/100%/%zz/%4"), "/100%/%zz/%4");
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_readable_as_escapes() {
        assert_eq!(readable(b"/caf\xE9\xFF/\xC3\xA9"), "/caf%E9%FF/\u{e9}");
    }
}
