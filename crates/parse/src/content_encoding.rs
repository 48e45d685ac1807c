//! Decoding of `Content-Encoding`: gzip, deflate, brotli and zstd.
//!
//! Servers declare wrong encodings, connections break, and decompression bombs exist. Decoding therefore never fails: it
//! returns the bytes that could be decoded and how the decoding ended. Chunks belong to the transfer and are decoded by
//! `fetch`.

use std::borrow::Cow;
use std::io::Read;

use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};

/// Maximum number of nested encodings; real servers rarely use two.
pub const MAX_CONTENT_ENCODINGS: usize = 4;

/// Maximum window of zstd, 8 MiB (RFC 9659).
const ZSTD_WINDOW_LOG: u32 = 23;

/// A body without its content encodings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedBody<'b> {
    /// The decoded bytes, or the given bytes if there was nothing to decode.
    pub bytes: Cow<'b, [u8]>,
    /// End of the decoding.
    pub end: DecodeEnd,
}

/// Reason why a decoding ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeEnd {
    /// End of the body.
    Complete,
    /// Limit reached; the rest is missing.
    LimitReached,
    /// Invalid or truncated data. The bytes decoded before it are returned. If there are none, the body was probably not
    /// encoded at all and is returned unchanged.
    Broken,
}

/// Decodes the comma-separated encodings of a `Content-Encoding` header, up to `max_bytes`.
///
/// Unknown encodings (`utf-8`, `none`) are ignored.
pub fn decode_content<'b>(bytes: &'b [u8], content_encoding: &str, max_bytes: usize) -> DecodedBody<'b> {
    let mut body = DecodedBody { bytes: Cow::Borrowed(bytes), end: DecodeEnd::Complete };
    // The encoding that is listed last was applied last.
    let mut codings = content_encoding.rsplit(',').filter_map(Coding::from_name);
    for coding in codings.by_ref().take(MAX_CONTENT_ENCODINGS) {
        if body.bytes.is_empty() {
            return body;
        }
        let (decoded, end) = coding.decode(&body.bytes, max_bytes);
        if decoded.is_empty() && end == DecodeEnd::Broken {
            return DecodedBody { end, ..body };
        }
        let end = if body.end == DecodeEnd::Complete { end } else { body.end };
        body = DecodedBody { bytes: Cow::Owned(decoded), end };
    }
    if codings.next().is_some() {
        body.end = DecodeEnd::Broken;
    }
    body
}

#[derive(Debug, Clone, Copy)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    fn from_name(name: &str) -> Option<Coding> {
        match name.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Some(Coding::Gzip),
            "deflate" => Some(Coding::Deflate),
            "br" => Some(Coding::Brotli),
            "zstd" => Some(Coding::Zstd),
            _ => None,
        }
    }

    fn decode(self, bytes: &[u8], max_bytes: usize) -> (Vec<u8>, DecodeEnd) {
        let mut out = Vec::new();
        let end = match self {
            Coding::Gzip => gunzip(bytes, max_bytes, &mut out),
            Coding::Deflate => inflate(bytes, max_bytes, &mut out),
            Coding::Brotli => {
                let decoder = brotli_decompressor::Decompressor::new(bytes, BROTLI_BUFFER_BYTES);
                drain(decoder, max_bytes, &mut out)
            }
            Coding::Zstd => unzstd(bytes, max_bytes, &mut out),
        };
        (out, end)
    }
}

const BROTLI_BUFFER_BYTES: usize = 4 << 10;

