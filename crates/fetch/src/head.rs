//! Where does the head of an answer end, and what does it say about the body?
//!
//! Bytes are taken as they come, in pieces of any size, and kept exactly as they are. What is no HTTP is told by its
//! first bytes; a header line that nobody can read is passed over, as browsers do.

use memchr::memchr_iter;
use model::Reason;

/// Line ends that a server may leave behind an earlier answer.
const EMPTY_LIMIT_BYTES: usize = 8;
const BEGINNING: &[u8] = b"HTTP/1.";

/// Collects a head.
#[derive(Debug, Default)]
pub(crate) struct HeadReader {
    /// What came of the head, up to and with its empty line.
    pub(crate) bytes: Vec<u8>,
    /// Length of the line that is being read.
    line_bytes: usize,
    empty_bytes: usize,
}

/// How the end of a body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// There is none.
    Nothing,
    /// By its length.
    Length(u64),
    /// By its chunks.
    Chunked,
    /// By the end of the connection.
    Close,
}

/// What a head says about the exchange.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head<'h> {
    pub(crate) status: u16,
    /// 1.1 and not 1.0.
    pub(crate) is_1_1: bool,
    pub(crate) framing: Framing,
    /// Whether the server will answer again.
    pub(crate) keeps: bool,
    /// The value of `Content-Type`.
    pub(crate) content_type: Option<&'h [u8]>,
}

impl HeadReader {
    /// Takes a piece, and tells how much of it belongs to the head once the head is complete.
    pub(crate) fn take(&mut self, piece: &[u8], limit_bytes: usize) -> Result<Option<usize>, Reason> {
        let skipped = if self.bytes.is_empty() { self.skip_empty(piece)? } else { 0 };
        let rest = &piece[skipped..];
        let end = self.find_end(rest);
        let length = end.unwrap_or(rest.len());
        if self.bytes.len() + length > limit_bytes {
            // Whatever is wrong in the first bytes is wrong in the first place.
            self.bytes.extend_from_slice(&rest[..length.min(BEGINNING.len())]);
            return self.check_beginning().and(Err(Reason::HeadTooLong));
        }
        self.bytes.extend_from_slice(&rest[..length]);
        self.check_beginning()?;
        Ok(end.map(|end| skipped + end))
    }

    /// Forgets an interim answer.
    pub(crate) fn restart(&mut self) {
        *self = HeadReader::default();
    }

    fn skip_empty(&mut self, piece: &[u8]) -> Result<usize, Reason> {
        let skipped = piece.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        self.empty_bytes += skipped;
        if self.empty_bytes > EMPTY_LIMIT_BYTES { Err(Reason::BadAnswer) } else { Ok(skipped) }
    }

    /// Behind the first empty line.
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

    fn check_beginning(&self) -> Result<(), Reason> {
        let length = self.bytes.len().min(BEGINNING.len());
        if self.bytes[..length] == BEGINNING[..length] { Ok(()) } else { Err(Reason::BadAnswer) }
    }
}

/// Reads a complete head.
pub(crate) fn read_head(bytes: &[u8]) -> Result<Head<'_>, Reason> {
    let (status, is_1_1) = read_status_line(bytes).ok_or(Reason::BadAnswer)?;
    let framing = framing(status, bytes)?;
    let has_chunks_and_length =
        framing == Framing::Chunked && values(bytes, "content-length").next().is_some();
    let keeps = keeps(is_1_1, bytes) && framing != Framing::Close && !has_chunks_and_length;
    Ok(Head { status, is_1_1, framing, keeps, content_type: values(bytes, "content-type").next() })
}

/// `HTTP/1.1 200`, and whatever.
fn read_status_line(bytes: &[u8]) -> Option<(u16, bool)> {
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let is_1_1 = match words.next()?.strip_prefix(BEGINNING)? {
        b"0" => false,
        b"1" => true,
        _ => return None,
    };
    let digits = words.next().filter(|word| word.len() == 3 && word.iter().all(u8::is_ascii_digit))?;
    let status = digits.iter().fold(0, |status, digit| status * 10 + u16::from(digit - b'0'));
    (status >= 100).then_some((status, is_1_1))
}

/// RFC 9112, section 6.3, without requests that have other rules.
fn framing(status: u16, bytes: &[u8]) -> Result<Framing, Reason> {
    if status < 200 || matches!(status, 204 | 304) {
        return Ok(Framing::Nothing);
    }
    let codings = values(bytes, "transfer-encoding").flat_map(words);
    let mut codings = codings.filter(|coding| !coding.eq_ignore_ascii_case(b"identity"));
    match (codings.next(), codings.next()) {
        (None, _) => length(bytes),
        (Some(coding), None) if coding.eq_ignore_ascii_case(b"chunked") => Ok(Framing::Chunked),
        // Nobody asked for other codings, and nobody could undo them later.
        _ => Err(Reason::BadAnswer),
    }
}

