//! Prescan for the encoding that a document declares: meta elements (HTML standard, 13.2.3.2), then the XML declaration.

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

use super::charset_parameter;
use super::declarable;
use super::encoding_for_label;

/// Number of bytes that are scanned. The standard requires 1,024, but browsers also restart when they find a later
/// declaration, and html5lib's cases have one after a comment of 8 KiB.
const PRESCAN_BYTES: usize = 16 * 1024;

/// Returns the encoding that a meta element declares, or else the XML declaration.
pub(super) fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let bytes = &bytes[..bytes.len().min(PRESCAN_BYTES)];
    Prescan { rest: bytes }.run().or_else(|| xml_declared(bytes))
}

/// Returns the encoding in `<?xml version="1.0" encoding="..."?>`, or UTF-16 if the declaration itself is in UTF-16.
pub(super) fn xml_declared(bytes: &[u8]) -> Option<&'static Encoding> {
    if bytes.starts_with(b"<\0?\0x\0") {
        return Some(UTF_16LE);
    }
    if bytes.starts_with(b"\0<\0?\0x") {
        return Some(UTF_16BE);
    }
    let declaration = bytes.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..memchr::memchr(b'>', declaration)?];
    let at = memchr::memmem::find(declaration, b"encoding")?;
    let value = declaration[at + 8..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let quote = *value.first().filter(|quote| matches!(quote, b'"' | b'\''))?;
    let label = &value[1..][..memchr::memchr(quote, &value[1..])?];
    encoding_for_label(label).map(declarable)
}

/// State of the scan. Every step returns `None` at the end of the bytes, which ends the scan.
struct Prescan<'a> {
    rest: &'a [u8],
}

impl<'a> Prescan<'a> {
    fn run(&mut self) -> Option<&'static Encoding> {
        loop {
            self.skip(memchr::memchr(b'<', self.rest)?);
            match self.rest {
                [b'<', b'!', b'-', b'-', ..] => {
                    // The hyphens of `<!--` may also be part of `-->`.
                    self.skip(2);
                    self.skip(memchr::memmem::find(self.rest, b"-->")? + 3);
                }
                [b'<', b'!' | b'?', ..] => self.skip_beyond_tag()?,
                [b'<', b'/', letter, ..] if letter.is_ascii_alphabetic() => self.skip_tag()?,
                [b'<', b'/', ..] => self.skip_beyond_tag()?,
                [b'<', letter, ..] if letter.is_ascii_alphabetic() => {
                    if self.at_meta() {
                        self.skip(5);
                        if let Some(encoding) = self.meta()? {
                            return Some(encoding);
                        }
                    } else {
                        self.skip_tag()?;
                    }
                }
                _ => self.skip(1),
            }
        }
    }

    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    fn skip_beyond_tag(&mut self) -> Option<()> {
        self.skip(memchr::memchr(b'>', self.rest)? + 1);
        Some(())
    }

    /// Skips a tag with its attributes: a `>` in a quoted value does not end it.
    fn skip_tag(&mut self) -> Option<()> {
        let end = self.rest.iter().position(|&byte| byte.is_ascii_whitespace() || byte == b'>')?;
        self.skip(end);
        while self.attribute()?.is_some() {}
        Some(())
    }

    fn at_meta(&self) -> bool {
        let Some((name, after)) = self.rest.split_at_checked(5) else { return false };
        name.eq_ignore_ascii_case(b"<meta")
            && after.first().is_some_and(|&b| b.is_ascii_whitespace() || b == b'/')
    }

    /// Reads the attributes of a meta element; `None` at the end of the bytes, otherwise the encoding that it declares, if any.
    fn meta(&mut self) -> Option<Option<&'static Encoding>> {
        let (mut pragma, mut content, mut charset) = (None, None, None);
        while let Some((name, value)) = self.attribute()? {
            // The first of repeated attributes counts.
            if name.eq_ignore_ascii_case(b"http-equiv") {
                pragma.get_or_insert(value.eq_ignore_ascii_case(b"content-type"));
            } else if name.eq_ignore_ascii_case(b"content") {
                content.get_or_insert(value);
            } else if name.eq_ignore_ascii_case(b"charset") {
                charset.get_or_insert(value);
            }
        }
        let encoding = match (charset, content) {
            (Some(label), _) => encoding_for_label(label),
            (None, Some(content)) if pragma == Some(true) => charset_parameter(content),
            _ => None,
        };
        Some(encoding.map(declarable))
    }

    /// Returns the next attribute of a tag; `None` at the end of the bytes, `Some(None)` at the end of the tag.
    fn attribute(&mut self) -> Option<Option<(&'a [u8], &'a [u8])>> {
        let start = self.rest.iter().position(|&byte| !byte.is_ascii_whitespace() && byte != b'/')?;
        self.skip(start);
        if self.rest.first() == Some(&b'>') {
            self.skip(1);
            return Some(None);
        }
        // A leading equals sign is part of the name.
        let ends_name = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>' | b'=');
        let name = &self.rest[..1 + self.rest.get(1..)?.iter().position(ends_name)?];
        self.skip(name.len());
        let after = self.rest.trim_ascii_start();
        match after.first()? {
            b'=' => self.rest = after[1..].trim_ascii_start(),
            _ => return Some(Some((name, b""))),
        }
        let value = match self.rest.first()? {
            &quote @ (b'"' | b'\'') => {
                self.skip(1);
                let value = &self.rest[..memchr::memchr(quote, self.rest)?];
                self.skip(value.len() + 1);
                return Some(Some((name, value)));
            }
            _ => &self.rest[..self.rest.iter().position(|&b| b.is_ascii_whitespace() || b == b'>')?],
        };
        self.skip(value.len());
        Some(Some((name, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Option<&'static str> {
        declared(text.as_bytes()).map(Encoding::name)
    }

    #[test]
    fn an_xml_declaration_applies_without_a_meta_element() {
        assert_eq!(name("<?xml version='1.0' encoding = \"koi8-r\" ?><feed>"), Some("KOI8-R"));
        assert_eq!(name("<?xml version='1.0' encoding='koi8-r'?><meta charset=big5>"), Some("Big5"));
        assert_eq!(name("<?xml version='1.0' encoding='utf-16'?>"), Some("UTF-8"));
        assert_eq!(name("<?xml version='1.0' encoding='koi8-r"), None);
        assert_eq!(declared(b"<\0?\0x\0m\0l\0"), Some(UTF_16LE));
    }

    #[test]
    fn an_unknown_label_is_ignored_and_the_next_one_applies() {
        assert_eq!(name("<meta charset=nonsense><meta charset=x-user-defined>"), Some("windows-1252"));
    }

    #[test]
    fn declarations_beyond_the_limit_are_ignored() {
        assert_eq!(name(&format!("{}<meta charset=big5>", " ".repeat(PRESCAN_BYTES))), None);
    }
}
