//! Document type declarations: name, public and system identifier, quirks mode.

use super::characters::{Characters, Rules};

/// A document type declaration.
#[derive(Debug, Clone, Copy, Default)]
pub struct Doctype<'a> {
    /// The name, as written.
    pub raw_name: Option<&'a str>,
    raw_public: Option<&'a str>,
    raw_system: Option<&'a str>,
    /// Whether the declaration leads to quirks mode.
    pub quirks: bool,
}

impl<'a> Doctype<'a> {
    /// The public identifier.
    pub fn public_id(&self) -> Option<Characters<'a>> {
        self.raw_public.map(|raw| Characters::new(raw, Rules::Literal))
    }

    /// The system identifier.
    pub fn system_id(&self) -> Option<Characters<'a>> {
        self.raw_system.map(|raw| Characters::new(raw, Rules::Literal))
    }

    /// The name in lower case.
    pub fn name(&self) -> Option<String> {
        self.raw_name.map(|raw| Characters::new(raw, Rules::Literal).decoded().to_ascii_lowercase())
    }

    /// Parses the text after `<!DOCTYPE`; also returns its length, including the `>`.
    pub(super) fn read(rest: &'a str) -> (Doctype<'a>, usize) {
        let mut reader = Reader { rest, at: 0 };
        let mut doctype = Doctype::default();
        let complete = reader.doctype(&mut doctype).is_some();
        if !complete {
            doctype.quirks = true;
        }
        // Text between the last valid part and the `>` is ignored.
        let end = rest[reader.at..].find('>').map_or(rest.len(), |offset| reader.at + offset + 1);
        (doctype, end)
    }
}

struct Reader<'a> {
    rest: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    /// Parses the declaration; `None` as soon as it is invalid or incomplete.
    fn doctype(&mut self, doctype: &mut Doctype<'a>) -> Option<()> {
        self.skip_space();
        if self.peek()? == b'>' {
            return None;
        }
        doctype.raw_name = Some(self.take_until(|byte| byte == b'>' || byte.is_ascii_whitespace()));
        self.skip_space();
        if self.peek()? == b'>' {
            return Some(());
        }
        if self.keyword("public") {
            doctype.raw_public = Some(self.quoted(&mut doctype.quirks)?);
            self.skip_space();
            if matches!(self.peek()?, b'"' | b'\'') {
                doctype.raw_system = Some(self.quoted(&mut doctype.quirks)?);
            }
        } else if self.keyword("system") {
            doctype.raw_system = Some(self.quoted(&mut doctype.quirks)?);
        } else {
            return None;
        }
        self.skip_space();
        match self.peek()? {
            b'>' => Some(()),
            // Other text is allowed after a system identifier, not after a public one.
            _ if doctype.raw_system.is_some() => Some(()),
            _ => None,
        }
    }

    /// Parses a quoted identifier. An identifier that ends at `>` or at the end of the page counts, but leads to quirks mode.
    fn quoted(&mut self, quirks: &mut bool) -> Option<&'a str> {
        self.skip_space();
        let quote = self.peek().filter(|byte| matches!(byte, b'"' | b'\''))?;
        self.at += 1;
        let text = self.take_until(|byte| byte == quote || byte == b'>');
        if self.peek() == Some(quote) {
            self.at += 1;
        } else {
            *quirks = true;
        }
        Some(text)
    }

    fn keyword(&mut self, word: &str) -> bool {
        let found = self.rest.as_bytes()[self.at..]
            .get(..word.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()));
        if found {
            self.at += word.len();
        }
        found
    }

    fn take_until(&mut self, stop: impl Fn(u8) -> bool) -> &'a str {
        let rest = &self.rest[self.at..];
        let length = rest.bytes().position(stop).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn skip_space(&mut self) {
        self.take_until(|byte| !byte.is_ascii_whitespace());
    }

    fn peek(&self) -> Option<u8> {
        self.rest.as_bytes().get(self.at).copied()
    }
}
