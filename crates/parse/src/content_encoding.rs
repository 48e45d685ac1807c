//! Decoding of `Content-Encoding`: gzip, deflate, brotli and zstd.
//!
//! Servers declare wrong encodings, connections break, and decompression bombs exist. Decoding therefore never fails: it
//! returns the bytes that could be decoded and how the decoding ended. Chunks belong to the transfer and are decoded by
//! `fetch`.
//!
//! One budget covers all encodings of a body: what they produce together is limited, and so are the window of each decoder and
//! the work that produces no output.
//!
//! A body that is declared as encoded although it is plain text is returned as it is. Clients remove encodings and archives
//! keep the header, so that this is common in WARC files of other tools, where the body would be lost otherwise.

use std::borrow::Cow;
use std::io::Read;

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};

/// Maximum number of nested encodings; real servers rarely use two.
pub const MAX_CONTENT_ENCODINGS: usize = 4;

/// Maximum window of zstd, 8 MiB (RFC 9659). The window is the memory of a decoder beside its output: 32 KiB for gzip, 16 MiB
/// for brotli (RFC 7932).
const ZSTD_WINDOW_LOG: u32 = 23;

/// Maximum number of gzip members of a body. Each one costs microseconds, even if it is empty and has 20 bytes; files with
/// many members (bgzip) have one for 64 KiB.
const MAX_GZIP_MEMBERS: usize = 4_096;

/// Maximum size of the input of the second and further decoders, as a multiple of the body, and its minimum. Compressed data is
/// hardly compressible: more is an attempt to multiply the work, because brotli takes a microsecond for a byte that defines
/// tables instead of output.
const MAX_INNER_EXPANSION: usize = 2;
const MIN_INNER_BYTES: usize = 64 << 10;

/// Maximum size of a decoded body for readers without a limit of their own; see [`max_decoded_bytes`].
const MAX_EXPANSION: usize = 16;
const MAX_DECODED_BYTES: usize = 16 << 20;
const MAX_LARGE_DECODED_BYTES: usize = 256 << 20;

/// A body without its content encodings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedBody<'b> {
    /// The decoded bytes, or the given bytes if there was nothing to decode; empty if the body is [`DecodeEnd::Undecodable`].
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
    /// Invalid or truncated data; the bytes decoded before it are returned.
    Broken,
    /// Nothing could be decoded, and the body is not plain text either: nothing is returned.
    Undecodable,
}

/// Maximum size to which a stored body of `encoded_bytes` is decoded for display and export: 16 MiB, as in the parser, or 16
/// times its size, up to 256 MiB. Only a decompression bomb exceeds it.
pub fn max_decoded_bytes(encoded_bytes: usize) -> usize {
    encoded_bytes.saturating_mul(MAX_EXPANSION).clamp(MAX_DECODED_BYTES, MAX_LARGE_DECODED_BYTES)
}

