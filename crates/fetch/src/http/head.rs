//! Incremental reader and parser of HTTP/1.x response heads.
//!
//! The reader accepts chunks of any size and stores the bytes exactly as received. Other protocols are detected by their
//! first bytes. Invalid header lines are skipped, as browsers do.

use memchr::memchr_iter;
use model::{Reason, header_values};

/// Maximum number of stray line ends that a server may leave after an earlier response.
const MAX_BLANK_BYTES: usize = 8;
const STATUS_LINE_PREFIX: &[u8] = b"HTTP/1.";

/// Collects the bytes of one head.
#[derive(Debug, Default)]
pub(crate) struct HeadReader {
    /// Bytes of the head so far, including its blank line once it is complete.
    pub(crate) bytes: Vec<u8>,
    /// Length of the current line so far.
    line_bytes: usize,
    blank_bytes: usize,
}

/// Delimiter of a body (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// There is no body.
    None,
    /// After the number of bytes in `Content-Length`.
    ContentLength(u64),
    /// After the last chunk.
    Chunked,
    /// At the end of the connection.
    UntilClose,
}

/// The parts of a head that control the exchange.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head<'h> {
    pub(crate) status: u16,
    /// HTTP/1.1; otherwise HTTP/1.0.
    pub(crate) is_http11: bool,
    pub(crate) framing: Framing,
    /// Whether the server keeps the connection open.
    pub(crate) keep_alive: bool,
    /// Value of `Content-Type`.
    pub(crate) content_type: Option<&'h [u8]>,
}

impl HeadReader {
    /// Adds received bytes. Once the head is complete, returns how many bytes of `chunk` belong to it.
    pub(crate) fn push(&mut self, chunk: &[u8], max_bytes: usize) -> Result<Option<usize>, Reason> {
        let skipped = if self.bytes.is_empty() { self.skip_blank_lines(chunk)? } else { 0 };
        let rest = &chunk[skipped..];
        let end = self.find_end(rest);
        let length = end.unwrap_or(rest.len());
        if self.bytes.len() + length > max_bytes {
            // A head that is too long and not HTTP is reported as not HTTP, however the bytes are split.
            self.bytes.extend_from_slice(&rest[..length.min(STATUS_LINE_PREFIX.len())]);
            return self.check_prefix().and(Err(Reason::HeadersTooLarge));
        }
        self.bytes.extend_from_slice(&rest[..length]);
        self.check_prefix()?;
        Ok(end.map(|end| skipped + end))
    }

    /// Discards an interim response.
    pub(crate) fn restart(&mut self) {
        *self = HeadReader::default();
    }

    fn skip_blank_lines(&mut self, chunk: &[u8]) -> Result<usize, Reason> {
        let skipped = chunk.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        self.blank_bytes += skipped;
        if self.blank_bytes > MAX_BLANK_BYTES { Err(Reason::InvalidResponse) } else { Ok(skipped) }
    }

    /// End of the first blank line in `rest`.
    fn find_end(&mut self, rest: &[u8]) -> Option<usize> {
        let mut start = 0;
        for line_feed in memchr_iter(b'\n', rest) {
            let part = &rest[start..line_feed];
            let is_empty = match self.line_bytes {
                0 => matches!(part, [] | [b'\r']),
                1 => part.is_empty() && self.bytes.last() == Some(&b'\r'),
                _ => false,
            };
            if is_empty {
                return Some(line_feed + 1);
            }
            start = line_feed + 1;
            self.line_bytes = 0;
        }
        self.line_bytes += rest.len() - start;
        None
    }

    fn check_prefix(&self) -> Result<(), Reason> {
        let length = self.bytes.len().min(STATUS_LINE_PREFIX.len());
        if self.bytes[..length] == STATUS_LINE_PREFIX[..length] {
            Ok(())
        } else {
            Err(Reason::InvalidResponse)
        }
    }
}

/// Parses a complete head.
pub(crate) fn parse_head(bytes: &[u8]) -> Result<Head<'_>, Reason> {
    let (status, is_http11) = parse_status_line(bytes).ok_or(Reason::InvalidResponse)?;
    let framing = framing(status, bytes)?;
    // Both framings at once may be an attempt at response smuggling (RFC 9112, section 6.1): close afterwards.
    let has_chunks_and_length =
        framing == Framing::Chunked && header_values(bytes, "content-length").next().is_some();
    let keep_alive =
        keeps_alive(is_http11, bytes) && framing != Framing::UntilClose && !has_chunks_and_length;
    Ok(Head {
        status,
        is_http11,
        framing,
        keep_alive,
        content_type: header_values(bytes, "content-type").next(),
    })
}

/// Parses `HTTP/1.1 200` with any reason phrase; returns the status and whether the version is 1.1.
fn parse_status_line(bytes: &[u8]) -> Option<(u16, bool)> {
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let is_http11 = match words.next()?.strip_prefix(STATUS_LINE_PREFIX)? {
        b"0" => false,
        b"1" => true,
        _ => return None,
    };
    let digits = words.next().filter(|word| word.len() == 3 && word.iter().all(u8::is_ascii_digit))?;
    let status = digits.iter().fold(0, |status, digit| status * 10 + u16::from(digit - b'0'));
    (status >= 100).then_some((status, is_http11))
}