/// A length that is no number is no length; two lengths are one too many.
fn length(bytes: &[u8]) -> Result<Framing, Reason> {
    let number = |word: &[u8]| -> Option<u64> {
        let digits = word.iter().all(u8::is_ascii_digit).then_some(word)?;
        std::str::from_utf8(digits).ok()?.parse().ok()
    };
    let mut lengths = values(bytes, "content-length").flat_map(words).map(number);
    match lengths.next().flatten() {
        None => Ok(Framing::Close),
        first if lengths.any(|other| other != first) => Err(Reason::BadAnswer),
        Some(0) => Ok(Framing::Nothing),
        Some(length) => Ok(Framing::Length(length)),
    }
}

fn keeps(is_1_1: bool, bytes: &[u8]) -> bool {
    let has =
        |wish: &[u8]| values(bytes, "connection").flat_map(words).any(|word| word.eq_ignore_ascii_case(wish));
    !has(b"close") && (is_1_1 || has(b"keep-alive"))
}

/// The values of all lines of this name. What is no header line is passed over.
fn values<'h>(bytes: &'h [u8], name: &str) -> impl Iterator<Item = &'h [u8]> {
    let lines = bytes.split(|byte| *byte == b'\n').skip(1);
    lines.filter_map(move |line| {
        // Only a line of this name has its colon here, but for spaces before it.
        let colon = name.len() + line.get(name.len()..)?.iter().position(|byte| *byte == b':')?;
        let matches = line[..colon].trim_ascii_end().eq_ignore_ascii_case(name.as_bytes());
        matches.then(|| line[colon + 1..].trim_ascii())
    })
}

/// What lies between commas.
fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framing_of(lines: &str) -> Result<(Framing, bool), Reason> {
        let head = format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
        read_head(head.as_bytes()).map(|head| (head.framing, head.keeps))
    }

    #[test]
    fn the_length_decides_when_there_are_no_chunks() {
        assert_eq!(framing_of("Content-Length: 12\r\n"), Ok((Framing::Length(12), true)));
        assert_eq!(framing_of("Content-Length: 12, 12\r\n"), Ok((Framing::Length(12), true)));
        assert_eq!(framing_of("Content-Length: 0\r\n"), Ok((Framing::Nothing, true)));
        assert_eq!(framing_of(""), Ok((Framing::Close, false)));
        assert_eq!(framing_of("Content-Length: -1\r\n"), Ok((Framing::Close, false)));
        assert_eq!(framing_of("Content-Length: +1\r\n"), Ok((Framing::Close, false)));
        assert_eq!(framing_of("Content-Length: 99999999999999999999\r\n"), Ok((Framing::Close, false)));
        assert_eq!(framing_of("Content-Length: 1\r\nContent-Length: 2\r\n"), Err(Reason::BadAnswer));
    }

    #[test]
    fn chunks_come_before_the_length() {
        assert_eq!(framing_of("transfer-encoding: Chunked\r\n"), Ok((Framing::Chunked, true)));
        let both = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n";
        assert_eq!(framing_of(both), Ok((Framing::Chunked, false)));
        assert_eq!(
            framing_of("Transfer-Encoding: identity\r\nContent-Length: 5\r\n"),
            Ok((Framing::Length(5), true))
        );
        assert_eq!(framing_of("Transfer-Encoding: gzip, chunked\r\n"), Err(Reason::BadAnswer));
    }

    #[test]
    fn connections_are_kept_by_the_version_and_by_wish() {
        let keeps = |head: &str| read_head(head.as_bytes()).unwrap().keeps;
        assert!(!keeps("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: x, Close\r\n\r\n"));
        assert!(!keeps("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n"));
        assert!(keeps("HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: Keep-Alive\r\n\r\n"));
        assert!(
            keeps("HTTP/1.1 204 No Content\r\n\r\n") && keeps("HTTP/1.1 304\r\nContent-Length: 9\r\n\r\n")
        );
    }

    #[test]
    fn odd_heads_are_read_all_the_same() {
        let odd = b"HTTP/1.1  200  \xc3\x9cber\r\n: x\r\nbad line\r\nContent-Type : a/b\r\n folded: x\r\nX: \0\r\r\n\r\n";
        let head = read_head(odd).unwrap();
        assert_eq!((head.status, head.content_type), (200, Some(&b"a/b"[..])));
        let read = read_head(b"HTTP/1.1 200\nContent-Type: text/html\n\n").unwrap();
        assert_eq!((read.status, read.content_type), (200, Some(&b"text/html"[..])));
        for bad in
            ["HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 099 X\r\n\r\n"]
        {
            assert_eq!(read_head(bad.as_bytes()), Err(Reason::BadAnswer), "{bad:?}");
        }
    }
}