/// Decodes the comma-separated encodings of a `Content-Encoding` header; all of them together produce at most `max_bytes`.
///
/// Unknown encodings (`utf-8`, `none`) are ignored.
pub fn decode_content<'b>(bytes: &'b [u8], content_encoding: &str, max_bytes: usize) -> DecodedBody<'b> {
    let mut body = DecodedBody { bytes: Cow::Borrowed(bytes), end: DecodeEnd::Complete };
    let mut budget = max_bytes;
    let max_inner_bytes = bytes.len().saturating_mul(MAX_INNER_EXPANSION).max(MIN_INNER_BYTES);
    // The encoding that is listed last was applied last.
    let mut codings = content_encoding.rsplit(',').filter_map(Coding::from_name).peekable();
    for _ in 0..MAX_CONTENT_ENCODINGS {
        let Some(coding) = codings.next() else { return body };
        if body.bytes.is_empty() {
            return body;
        }
        let is_inner = codings.peek().is_some();
        let limit = if is_inner { budget.min(max_inner_bytes) } else { budget };
        let (decoded, end) = coding.decode(&body.bytes, limit);
        if end == DecodeEnd::Undecodable {
            // One encoding too many was declared, or the last one is invalid.
            if looks_like_text(&body.bytes) {
                continue;
            }
            return DecodedBody { bytes: Cow::Borrowed(&[]), end };
        }
        budget -= decoded.len();
        let end = if body.end == DecodeEnd::Complete { end } else { body.end };
        body = DecodedBody { bytes: Cow::Owned(decoded), end };
    }
    if codings.next().is_some() {
        return DecodedBody { bytes: Cow::Borrowed(&[]), end: DecodeEnd::Undecodable };
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

    /// Decodes a body that is not empty.
    fn decode(self, bytes: &[u8], max_bytes: usize) -> (Vec<u8>, DecodeEnd) {
        let mut out = Vec::new();
        // Formats without a magic number find some output in any bytes, and soon an end.
        let has_magic = matches!(self, Coding::Gzip | Coding::Zstd);
        let (end, unread) = match self {
            Coding::Gzip => (gunzip(bytes, max_bytes, &mut out), 0),
            Coding::Deflate => inflate(bytes, max_bytes, &mut out),
            Coding::Brotli => unbrotli(bytes, max_bytes, &mut out),
            Coding::Zstd => (unzstd(bytes, max_bytes, &mut out), 0),
        };
        let is_doubtful = end == DecodeEnd::Broken || end == DecodeEnd::Complete && unread > 0;
        let is_chance = || {
            let is_short = out.len() < MIN_SNIFFED_BYTES || unread > out.len();
            !has_magic && (is_short || looks_like_text(bytes) || !looks_like_text(&out))
        };
        if is_doubtful && (out.is_empty() || is_chance()) {
            return (Vec::new(), DecodeEnd::Undecodable);
        }
        (out, end)
    }
}

/// Number of bytes by which text is recognized; with fewer than the minimum, it may be so by chance.
const SNIFFED_BYTES: usize = 1 << 10;
const MIN_SNIFFED_BYTES: usize = 32;

/// Whether bytes begin as plain text or markup: no control characters, and UTF-8 unless there is a tag at the start.
fn looks_like_text(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    let is_binary = |byte: &u8| matches!(byte, 0..=8 | 0x0e..=0x1a | 0x1c..=0x1f);
    // The last character may be cut.
    let is_utf8 = || std::str::from_utf8(start).map_or_else(|error| error.error_len().is_none(), |_| true);
    !start.iter().any(is_binary) && (start.trim_ascii_start().starts_with(b"<") || is_utf8())
}

