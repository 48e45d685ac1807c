//! Header of a WARC record: a version line and named fields, parsed leniently.

use model::printable_line;

/// Header fields of a record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WarcHeader {
    /// Names and values in their order; names as written.
    pub fields: Vec<(String, String)>,
}

/// Type of a record (WARC 1.1, section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WarcType {
    /// Description of the file.
    Warcinfo,
    /// Response of a server.
    Response,
    /// Request of the crawler.
    Request,
    /// Content without protocol information.
    Resource,
    /// Metadata of another record.
    Metadata,
    /// Capture whose payload is in another record.
    Revisit,
    /// Content of another record in another format.
    Conversion,
    /// Continuation of a segmented record.
    Continuation,
    /// Type that the standard does not define.
    Other,
}

const TYPES: &[(&str, WarcType)] = &[
    ("warcinfo", WarcType::Warcinfo),
    ("response", WarcType::Response),
    ("request", WarcType::Request),
    ("resource", WarcType::Resource),
    ("metadata", WarcType::Metadata),
    ("revisit", WarcType::Revisit),
    ("conversion", WarcType::Conversion),
    ("continuation", WarcType::Continuation),
];

impl WarcType {
    /// Value of WARC-Type.
    pub fn as_str(self) -> &'static str {
        TYPES.iter().find(|(_, known)| *known == self).map_or("other", |(name, _)| name)
    }
}

/// Maximum size of a header.
pub(crate) const MAX_HEADER_BYTES: usize = 1 << 16;

impl WarcHeader {
    /// Value of the first field of this name, case-insensitive.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        fields.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Parsed value of WARC-Type.
    pub fn warc_type(&self) -> WarcType {
        let name = self.get("WARC-Type").unwrap_or_default();
        let known = TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map_or(WarcType::Other, |(_, warc_type)| *warc_type)
    }

    /// WARC-Target-URI without the angle brackets that some versions of Wget write around it.
    pub fn url(&self) -> Option<&str> {
        let url = self.get("WARC-Target-URI")?;
        Some(url.strip_prefix('<').and_then(|url| url.strip_suffix('>')).unwrap_or(url))
    }

    /// WARC-Date in Unix milliseconds.
    pub fn date_ms(&self) -> Option<i64> {
        crate::date::parse_date(self.get("WARC-Date")?)
    }

    /// Size of the block in bytes.
    pub fn content_length(&self) -> Option<u64> {
        self.get("Content-Length")?.trim().parse().ok()
    }

    /// Appends a field.
    pub fn push(&mut self, name: &str, value: impl Into<String>) {
        self.fields.push((name.to_owned(), value.into()));
    }

    /// Parses the header at the start of `bytes`. Returns its size too, with the empty line that ends it.
    pub fn parse(bytes: &[u8]) -> Result<(WarcHeader, usize), String> {
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
        Err("the header has no empty line at its end".to_owned())
    }

    fn add_line(&mut self, line: &str) -> Result<(), String> {
        if line.starts_with([' ', '\t']) {
            let (_, value) = self.fields.last_mut().ok_or("the header begins with a continuation line")?;
            value.push(' ');
            value.push_str(line.trim());
            return Ok(());
        }
        let (name, value) =
            line.split_once(':').ok_or_else(|| format!("`{}` is not a header field", excerpt(line)))?;
        // Only space and tab: a URL may end with a character that Unicode defines as white space.
        self.push(name.trim(), value.trim_matches([' ', '\t']));
        Ok(())
    }

    /// Header as it is written to a file, with the empty line.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    /// Appends the header as it is written to a file, with the empty line.
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
    Err(format!("expected `WARC/1.1` at the start of a record, found `{}`", excerpt(line)))
}

/// First characters of a line, printable, for an error message.
fn excerpt(line: &str) -> String {
    const MAX_BYTES: usize = 60;
    printable_line(&line[..line.floor_char_boundary(MAX_BYTES)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_header_is_parsed_again() {
        let mut header = WarcHeader::default();
        header.push("WARC-Type", "response");
        header.push("Content-Length", "7");
        let mut bytes = Vec::new();
        header.write(&mut bytes);
        let length = bytes.len();
        bytes.extend_from_slice(b"payload");
        assert_eq!(WarcHeader::parse(&bytes), Ok((header.clone(), length)));
        assert_eq!((header.warc_type(), header.content_length()), (WarcType::Response, Some(7)));
    }

    #[test]
    fn headers_of_other_writers_are_parsed() {
        let text = b"WARC/0.18\nwarc-type:  REVISIT\nWARC-Target-URI: <http://a/>\nX: one\n\ttwo\n\n";
        let (header, length) = WarcHeader::parse(text).unwrap();
        assert_eq!(
            (header.warc_type(), header.url(), length),
            (WarcType::Revisit, Some("http://a/"), text.len())
        );
        assert_eq!(header.get("x"), Some("one two"));
    }

    #[test]
    fn an_invalid_header_is_rejected_with_its_cause() {
        let endless = [b"WARC/1.1\r\n".as_slice(), &b"a: b\r\n".repeat(20_000)].concat();
        let cases: [(&[u8], &str); 5] = [
            (b"<!doctype html>\n", "found `<!doctype html>`"),
            (b"", "found ``"),
            (b"WARC/1.1\r\nWARC-Type: response\r\n", "no empty line"),
            (b"WARC/1.1\r\nnonsense\r\n\r\n", "`nonsense` is not a header field"),
            (&endless, "longer than"),
        ];
        for (bytes, expected) in cases {
            let error = WarcHeader::parse(bytes).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
