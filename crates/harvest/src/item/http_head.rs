//! Lenient reader of HTTP response heads: heads from archives and broken servers are often malformed.

use std::borrow::Cow;

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
        let lines = self.0.split(|byte| *byte == b'\n').skip(1);
        lines.filter_map(move |line| {
            let colon = line.iter().take(name.len() + 8).position(|byte| *byte == b':')?;
            let matches = line[..colon].trim_ascii().eq_ignore_ascii_case(name.as_bytes());
            let value = line[colon + 1..].trim_ascii();
            (matches && value.len() <= MAX_VALUE_BYTES).then(|| text(value))
        })
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
    use super::*;

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
