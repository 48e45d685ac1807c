//! HTTP heads in WARC records: the received head is adapted to the stored body, and parsed when it is read back.
//!
//! Bodies are stored without transfer coding. Transfer-Encoding, and a Content-Length that differs from the size of the
//! stored body, are therefore renamed with the prefix that Common Crawl uses, and the correct Content-Length is added.
//! HTTP/2 and HTTP/3 have no textual status line; theirs is written as HTTP/1.1. A line of white space becomes the value of a
//! field, because many readers of archives would end the head there. All other lines are stored as received.

use model::{header_values, is_blank_line, split_field};

/// Prefix of fields that describe the transfer and do not apply to the stored body.
const TRANSFER_HEADER_PREFIX: &[u8] = b"X-Crawler-";
/// Prefix of lines that have no visible character.
const INVISIBLE_LINE_PREFIX: &[u8] = b"X-Crawler-Line: ";

/// Returns the head to store before a body of `body_bytes`, with the empty line at its end.
pub(crate) fn stored_head(head: &[u8], body_bytes: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(head.len() + 64);
    let mut lines = head.split_inclusive(|byte| *byte == b'\n');
    if let Some(status) = lines.next() {
        push_status_line(status, &mut out);
    }
    let length = body_bytes.to_string();
    let chunked = header_values(head, "Transfer-Encoding").next().is_some();
    let mut renamed = false;
    for line in lines.take_while(|line| !is_blank_line(line)) {
        let is_transfer_field = split_field(line).is_some_and(|(name, value)| {
            let wrong_length = is_content_length(name) && (chunked || value != length.as_bytes());
            is_transfer_encoding(name) || wrong_length
        });
        if is_transfer_field {
            out.extend_from_slice(TRANSFER_HEADER_PREFIX);
            renamed = true;
        }
        if line.iter().all(|byte| is_invisible(*byte)) {
            out.extend_from_slice(INVISIBLE_LINE_PREFIX);
        }
        push_line(line, &mut out);
    }
    if renamed {
        out.extend_from_slice(format!("Content-Length: {length}\r\n").as_bytes());
    }
    out.extend_from_slice(if out.ends_with(b"\r\n") { b"\r\n" } else { b"\n" });
    out
}

/// Size of the head, with the empty line that ends it; all of `block` if there is none.
pub fn head_bytes(block: &[u8]) -> usize {
    let mut at = 0;
    for line in block.split_inclusive(|byte| *byte == b'\n') {
        at += line.len();
        if is_blank_line(line) {
            break;
        }
    }
    at
}

/// Value of the first field of this name, case-insensitive.
pub fn header_value<'h>(head: &'h [u8], name: &str) -> Option<&'h [u8]> {
    header_values(head, name).next()
}

/// Status code as text.
pub fn status(head: &[u8]) -> Option<&str> {
    let line = head.split(|byte| *byte == b'\n').next()?.strip_prefix(b"HTTP/")?;
    // As in the HTTP client: any white space, also several characters, separates version and code.
    let code = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).nth(1)?;
    std::str::from_utf8(code)
        .ok()
        .filter(|code| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether the body after this head has the chunked transfer coding.
pub(crate) fn is_chunked(head: &[u8]) -> bool {
    let value = header_value(head, "Transfer-Encoding").unwrap_or_default();
    value.to_ascii_lowercase().ends_with(b"chunked")
}

/// Whether a byte is white space or a control character in Latin-1, the historical charset of heads.
fn is_invisible(byte: u8) -> bool {
    matches!(byte, 0..=b' ' | 0x7f..=0xa0)
}

fn is_transfer_encoding(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"Transfer-Encoding")
}

fn is_content_length(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"Content-Length")
}

fn push_status_line(line: &[u8], out: &mut Vec<u8>) {
    let newer = [b"HTTP/2".as_slice(), b"HTTP/3"].iter().any(|version| line.starts_with(version));
    let space = line.iter().position(|byte| *byte == b' ');
    match space.filter(|_| newer) {
        Some(space) => {
            let code = line[space..].trim_ascii();
            out.extend_from_slice(b"HTTP/1.1 ");
            out.extend_from_slice(code);
            // The space before the reason phrase is mandatory, also if the phrase is empty (RFC 9112, section 4).
            out.extend_from_slice(if code.contains(&b' ') { b"\r\n" } else { b" \r\n" });
        }
        None => push_line(line, out),
    }
}

fn push_line(line: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(line);
    if !line.ends_with(b"\n") {
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(head: &str, body_bytes: usize) -> String {
        String::from_utf8(stored_head(head.as_bytes(), body_bytes)).unwrap()
    }

    #[test]
    fn a_head_that_matches_the_body_is_unchanged() {
        for head in [
            "HTTP/1.1 200 OK\r\nServer:  odd \r\nX-A: 1\r\n folded\r\nContent-length: 5\r\n\r\n",
            "HTTP/1.0 404 Not Found\nX: y\n\n",
        ] {
            assert_eq!(stored(head, 5), head);
        }
        assert_eq!(stored("HTTP/1.1 204 No Content\r\n", 0), "HTTP/1.1 204 No Content\r\n\r\n");
    }

    #[test]
    fn a_line_of_white_space_does_not_end_the_stored_head() {
        for line in [" ", "\t", "\r", "\u{b}", "\u{c}", "\0"] {
            let head =
                |line: &str| format!("HTTP/1.1 200 OK\r\nA: b\r\n{line}\r\nX-Robots-Tag: noindex\r\n\r\n");
            let received = head(line);
            assert_eq!(stored(&received, 5), head(&format!("X-Crawler-Line: {line}")));
            assert_eq!(head_bytes(received.as_bytes()), received.len());
            assert_eq!(header_value(received.as_bytes(), "x-robots-tag"), Some(&b"noindex"[..]));
        }
    }

    #[test]
    fn a_dechunked_body_gets_a_content_length() {
        assert_eq!(
            stored("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\nContent-Length: 9\r\n\r\n", 9),
            "HTTP/1.1 200 OK\r\nX-Crawler-Transfer-Encoding: chunked\r\nA: b\r\nX-Crawler-Content-Length: 9\r\n\
             Content-Length: 9\r\n\r\n"
        );
    }

    #[test]
    fn a_truncated_body_gets_its_own_content_length() {
        assert_eq!(
            stored("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", 9),
            "HTTP/1.1 200 OK\r\nX-Crawler-Content-Length: 900\r\nContent-Length: 9\r\n\r\n"
        );
    }

    #[test]
    fn status_lines_of_http_2_are_written_as_http_1_1() {
        assert_eq!(stored("HTTP/2 200\r\na: b\r\n\r\n", 1), "HTTP/1.1 200 \r\na: b\r\n\r\n");
        assert_eq!(stored("HTTP/2.0 404 Not Found\r\n\r\n", 1), "HTTP/1.1 404 Not Found\r\n\r\n");
    }

    #[test]
    fn heads_are_parsed() {
        let block =
            b"HTTP/1.1 301 Moved\r\nLocation: /a\r\nTransfer-Encoding: gzip, Chunked\r\n\r\nbody\r\n\r\n";
        let head = &block[..head_bytes(block)];
        assert!(head.ends_with(b"Chunked\r\n\r\n"));
        assert_eq!((status(head), header_value(head, "location")), (Some("301"), Some(b"/a".as_slice())));
        assert!(is_chunked(head));
        assert_eq!((status(b"HTTP/1.1 abc\r\n"), status(b"HTTP/1.1  200\t OK\r\n")), (None, Some("200")));
        assert_eq!(head_bytes(b"no end"), 6);
    }
}