/// Decodes consecutive gzip members; other data after them is padding, which browsers ignore too.
fn gunzip(bytes: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> DecodeEnd {
    let mut rest = bytes;
    for _ in 0..MAX_GZIP_MEMBERS {
        let mut decoder = GzDecoder::new(rest);
        let end = drain(&mut decoder, max_bytes, out);
        rest = decoder.into_inner();
        if end != DecodeEnd::Complete || !rest.starts_with(b"\x1f\x8b") {
            return end;
        }
    }
    DecodeEnd::LimitReached
}

/// Decodes `deflate`: the zlib format of the standard, or the raw format that some servers send. The second value is the
/// number of bytes after the end.
fn inflate(bytes: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> (DecodeEnd, usize) {
    let is_zlib = matches!(bytes, [first, second, ..]
        if first & 0x0f == 8 && (u16::from(*first) << 8 | u16::from(*second)).is_multiple_of(31));
    if is_zlib {
        let end = drain(ZlibDecoder::new(bytes), max_bytes, out);
        if end != DecodeEnd::Broken || !out.is_empty() {
            return (end, 0);
        }
    }
    let mut decoder = DeflateDecoder::new(bytes);
    let end = drain(&mut decoder, max_bytes, out);
    (end, decoder.into_inner().len())
}

const BROTLI_BUFFER_BYTES: usize = 64 << 10;

/// Decodes brotli without the "large window" extension, which the reader of the library accepts. The second value is the
/// number of bytes after the end.
fn unbrotli(bytes: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> (DecodeEnd, usize) {
    let allocator = StandardAlloc::default;
    let mut state = BrotliState::new_strict(allocator(), allocator(), allocator());
    let mut buffer = vec![0; BROTLI_BUFFER_BYTES];
    let (mut unread, mut position, mut total) = (bytes.len(), 0, 0);
    loop {
        let (mut free, mut length) = (buffer.len(), 0);
        let result = BrotliDecompressStream(
            &mut unread,
            &mut position,
            bytes,
            &mut free,
            &mut length,
            &mut buffer,
            &mut total,
            &mut state,
        );
        let room = max_bytes - out.len();
        reserve(out, length.min(room), max_bytes);
        out.extend_from_slice(&buffer[..length.min(room)]);
        match result {
            _ if length > room => return (DecodeEnd::LimitReached, unread),
            BrotliResult::NeedsMoreOutput if length > 0 => {}
            BrotliResult::ResultSuccess => return (DecodeEnd::Complete, unread),
            _ => return (DecodeEnd::Broken, unread),
        }
    }
}

fn unzstd(bytes: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> DecodeEnd {
    let decoder = zstd::Decoder::with_buffer(bytes)
        .and_then(|mut decoder| decoder.window_log_max(ZSTD_WINDOW_LOG).map(|()| decoder));
    decoder.map_or(DecodeEnd::Broken, |decoder| drain(decoder, max_bytes, out))
}

/// Appends the output of a decoder to `out`, up to the maximum length of `out`.
fn drain(mut decoder: impl Read, max_bytes: usize, out: &mut Vec<u8>) -> DecodeEnd {
    while out.len() < max_bytes {
        let step = out.len().max(MIN_READ_BYTES).min(max_bytes - out.len());
        reserve(out, step, max_bytes);
        // On an error, `read_to_end` keeps the bytes before it.
        match decoder.by_ref().take(step as u64).read_to_end(out) {
            Ok(length) if length == step => {}
            Ok(_) => return DecodeEnd::Complete,
            Err(_) => return DecodeEnd::Broken,
        }
    }
    match decoder.read(&mut [0]) {
        Ok(0) => DecodeEnd::Complete,
        Ok(_) => DecodeEnd::LimitReached,
        Err(_) => DecodeEnd::Broken,
    }
}

/// Enough for most pages, so that they are read in one step.
const MIN_READ_BYTES: usize = 64 << 10;

/// Makes room in `out` for more bytes: doubled, as usual, but never beyond the maximum.
fn reserve(out: &mut Vec<u8>, additional: usize, max_bytes: usize) {
    if out.capacity() - out.len() < additional {
        let capacity = (out.len() + additional).max(out.capacity().saturating_mul(2)).min(max_bytes);
        out.reserve_exact(capacity - out.len());
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 1).unwrap()
    }

    /// Brotli stream of one uncompressed metablock, with a window of 64 KiB.
    fn brotli(bytes: &[u8]) -> Vec<u8> {
        let header = (bytes.len() as u32 - 1) << 4 | 1 << 20;
        [&header.to_le_bytes()[..3], bytes, &[3]].concat()
    }

    /// The same with a window of 1 GiB, which only the "large window" extension allows.
    fn large_window_brotli(bytes: &[u8]) -> Vec<u8> {
        let header = 30 | (bytes.len() as u32 - 1) << 9 | 1 << 25;
        [&[0x11][..], &header.to_le_bytes(), bytes, &[3]].concat()
    }

    fn zstd_with_window(bytes: &[u8], window_log: u32) -> Vec<u8> {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(window_log).unwrap();
        encoder.include_contentsize(false).unwrap();
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    type Encode = fn(&[u8]) -> Vec<u8>;
    const ENCODERS: [(&str, Encode); 5] =
        [("gzip", gzip), ("deflate", zlib), ("deflate", raw_deflate), ("br", brotli), ("zstd", zstd)];

    /// Page that does not compress well, so that encoded streams have many blocks.
    fn page(words: usize) -> Vec<u8> {
        let words = (0..words as u64)
            .map(|number| format!("<a href=/{:x}>w</a>", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        format!("<!doctype html><title>Page</title>{}", words.collect::<String>()).into_bytes()
    }

    #[test]
    fn encodings_are_decoded_from_the_last_to_the_first() {
        let body = zlib(&gzip(b"words"));
        for header in ["gzip, deflate", "X-GZIP,identity,\tDEFLATE", "utf-8, gzip, deflate, none"] {
            let decoded = decode_content(&body, header, 100);
            assert_eq!((&*decoded.bytes, decoded.end), (&b"words"[..], DecodeEnd::Complete), "{header}");
        }
        for (outer, encode_outer) in ENCODERS {
            for (inner, encode_inner) in ENCODERS {
                let body = encode_outer(&encode_inner(&page(50)));
                let decoded = decode_content(&body, &format!("{inner}, {outer}"), 1 << 20);
                assert_eq!(
                    (&*decoded.bytes, decoded.end),
                    (&*page(50), DecodeEnd::Complete),
                    "{inner}, {outer}"
                );
            }
        }
    }

    #[test]
    fn a_body_that_is_not_encoded_is_returned_unchanged() {
        for header in ["", "identity", "utf-8"] {
            let decoded = decode_content(b"<html>", header, 3);
            assert_eq!((&*decoded.bytes, decoded.end), (&b"<html>"[..], DecodeEnd::Complete), "{header}");
        }
        assert_eq!(decode_content(b"", "gzip", 9).end, DecodeEnd::Complete);
    }

    #[test]
    fn plain_text_that_is_declared_as_encoded_is_returned_unchanged() {
        let starts = (b'!'..=b'~').map(|letter| [&[letter][..], b"<html><p>caf\xe9 text</p>"].concat());
        let latin1 = b"\n<html><p>caf\xe9 text</p>".to_vec();
        let utf8 = starts.map(|text| String::from_utf8_lossy(&text).into_owned().into_bytes());
        for text in utf8.chain([latin1]) {
            for header in ["gzip", "deflate", "zstd", "br", "gzip, gzip", "br, gzip"] {
                let decoded = decode_content(&text, header, 100);
                let name = String::from_utf8_lossy(&text);
                assert_eq!((&*decoded.bytes, decoded.end), (&*text, DecodeEnd::Complete), "{header}: {name}");
            }
        }
        let once = gzip(&page(5));
        let decoded = decode_content(&once, "gzip, gzip", 1 << 20);
        assert_eq!((&*decoded.bytes, decoded.end), (&*page(5), DecodeEnd::Complete), "declared twice");
    }

    #[test]
    fn bytes_that_are_neither_encoded_nor_text_are_not_returned() {
        let garbage: Vec<u8> =
            page(40).iter().enumerate().map(|(at, byte)| byte.wrapping_mul(167) ^ at as u8).collect();
        for header in ["gzip", "deflate", "zstd", "br", "gzip, br"] {
            for start in 0..200 {
                let decoded = decode_content(&garbage[start..], header, 1 << 20);
                assert_eq!(
                    (decoded.bytes.len(), decoded.end),
                    (0, DecodeEnd::Undecodable),
                    "{header} from {start}"
                );
            }
        }
        for (name, encode) in ENCODERS {
            let wrong = if name == "gzip" { "zstd" } else { "gzip" };
            let body = encode(b"words");
            let decoded = decode_content(&body, wrong, 100);
            assert_eq!((decoded.bytes.len(), decoded.end), (0, DecodeEnd::Undecodable), "{name} as {wrong}");
        }
    }

    #[test]
    fn a_body_cut_at_any_length_is_never_complete_and_has_no_bytes_but_those_of_the_page() {
        let page = page(2_000);
        for (name, encode) in ENCODERS {
            let body = encode(&page);
            let ends = (3..60).chain((60..body.len() - 60).step_by(97)).chain(body.len() - 60..body.len());
            for end in ends {
                let decoded = decode_content(&body[..end], name, 1 << 20);
                assert!(page.starts_with(&decoded.bytes), "{name} cut at {end}");
                let expected =
                    if decoded.bytes.is_empty() { DecodeEnd::Undecodable } else { DecodeEnd::Broken };
                assert_eq!(decoded.end, expected, "{name} cut at {end}");
            }
            assert!(
                !decode_content(&body[..body.len() - 12], name, 1 << 20).bytes.is_empty() || name == "zstd"
            );
        }
    }

    #[test]
    fn windows_beyond_those_of_the_standards_are_rejected() {
        let words = b"<p>words</p>".repeat(4);
        assert_eq!(decode_content(&brotli(&words), "br", 1 << 20).end, DecodeEnd::Complete);
        assert_eq!(decode_content(&large_window_brotli(&words), "br", 1 << 20).end, DecodeEnd::Undecodable);
        for (window_log, expected) in
            [(ZSTD_WINDOW_LOG, DecodeEnd::Complete), (ZSTD_WINDOW_LOG + 1, DecodeEnd::Undecodable)]
        {
            let body = zstd_with_window(&words, window_log);
            assert_eq!(decode_content(&body, "zstd", 1 << 20).end, expected, "{window_log}");
        }
    }

    #[test]
    fn nested_encodings_share_one_limit() {
        let bomb = gzip(&vec![0; 4 << 20]);
        let nested = gzip(&bomb);
        let decoded = decode_content(&nested, "gzip, gzip", 1 << 20);
        assert_eq!(decoded.end, DecodeEnd::LimitReached);
        assert!(decoded.bytes.len() + bomb.len() <= 1 << 20, "{}", decoded.bytes.len());
        assert!(matches!(decoded.bytes, Cow::Owned(bytes) if bytes.capacity() <= 1 << 20));
        // The inner encoding is the larger part: blocks without output, which only cost time.
        let body = gzip(&gzip(b"").repeat(200_000));
        let decoded = decode_content(&body, "gzip, gzip", 64 << 20);
        assert_ne!(decoded.end, DecodeEnd::Complete);
    }

    #[test]
    fn a_large_body_is_decoded_up_to_a_multiple_of_its_size() {
        assert_eq!(max_decoded_bytes(1_000), 16 << 20);
        assert_eq!(max_decoded_bytes(2 << 20), 32 << 20);
        assert_eq!(max_decoded_bytes(usize::MAX), 256 << 20);
    }

    #[test]
    fn consecutive_gzip_members_are_decoded_and_padding_is_ignored() {
        let body = [gzip(b"a"), gzip(b"b"), b"\0\0garbage".to_vec()].concat();
        let decoded = decode_content(&body, "gzip", 100);
        assert_eq!((&*decoded.bytes, decoded.end), (&b"ab"[..], DecodeEnd::Complete));
    }

    #[test]
    fn the_limit_is_exact() {
        for (name, encode) in ENCODERS {
            let body = encode(&[b'x'; 1000]);
            for (limit, end) in
                [(999, DecodeEnd::LimitReached), (1000, DecodeEnd::Complete), (1001, DecodeEnd::Complete)]
            {
                let decoded = decode_content(&body, name, limit);
                assert_eq!((decoded.bytes.len(), decoded.end), (limit.min(1000), end), "{name}");
            }
        }
    }

    #[test]
    fn encodings_beyond_the_maximum_are_not_decoded() {
        let body = (0..=MAX_CONTENT_ENCODINGS).fold(b"words".to_vec(), |body, _| gzip(&body));
        let decoded = decode_content(&body, &["gzip"; MAX_CONTENT_ENCODINGS + 1].join(","), 1000);
        assert_eq!((decoded.bytes.len(), decoded.end), (0, DecodeEnd::Undecodable));
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
            prop_assert!(decoded.end != DecodeEnd::Undecodable || decoded.bytes.is_empty());
        }

        #[test]
        fn bytes_before_a_truncation_are_decoded(words in prop::collection::vec(any::<u8>(), 1..5000), cut in 0.0..1.0f64) {
            let body = gzip(&words);
            let cut = 18 + ((body.len() - 19) as f64 * cut) as usize;
            let decoded = decode_content(&body[..cut], "gzip", 1 << 20);
            prop_assert!(words.starts_with(&decoded.bytes));
            prop_assert_ne!(decoded.end, DecodeEnd::Complete);
        }
    }
}