/// Decodes consecutive gzip members; other data after them is padding, which browsers ignore too.
fn gunzip(bytes: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> DecodeEnd {
    let mut rest = bytes;
    loop {
        let mut decoder = GzDecoder::new(rest);
        let end = drain(&mut decoder, max_bytes, out);
        rest = decoder.into_inner();
        if end != DecodeEnd::Complete || !rest.starts_with(b"\x1f\x8b") {
            return end;
        }
    }
}

/// Decodes `deflate`: the zlib format of the standard, or the raw format that some servers send.
fn inflate(bytes: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> DecodeEnd {
    let is_zlib = matches!(bytes, [first, second, ..]
        if first & 0x0f == 8 && (u16::from(*first) << 8 | u16::from(*second)).is_multiple_of(31));
    if is_zlib {
        let end = drain(ZlibDecoder::new(bytes), max_bytes, out);
        if end != DecodeEnd::Broken || !out.is_empty() {
            return end;
        }
    }
    drain(DeflateDecoder::new(bytes), max_bytes, out)
}

fn unzstd(bytes: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> DecodeEnd {
    let decoder = zstd::Decoder::with_buffer(bytes)
        .and_then(|mut decoder| decoder.window_log_max(ZSTD_WINDOW_LOG).map(|()| decoder));
    decoder.map_or(DecodeEnd::Broken, |decoder| drain(decoder, max_bytes, out))
}

/// Appends the output of a decoder to `out`, up to the maximum length of `out`.
fn drain(mut decoder: impl Read, max_bytes: usize, out: &mut Vec<u8>) -> DecodeEnd {
    let room = max_bytes.saturating_sub(out.len()) as u64;
    // On an error, `read_to_end` keeps the bytes before it.
    if decoder.by_ref().take(room).read_to_end(out).is_err() {
        return DecodeEnd::Broken;
    }
    if out.len() < max_bytes {
        return DecodeEnd::Complete;
    }
    match decoder.read(&mut [0]) {
        Ok(0) => DecodeEnd::Complete,
        Ok(_) => DecodeEnd::LimitReached,
        Err(_) => DecodeEnd::Broken,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use proptest::prelude::*;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn encodings_are_decoded_from_the_last_to_the_first() {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(&gzip(b"words")).unwrap();
        let body = zlib.finish().unwrap();
        for header in ["gzip, deflate", "X-GZIP,identity,\tDEFLATE", "utf-8, gzip, deflate, none"] {
            let decoded = decode_content(&body, header, 100);
            assert_eq!((&*decoded.bytes, decoded.end), (&b"words"[..], DecodeEnd::Complete), "{header}");
        }
    }

    #[test]
    fn a_body_that_is_not_encoded_is_returned_unchanged() {
        for header in ["", "identity", "utf-8"] {
            let decoded = decode_content(b"<html>", header, 3);
            assert_eq!((&*decoded.bytes, decoded.end), (&b"<html>"[..], DecodeEnd::Complete), "{header}");
        }
        for header in ["gzip", "zstd", "br", "gzip, gzip"] {
            let decoded = decode_content(b"<html><body>text</body>", header, 100);
            assert_eq!((&decoded.bytes[..6], decoded.end), (&b"<html>"[..], DecodeEnd::Broken), "{header}");
        }
        assert_eq!(decode_content(b"", "gzip", 9).end, DecodeEnd::Complete);
    }

    #[test]
    fn consecutive_gzip_members_are_decoded_and_padding_is_ignored() {
        let body = [gzip(b"a"), gzip(b"b"), b"\0\0garbage".to_vec()].concat();
        let decoded = decode_content(&body, "gzip", 100);
        assert_eq!((&*decoded.bytes, decoded.end), (&b"ab"[..], DecodeEnd::Complete));
    }

    #[test]
    fn the_limit_is_exact() {
        let body = gzip(&[b'x'; 1000]);
        for (limit, end) in
            [(999, DecodeEnd::LimitReached), (1000, DecodeEnd::Complete), (1001, DecodeEnd::Complete)]
        {
            let decoded = decode_content(&body, "gzip", limit);
            assert_eq!((decoded.bytes.len(), decoded.end), (limit.min(1000), end));
        }
    }

    #[test]
    fn encodings_beyond_the_maximum_are_not_decoded() {
        let body = (0..=MAX_CONTENT_ENCODINGS).fold(b"words".to_vec(), |body, _| gzip(&body));
        let decoded = decode_content(&body, &["gzip"; MAX_CONTENT_ENCODINGS + 1].join(","), 1000);
        assert_eq!((&decoded.bytes[..2], decoded.end), (&b"\x1f\x8b"[..], DecodeEnd::Broken));
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_within_the_limit(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            coding in prop::sample::select(vec!["gzip", "deflate", "br", "zstd"]),
            prefix in prop::sample::select(vec![&b""[..], b"\x1f\x8b\x08\0\0\0\0\0\0\x03", b"\x28\xb5\x2f\xfd", b"\x78\x9c"]),
        ) {
            let body = [prefix, &bytes].concat();
            let decoded = decode_content(&body, coding, 500);
            prop_assert!(decoded.bytes.len() <= body.len().max(500));
        }

        #[test]
        fn bytes_before_a_truncation_are_decoded(words in prop::collection::vec(any::<u8>(), 1..5000), cut in 0.0..1.0f64) {
            let body = gzip(&words);
            let cut = 18 + ((body.len() - 19) as f64 * cut) as usize;
            let decoded = decode_content(&body[..cut], "gzip", 1 << 20);
            if decoded.bytes.len() < cut || !body.starts_with(&decoded.bytes) {
                prop_assert!(words.starts_with(&decoded.bytes));
            }
            prop_assert_eq!(decoded.end, DecodeEnd::Broken);
        }
    }
}
