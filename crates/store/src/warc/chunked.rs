//! Which bytes did a chunked body (RFC 9112, section 7.1) carry?

/// The body without its chunk sizes, or nothing where it is no chunked body: some writers remove the chunks and leave
/// the header that promises them (pywb 584).
pub(crate) fn dechunk(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = bytes;
    loop {
        let line_end = rest.iter().take(MAX_SIZE_LINE_BYTES).position(|byte| *byte == b'\n');
        let Some(line_end) = line_end else { return cut_off(rest, bytes, out) };
        let size = chunk_size(&rest[..line_end])?;
        rest = &rest[line_end + 1..];
        if size == 0 {
            return Some(out);
        }
        let Some((chunk, behind)) = rest.split_at_checked(size) else {
            // The connection broke inside a chunk: what came is what there is.
            out.extend_from_slice(rest);
            return Some(out);
        };
        out.extend_from_slice(chunk);
        rest = behind.strip_prefix(b"\r\n").or_else(|| behind.strip_prefix(b"\n")).unwrap_or(behind);
    }
}

/// A size with its extensions is not longer.
const MAX_SIZE_LINE_BYTES: usize = 1_024;

fn chunk_size(line: &[u8]) -> Option<usize> {
    let digits = line.split(|byte| *byte == b';').next()?.trim_ascii();
    let text = std::str::from_utf8(digits).ok()?;
    usize::from_str_radix(text, 16).ok().filter(|_| !text.starts_with('+'))
}

/// A body that ends where a size should be is a broken one if it had chunks, and no chunked one otherwise.
fn cut_off(rest: &[u8], bytes: &[u8], out: Vec<u8>) -> Option<Vec<u8>> {
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
    fn a_broken_connection_leaves_what_came() {
        assert_eq!(dechunk(b"4\r\nWiki\r\n5\r\nped").unwrap(), b"Wikiped");
        assert_eq!(dechunk(b"4\r\nWiki\r\n").unwrap(), b"Wiki");
    }

    #[test]
    fn what_is_not_chunked_is_left_alone() {
        for body in
            ["", "<html>", "{\"a\": 1}", "-1\r\nx", "+4\r\nWiki\r\n0\r\n\r\n", "fffffffffffffffff\r\n"]
        {
            assert_eq!(dechunk(body.as_bytes()), None, "{body}");
        }
    }
}
