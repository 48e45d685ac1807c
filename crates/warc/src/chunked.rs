//! Decoder of the chunked transfer coding (RFC 9112, section 7.1) for bodies in archives.
//!
//! The decoder of `fetch` works on a stream and enforces the protocol; this one takes a whole body, and tolerates one
//! that was cut off or is not chunked at all.

/// Decodes a chunked body. Returns `None` if the body is not chunked: some writers remove the chunks but keep the
/// header field Transfer-Encoding (pywb issue 584).
pub(crate) fn dechunk(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = bytes;
    loop {
        let line_end = rest.iter().take(MAX_SIZE_LINE_BYTES).position(|byte| *byte == b'\n');
        let Some(line_end) = line_end else { return truncated(rest, bytes, out) };
        let size = chunk_size(&rest[..line_end])?;
        rest = &rest[line_end + 1..];
        if size == 0 {
            return Some(out);
        }
        let Some((chunk, after)) = rest.split_at_checked(size) else {
            // The connection was lost within a chunk: return the part that was received.
            out.extend_from_slice(rest);
            return Some(out);
        };
        out.extend_from_slice(chunk);
        rest = after.strip_prefix(b"\r\n").or_else(|| after.strip_prefix(b"\n")).unwrap_or(after);
    }
}

/// Maximum length of a line with a chunk size and its extensions.
const MAX_SIZE_LINE_BYTES: usize = 1_024;

fn chunk_size(line: &[u8]) -> Option<usize> {
    let digits = line.split(|byte| *byte == b';').next()?.trim_ascii();
    let text = std::str::from_utf8(digits).ok()?;
    usize::from_str_radix(text, 16).ok().filter(|_| !text.starts_with('+'))
}

/// Result for a body that ends where a chunk size is expected: truncated if it had chunks before, else not chunked.
fn truncated(rest: &[u8], bytes: &[u8], out: Vec<u8>) -> Option<Vec<u8>> {
    (rest.is_empty() && !bytes.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_joined() {
        assert_eq!(dechunk(b"4\r\nWiki\r\n5;x=y\r\npedia\r\n0\r\nTrailer: a\r\n\r\n").unwrap(), b"Wikipedia");
        assert_eq!(dechunk(b"0\r\n\r\n").unwrap(), b"");
    }

    #[test]
    fn the_received_part_of_a_truncated_body_is_returned() {
        assert_eq!(dechunk(b"4\r\nWiki\r\n5\r\nped").unwrap(), b"Wikiped");
        assert_eq!(dechunk(b"4\r\nWiki\r\n").unwrap(), b"Wiki");
    }

    #[test]
    fn a_body_that_is_not_chunked_is_not_decoded() {
        for body in
            ["", "<html>", "{\"a\": 1}", "-1\r\nx", "+4\r\nWiki\r\n0\r\n\r\n", "fffffffffffffffff\r\n"]
        {
            assert_eq!(dechunk(body.as_bytes()), None, "{body}");
        }
    }
}
