//! Which header lines go with the body that is stored? Those received, but for what would mislead a reader.
//!
//! The store knows no more of HTTP than this: the body comes without its chunks, so the line that promises chunks is
//! renamed, and so is a Content-Length that is not the length of the body; the right one is added. The new names have
//! the prefix that Common Crawl uses. HTTP/2 and 3 have no text of their own; their status lines are written as 1.1.

/// Prefixed to the names of lines that are true of the transfer and not of the stored body.
const RENAMED: &[u8] = b"X-Crawler-";

/// The head to store before a body of so many bytes, with the empty line at its end.
pub(crate) fn stored_head(head: &[u8], body_bytes: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(head.len() + 64);
    let mut lines = head.split_inclusive(|byte| *byte == b'\n');
    if let Some(status) = lines.next() {
        push_status_line(status, &mut out);
    }
    let length = body_bytes.to_string();
    let chunked = header_lines(head).any(|(name, _)| is_transfer_encoding(name));
    let mut renamed = false;
    for line in lines.take_while(|line| !line.trim_ascii().is_empty()) {
        let wrong = parts(line).is_some_and(|(name, value)| {
            let wrong_length = is_content_length(name) && (chunked || value != length.as_bytes());
            is_transfer_encoding(name) || wrong_length
        });
        if wrong {
            out.extend_from_slice(RENAMED);
            renamed = true;
        }
        push_line(line, &mut out);
    }
    if renamed {
        out.extend_from_slice(format!("Content-Length: {length}\r\n").as_bytes());
    }
    out.extend_from_slice(if out.ends_with(b"\r\n") { b"\r\n" } else { b"\n" });
    out
}

/// Where the body begins, behind the empty line; everything is head where there is none.
pub(crate) fn head_bytes(block: &[u8]) -> usize {
    let mut at = 0;
    for line in block.split_inclusive(|byte| *byte == b'\n') {
        at += line.len();
        if line == b"\r\n" || line == b"\n" {
            break;
        }
    }
    at
}

/// The value of the first line of this name.
pub(crate) fn header_value<'h>(head: &'h [u8], name: &str) -> Option<&'h [u8]> {
    let mut lines = header_lines(head);
    lines.find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value)
}

/// The status code, as text.
pub(crate) fn status(head: &[u8]) -> Option<&str> {
    let line = head.split(|byte| *byte == b'\n').next()?;
    let code = line.strip_prefix(b"HTTP/")?.split(|byte| *byte == b' ').nth(1)?.trim_ascii();
    std::str::from_utf8(code)
        .ok()
        .filter(|code| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether the body behind this head came, or lies, in chunks.
pub(crate) fn is_chunked(head: &[u8]) -> bool {
    let value = header_value(head, "Transfer-Encoding").unwrap_or_default();
    value.to_ascii_lowercase().ends_with(b"chunked")
}

fn header_lines(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let lines = head.split(|byte| *byte == b'\n').skip(1);
    lines.take_while(|line| !line.trim_ascii().is_empty()).filter_map(parts)
}

/// Name and value; none where a line goes on with the one before.
fn parts(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let folded = line.first().is_some_and(|first| matches!(first, b' ' | b'\t'));
    (!folded).then(|| (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()))
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
            // The space before the reason is there even if no reason is.
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
    fn a_head_that_is_true_stays_as_it_came() {
        for head in [
            "HTTP/1.1 200 OK\r\nServer:  odd \r\nX-A: 1\r\n folded\r\nContent-length: 5\r\n\r\n",
            "HTTP/1.0 404 Not Found\nX: y\n\n",
        ] {
            assert_eq!(stored(head, 5), head);
        }
        assert_eq!(stored("HTTP/1.1 204 No Content\r\n", 0), "HTTP/1.1 204 No Content\r\n\r\n");
    }

    #[test]
    fn a_dechunked_body_gets_its_length() {
        assert_eq!(
            stored("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\nContent-Length: 9\r\n\r\n", 9),
            "HTTP/1.1 200 OK\r\nX-Crawler-Transfer-Encoding: chunked\r\nA: b\r\nX-Crawler-Content-Length: 9\r\n\
             Content-Length: 9\r\n\r\n"
        );
    }

    #[test]
    fn a_cut_body_gets_the_length_it_has() {
        assert_eq!(
            stored("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", 9),
            "HTTP/1.1 200 OK\r\nX-Crawler-Content-Length: 900\r\nContent-Length: 9\r\n\r\n"
        );
    }

    #[test]
    fn newer_protocols_are_written_as_text() {
        assert_eq!(stored("HTTP/2 200\r\na: b\r\n\r\n", 1), "HTTP/1.1 200 \r\na: b\r\n\r\n");
        assert_eq!(stored("HTTP/2.0 404 Not Found\r\n\r\n", 1), "HTTP/1.1 404 Not Found\r\n\r\n");
    }

    #[test]
    fn heads_are_read() {
        let block =
            b"HTTP/1.1 301 Moved\r\nLocation: /a\r\nTransfer-Encoding: gzip, Chunked\r\n\r\nbody\r\n\r\n";
        let head = &block[..head_bytes(block)];
        assert!(head.ends_with(b"Chunked\r\n\r\n"));
        assert_eq!((status(head), header_value(head, "location")), (Some("301"), Some(b"/a".as_slice())));
        assert!(is_chunked(head));
        assert_eq!(status(b"HTTP/1.1 abc\r\n"), None);
        assert_eq!(head_bytes(b"no end"), 6);
    }
}
