//! What does a WARC header say? A version line and named fields, read with tolerance for what other writers do.

/// The fields of a record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WarcHeader {
    /// In their order, names as written.
    pub fields: Vec<(String, String)>,
}

/// What a record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WarcKind {
    /// About the file.
    Warcinfo,
    /// What a server answered.
    Response,
    /// What it was asked.
    Request,
    /// A resource without its protocol.
    Resource,
    /// Something about another record.
    Metadata,
    /// The content was seen before.
    Revisit,
    /// Another form of another record.
    Conversion,
    /// More of another record.
    Continuation,
    /// Of a kind that the standard does not name.
    Other,
}

const KINDS: &[(&str, WarcKind)] = &[
    ("warcinfo", WarcKind::Warcinfo),
    ("response", WarcKind::Response),
    ("request", WarcKind::Request),
    ("resource", WarcKind::Resource),
    ("metadata", WarcKind::Metadata),
    ("revisit", WarcKind::Revisit),
    ("conversion", WarcKind::Conversion),
    ("continuation", WarcKind::Continuation),
];

impl WarcKind {
    /// As WARC-Type names it.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("other", |(name, _)| name)
    }
}

/// No header is longer.
pub(crate) const MAX_HEADER_BYTES: usize = 1 << 16;

impl WarcHeader {
    /// The value of the first field of this name, in whichever case.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        fields.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// WARC-Type.
    pub fn kind(&self) -> WarcKind {
        let name = self.get("WARC-Type").unwrap_or_default();
        let known = KINDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map_or(WarcKind::Other, |(_, kind)| *kind)
    }

    /// WARC-Target-URI, without the angle brackets that some versions of Wget put around it.
    pub fn url(&self) -> Option<&str> {
        let url = self.get("WARC-Target-URI")?;
        Some(url.strip_prefix('<').and_then(|url| url.strip_suffix('>')).unwrap_or(url))
    }

    /// WARC-Date in Unix milliseconds.
    pub fn date_ms(&self) -> Option<i64> {
        super::parse_date(self.get("WARC-Date")?)
    }

    /// How long the block is.
    pub fn content_length(&self) -> Option<u64> {
        self.get("Content-Length")?.trim().parse().ok()
    }

    pub(crate) fn push(&mut self, name: &str, value: impl Into<String>) {
        self.fields.push((name.to_owned(), value.into()));
    }

    /// Reads the header at the start of `bytes`, and says how long it is with the empty line behind it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<(WarcHeader, usize), String> {
        let mut header = WarcHeader::default();
        let mut at = 0;
        while let Some(length) = bytes[at..].iter().take(MAX_HEADER_BYTES).position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&bytes[at..at + length]);
            let line = line.trim_end_matches('\r');
            let first = at == 0;
            at += length + 1;
            if first {
                expect_version(line)?;
            } else if line.is_empty() {
                return Ok((header, at));
            } else {
                header.add_line(line)?;
            }
            if at > MAX_HEADER_BYTES {
                return Err(format!("the header is longer than {MAX_HEADER_BYTES} bytes"));
            }
        }
        expect_version(&String::from_utf8_lossy(&bytes[..bytes.len().min(80)]))?;
        Err("the header has no end".to_owned())
    }

    fn add_line(&mut self, line: &str) -> Result<(), String> {
        if line.starts_with([' ', '\t']) {
            let (_, value) = self.fields.last_mut().ok_or("the header starts with a continued line")?;
            value.push(' ');
            value.push_str(line.trim());
            return Ok(());
        }
        let (name, value) = line.split_once(':').ok_or_else(|| format!("`{}` is no field", shown(line)))?;
        // Not other white space: a URL may end with what Unicode takes for such.
        self.push(name.trim(), value.trim_matches([' ', '\t']));
        Ok(())
    }

    /// As it stands in the file, with the empty line.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"WARC/1.1\r\n");
        for (name, value) in &self.fields {
            for part in [name, ": ", value, "\r\n"] {
                out.extend_from_slice(part.as_bytes());
            }
        }
        out.extend_from_slice(b"\r\n");
    }
}

fn expect_version(line: &str) -> Result<(), String> {
    if line.starts_with("WARC/") {
        return Ok(());
    }
    Err(format!("a record should begin with `WARC/1.1`, but here is `{}`", shown(line)))
}

/// The beginning of a line, fit for a message.
fn shown(line: &str) -> String {
    line.chars().take(60).map(|char| if char.is_control() { '.' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut header = WarcHeader::default();
        header.push("WARC-Type", "response");
        header.push("Content-Length", "7");
        let mut bytes = Vec::new();
        header.write(&mut bytes);
        let length = bytes.len();
        bytes.extend_from_slice(b"payload");
        assert_eq!(WarcHeader::parse(&bytes), Ok((header.clone(), length)));
        assert_eq!((header.kind(), header.content_length()), (WarcKind::Response, Some(7)));
    }

    #[test]
    fn liberties_of_other_writers_are_understood() {
        let text = b"WARC/0.18\nwarc-type:  REVISIT\nWARC-Target-URI: <http://a/>\nX: one\n\ttwo\n\n";
        let (header, length) = WarcHeader::parse(text).unwrap();
        assert_eq!((header.kind(), header.url(), length), (WarcKind::Revisit, Some("http://a/"), text.len()));
        assert_eq!(header.get("x"), Some("one two"));
    }

    #[test]
    fn what_is_no_header_is_refused_with_the_reason() {
        let endless = [b"WARC/1.1\r\n".as_slice(), &b"a: b\r\n".repeat(20_000)].concat();
        let cases: [(&[u8], &str); 5] = [
            (b"<!doctype html>\n", "here is `<!doctype html>`"),
            (b"", "here is ``"),
            (b"WARC/1.1\r\nWARC-Type: response\r\n", "no end"),
            (b"WARC/1.1\r\nnonsense\r\n\r\n", "`nonsense` is no field"),
            (&endless, "longer than"),
        ];
        for (bytes, expected) in cases {
            let error = WarcHeader::parse(bytes).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