/// Framing by RFC 9112, section 6.3, for a response to GET.
fn framing(status: u16, bytes: &[u8]) -> Result<Framing, Reason> {
    if status < 200 || matches!(status, 204 | 304) {
        return Ok(Framing::None);
    }
    let codings = header_values(bytes, "transfer-encoding").flat_map(list_items);
    let mut codings = codings.filter(|coding| !coding.eq_ignore_ascii_case(b"identity"));
    match (codings.next(), codings.next()) {
        (None, _) => content_length_framing(bytes),
        (Some(coding), None) if coding.eq_ignore_ascii_case(b"chunked") => Ok(Framing::Chunked),
        // The request offers no other transfer coding, and no later reader could decode one.
        _ => Err(Reason::InvalidResponse),
    }
}

/// Framing by `Content-Length`: an invalid value is ignored, contradicting values are an error.
fn content_length_framing(bytes: &[u8]) -> Result<Framing, Reason> {
    let number = |word: &[u8]| -> Option<u64> {
        let digits = word.iter().all(u8::is_ascii_digit).then_some(word)?;
        std::str::from_utf8(digits).ok()?.parse().ok()
    };
    let mut lengths = header_values(bytes, "content-length").flat_map(list_items).map(number);
    match lengths.next().flatten() {
        None => Ok(Framing::UntilClose),
        first if lengths.any(|other| other != first) => Err(Reason::InvalidResponse),
        Some(0) => Ok(Framing::None),
        Some(length) => Ok(Framing::ContentLength(length)),
    }
}

fn keeps_alive(is_http11: bool, bytes: &[u8]) -> bool {
    let has = |option: &[u8]| {
        header_values(bytes, "connection").flat_map(list_items).any(|item| item.eq_ignore_ascii_case(option))
    };
    !has(b"close") && (is_http11 || has(b"keep-alive"))
}

/// Items of a comma-separated list.
fn list_items(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framing_of(lines: &str) -> Result<(Framing, bool), Reason> {
        let head = format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
        parse_head(head.as_bytes()).map(|head| (head.framing, head.keep_alive))
    }

    #[test]
    fn content_length_decides_without_chunked_coding() {
        assert_eq!(framing_of("Content-Length: 12\r\n"), Ok((Framing::ContentLength(12), true)));
        assert_eq!(framing_of("Content-Length: 12, 12\r\n"), Ok((Framing::ContentLength(12), true)));
        assert_eq!(framing_of("Content-Length: 0\r\n"), Ok((Framing::None, true)));
        assert_eq!(framing_of(""), Ok((Framing::UntilClose, false)));
        assert_eq!(framing_of("Content-Length: -1\r\n"), Ok((Framing::UntilClose, false)));
        assert_eq!(framing_of("Content-Length: +1\r\n"), Ok((Framing::UntilClose, false)));
        assert_eq!(framing_of("Content-Length: 99999999999999999999\r\n"), Ok((Framing::UntilClose, false)));
        assert_eq!(framing_of("Content-Length: 1\r\nContent-Length: 2\r\n"), Err(Reason::InvalidResponse));
    }

    #[test]
    fn chunked_coding_takes_precedence_over_content_length() {
        assert_eq!(framing_of("transfer-encoding: Chunked\r\n"), Ok((Framing::Chunked, true)));
        let both = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n";
        assert_eq!(framing_of(both), Ok((Framing::Chunked, false)));
        assert_eq!(
            framing_of("Transfer-Encoding: identity\r\nContent-Length: 5\r\n"),
            Ok((Framing::ContentLength(5), true))
        );
        assert_eq!(framing_of("Transfer-Encoding: gzip, chunked\r\n"), Err(Reason::InvalidResponse));
    }

    #[test]
    fn keep_alive_depends_on_the_version_and_the_connection_header() {
        let keeps = |head: &str| parse_head(head.as_bytes()).unwrap().keep_alive;
        assert!(!keeps("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: x, Close\r\n\r\n"));
        assert!(!keeps("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n"));
        assert!(keeps("HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: Keep-Alive\r\n\r\n"));
        assert!(
            keeps("HTTP/1.1 204 No Content\r\n\r\n") && keeps("HTTP/1.1 304\r\nContent-Length: 9\r\n\r\n")
        );
    }

    #[test]
    fn malformed_header_lines_are_tolerated() {
        let odd = b"HTTP/1.1  200  \xc3\x9cber\r\n: x\r\nbad line\r\nContent-Type : a/b\r\n folded: x\r\nX: \0\r\r\n\r\n";
        let head = parse_head(odd).unwrap();
        assert_eq!((head.status, head.content_type), (200, Some(&b"a/b"[..])));
        let read = parse_head(b"HTTP/1.1 200\nContent-Type: text/html\n\n").unwrap();
        assert_eq!((read.status, read.content_type), (200, Some(&b"text/html"[..])));
        for bad in
            ["HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 099 X\r\n\r\n"]
        {
            assert_eq!(parse_head(bad.as_bytes()), Err(Reason::InvalidResponse), "{bad:?}");
        }
    }
}
