//! Lenient reader of HTTP response heads: heads from archives and broken servers are often malformed.

use std::borrow::Cow;

use model::header_values;
use parse::parse_date;

/// Status line and header fields, as received.
#[derive(Debug, Clone, Copy)]
pub struct HttpHead<'h>(pub &'h [u8]);

/// Longer values are ignored.
const MAX_VALUE_BYTES: usize = 8 << 10;

impl<'h> HttpHead<'h> {
    /// Status code; `None` if the first line is not a status line.
    pub fn status(self) -> Option<u16> {
        let line = self.0.split(|byte| *byte == b'\n').next()?;
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        words.next().filter(|version| version.len() >= 5 && version[..5].eq_ignore_ascii_case(b"HTTP/"))?;
        let code = std::str::from_utf8(words.next()?).ok()?;
        code.parse().ok().filter(|status| (100..1000).contains(status))
    }

    /// HTTP version, such as `1.1` or `2`.
    pub fn version(self) -> Option<&'h str> {
        let line = self.0.split(u8::is_ascii_whitespace).next()?;
        std::str::from_utf8(line.get(5..).filter(|version| (1..=3).contains(&version.len()))?).ok()
    }

    /// Values of all fields with a name.
    pub fn values(self, name: &str) -> impl Iterator<Item = Cow<'h, str>> {
        header_values(self.0, name).filter(|value| value.len() <= MAX_VALUE_BYTES).map(text)
    }

    /// First non-empty value of a field.
    pub fn value(self, name: &str) -> Option<Cow<'h, str>> {
        self.values(name).find(|value| !value.is_empty())
    }

    /// Delay of `Retry-After`, in seconds or as a date. A date counts from the `Date` of the server, so that a wrong server
    /// clock does not matter, or from `now_s` without one.
    pub fn retry_after_ms(self, now_s: u32) -> Option<u64> {
        let value = self.value("Retry-After")?;
        let seconds = match value.trim().parse::<u64>() {
            Ok(seconds) => seconds,
            Err(_) => {
                let until_s = parse_date(&value)?;
                let now_s = self.value("Date").and_then(|date| parse_date(&date)).unwrap_or(i64::from(now_s));
                u64::try_from(until_s.saturating_sub(now_s)).unwrap_or(0)
            }
        };
        Some(seconds.saturating_mul(1_000))
    }

    /// Values of all fields with a name, joined by commas.
    pub fn joined(self, name: &str) -> String {
        self.values(name).collect::<Vec<_>>().join(",")
    }
}

/// Decodes as UTF-8, or else as Latin-1, the historical charset of HTTP header fields.
fn text(value: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(value) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(value.iter().map(|&byte| char::from(byte)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use warc::{Capture, RecordEncoder, WarcRecord};

    use super::*;

    /// Head of the WARC record in which a response is stored.
    fn stored_head(head: &[u8], body: &[u8]) -> Vec<u8> {
        let capture = Capture {
            url: "http://a.example/",
            fetched_at_ms: 0,
            ip_address: None,
            protocols: &[],
            head,
            body,
            truncated: None,
            request: None,
            metadata: &[],
        };
        let encoded = RecordEncoder::new(1).encode(&capture).unwrap();
        let record = warc::gunzip(encoded.response(), Path::new("test"), 0).unwrap();
        WarcRecord::parse(record).unwrap().head().to_vec()
    }

    proptest! {
        #[test]
        fn every_received_header_line_is_stored(
            lines in prop::collection::vec(
                prop_oneof![
                    "[ \t\r\u{b}\u{c}\0]{1,3}",
                    "[ \t]?[!-~]{0,6} ?:[ -~]{0,6}",
                    "(X-Robots-Tag|ETag|Content-Encoding|Content-Length|Transfer-Encoding) ?: ?[a-z0-9]{1,6}",
                ],
                0..8,
            ),
            line_end in prop_oneof!["\r\n", "\n"],
            split_at in 0..40_usize,
        ) {
            let lines: Vec<_> = lines.into_iter().filter(|line| line != "\r").collect();
            let head = format!("HTTP/1.1 200 OK{line_end}{}{line_end}", lines.iter().map(|line| format!("{line}{line_end}")).collect::<String>());
            let sent = format!("{head}abc");
            let split_at = split_at.min(head.len());
            let response = fetch::parse_response([&sent.as_bytes()[..split_at], &sent.as_bytes()[split_at..]], 1 << 16, 100);
            prop_assume!(response.status == 200);
            prop_assert_eq!(String::from_utf8_lossy(&response.head), head);
            let stored = stored_head(&response.head, &response.body);
            let mut stored_lines = stored.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
            for line in lines {
                let line = line.strip_suffix('\r').filter(|_| line_end == "\n").unwrap_or(&line);
                let forms = [line.to_owned(), format!("X-Crawler-{line}"), format!("X-Crawler-Line: {line}")];
                let is_stored = stored_lines.any(|found| forms.iter().any(|form| form.as_bytes() == found));
                prop_assert!(is_stored, "{line:?}");
            }
            for name in ["X-Robots-Tag", "ETag", "Content-Encoding"] {
                prop_assert_eq!(HttpHead(&stored).joined(name), HttpHead(&response.head).joined(name));
            }
        }
    }

    #[test]
    fn fields_are_found_in_any_case_and_between_malformed_lines() {
        let head = HttpHead(
            b"HTTP/1.1 200 OK\r\n: no name\r\ngarbage\r\nset-cookie: a\r\nSET-COOKIE : b\r\nServer: caf\xe9\r\n\r\n",
        );
        assert_eq!((head.status(), head.version()), (Some(200), Some("1.1")));
        assert_eq!(head.joined("Set-Cookie"), "a,b");
        assert_eq!(head.value("server").as_deref(), Some("café"));
        assert_eq!(head.value("Content-Type"), None);
    }

    #[test]
    fn a_status_is_three_digits_after_the_version() {
        for (line, status) in [
            ("HTTP/1.0  404\r\n", Some(404)),
            ("HTTP/2 200", Some(200)),
            ("http/1.1 301 Moved", Some(301)),
            ("HTTP/1.1 abc", None),
            ("HTTP/1.1 20", None),
            ("ICY 200 OK", None),
            ("", None),
        ] {
            assert_eq!(HttpHead(line.as_bytes()).status(), status, "{line}");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let wait = |lines: &str| {
            HttpHead(format!("HTTP/1.1 429 x\r\n{lines}\r\n").as_bytes()).retry_after_ms(1_445_412_480)
        };
        assert_eq!(wait("Retry-After: 120\r\n"), Some(120_000));
        let date = "Date: Wed, 21 Oct 2015 07:28:00 GMT\r\n";
        assert_eq!(wait(&format!("{date}Retry-After: Wed, 21 Oct 2015 07:28:30 GMT\r\n")), Some(30_000));
        assert_eq!(wait(&format!("{date}Retry-After: Wed, 21 Oct 2015 07:27:00 GMT\r\n")), Some(0));
        assert_eq!(wait("Retry-After: Wed, 21 Oct 2015 07:28:30 GMT\r\n"), Some(30_000));
        assert_eq!(wait("Retry-After: soon\r\n"), None);
        assert_eq!(wait(""), None);
    }
}
