//! What did the server compress? From a body as transferred to the body that was meant.
//!
//! Servers lie about encodings, connections break and bombs are sent, so this never fails: what could be decoded is
//! the answer, and beside it stands how the decoding ended. Chunks are not undone here: they belong to the transfer.

use std::borrow::Cow;
use std::io::Read;

use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};

/// How many encodings may lie on one another; nobody honest needs two.
pub const CONTENT_ENCODING_LIMIT: usize = 4;

/// The largest window of zstd, 8 MiB, as RFC 9659 has it for content on the Web.
const ZSTD_WINDOW_LOG: u32 = 23;

/// A body without its content encodings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedBody<'b> {
    /// What was decoded; the given bytes where there was nothing to decode.
    pub bytes: Cow<'b, [u8]>,
    /// Whether that is all.
    pub ended: Ended,
}

/// How a decoding ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With the end of the body.
    Complete,
    /// At the limit: there was more.
    LimitReached,
    /// Where the bytes made no sense, or were cut off. What could be decoded before counts. If that is nothing at all,
    /// the body was hardly encoded, whatever the header says, and is given as it came.
    Broken,
}

/// Undoes the encodings that the values of `Content-Encoding` name, separated by commas, up to `limit_bytes`.
///
/// Encodings that nobody registered (`utf-8`, `none`) are taken for misunderstandings and left alone.
pub fn decode_content<'b>(bytes: &'b [u8], content_encoding: &str, limit_bytes: usize) -> DecodedBody<'b> {
    let mut body = DecodedBody { bytes: Cow::Borrowed(bytes), ended: Ended::Complete };
    // The last one named was the last one applied.
    let mut codings = content_encoding.rsplit(',').filter_map(Coding::of);
    for coding in codings.by_ref().take(CONTENT_ENCODING_LIMIT) {
        if body.bytes.is_empty() {
            return body;
        }
        let (decoded, ended) = coding.decode(&body.bytes, limit_bytes);
        if decoded.is_empty() && ended == Ended::Broken {
            return DecodedBody { ended, ..body };
        }
        let ended = if body.ended == Ended::Complete { ended } else { body.ended };
        body = DecodedBody { bytes: Cow::Owned(decoded), ended };
    }
    if codings.next().is_some() {
        body.ended = Ended::Broken;
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
    fn of(name: &str) -> Option<Coding> {
        match name.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Some(Coding::Gzip),
            "deflate" => Some(Coding::Deflate),
            "br" => Some(Coding::Brotli),
            "zstd" => Some(Coding::Zstd),
            _ => None,
        }
    }

    fn decode(self, bytes: &[u8], limit_bytes: usize) -> (Vec<u8>, Ended) {
        let mut out = Vec::new();
        let ended = match self {
            Coding::Gzip => gunzip(bytes, limit_bytes, &mut out),
            Coding::Deflate => inflate(bytes, limit_bytes, &mut out),
            Coding::Brotli => {
                let decoder = brotli_decompressor::Decompressor::new(bytes, BROTLI_BUFFER_BYTES);
                drain(decoder, limit_bytes, &mut out)
            }
            Coding::Zstd => unzstd(bytes, limit_bytes, &mut out),
        };
        (out, ended)
    }
}

const BROTLI_BUFFER_BYTES: usize = 4 << 10;

/// Members follow one another; what follows them and is none is padding, which browsers ignore too.
fn gunzip(bytes: &[u8], limit_bytes: usize, out: &mut Vec<u8>) -> Ended {
    let mut rest = bytes;
    loop {
        let mut decoder = GzDecoder::new(rest);
        let ended = drain(&mut decoder, limit_bytes, out);
        rest = decoder.into_inner();
        if ended != Ended::Complete || !rest.starts_with(b"\x1f\x8b") {
            return ended;
        }
    }
}

/// The standard means zlib's format, and some servers send the bare one.
fn inflate(bytes: &[u8], limit_bytes: usize, out: &mut Vec<u8>) -> Ended {
    let is_zlib = matches!(bytes, [first, second, ..]
        if first & 0x0f == 8 && (u16::from(*first) << 8 | u16::from(*second)).is_multiple_of(31));
    if is_zlib {
        let ended = drain(ZlibDecoder::new(bytes), limit_bytes, out);
        if ended != Ended::Broken || !out.is_empty() {
            return ended;
        }
    }
    drain(DeflateDecoder::new(bytes), limit_bytes, out)
}

fn unzstd(bytes: &[u8], limit_bytes: usize, out: &mut Vec<u8>) -> Ended {
    let decoder = zstd::Decoder::with_buffer(bytes)
        .and_then(|mut decoder| decoder.window_log_max(ZSTD_WINDOW_LOG).map(|()| decoder));
    decoder.map_or(Ended::Broken, |decoder| drain(decoder, limit_bytes, out))
}

/// Appends what a decoder gives, up to the limit for all of `out`.
fn drain(mut decoder: impl Read, limit_bytes: usize, out: &mut Vec<u8>) -> Ended {
    let room = limit_bytes.saturating_sub(out.len()) as u64;
    // On an error, `read_to_end` leaves what came before it.
    if decoder.by_ref().take(room).read_to_end(out).is_err() {
        return Ended::Broken;
    }
    if out.len() < limit_bytes {
        return Ended::Complete;
    }
    match decoder.read(&mut [0]) {
        Ok(0) => Ended::Complete,
        Ok(_) => Ended::LimitReached,
        Err(_) => Ended::Broken,
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
    fn encodings_are_undone_from_the_last_to_the_first() {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(&gzip(b"words")).unwrap();
        let body = zlib.finish().unwrap();
        for header in ["gzip, deflate", "X-GZIP,identity,\tDEFLATE", "utf-8, gzip, deflate, none"] {
            let decoded = decode_content(&body, header, 100);
            assert_eq!((&*decoded.bytes, decoded.ended), (&b"words"[..], Ended::Complete), "{header}");
        }
    }

    #[test]
    fn a_body_that_is_not_encoded_is_given_as_it_came() {
        for header in ["", "identity", "utf-8"] {
            let decoded = decode_content(b"<html>", header, 3);
            assert_eq!((&*decoded.bytes, decoded.ended), (&b"<html>"[..], Ended::Complete), "{header}");
        }
        for header in ["gzip", "zstd", "br", "gzip, gzip"] {
            let decoded = decode_content(b"<html><body>text</body>", header, 100);
            assert_eq!((&decoded.bytes[..6], decoded.ended), (&b"<html>"[..], Ended::Broken), "{header}");
        }
        assert_eq!(decode_content(b"", "gzip", 9).ended, Ended::Complete);
    }

    #[test]
    fn members_follow_one_another_and_padding_is_ignored() {
        let body = [gzip(b"a"), gzip(b"b"), b"\0\0garbage".to_vec()].concat();
        let decoded = decode_content(&body, "gzip", 100);
        assert_eq!((&*decoded.bytes, decoded.ended), (&b"ab"[..], Ended::Complete));
    }

    #[test]
    fn the_limit_holds_to_the_byte() {
        let body = gzip(&[b'x'; 1000]);
        for (limit, ended) in [(999, Ended::LimitReached), (1000, Ended::Complete), (1001, Ended::Complete)] {
            let decoded = decode_content(&body, "gzip", limit);
            assert_eq!((decoded.bytes.len(), decoded.ended), (limit.min(1000), ended));
        }
    }

    #[test]
    fn too_many_encodings_are_not_undone_to_the_end() {
        let body = (0..=CONTENT_ENCODING_LIMIT).fold(b"words".to_vec(), |body, _| gzip(&body));
        let decoded = decode_content(&body, &["gzip"; CONTENT_ENCODING_LIMIT + 1].join(","), 1000);
        assert_eq!((&decoded.bytes[..2], decoded.ended), (&b"\x1f\x8b"[..], Ended::Broken));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived_within_the_limit(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            coding in prop::sample::select(vec!["gzip", "deflate", "br", "zstd"]),
            prefix in prop::sample::select(vec![&b""[..], b"\x1f\x8b\x08\0\0\0\0\0\0\x03", b"\x28\xb5\x2f\xfd", b"\x78\x9c"]),
        ) {
            let body = [prefix, &bytes].concat();
            let decoded = decode_content(&body, coding, 500);
            prop_assert!(decoded.bytes.len() <= body.len().max(500));
        }

        #[test]
        fn what_came_before_a_cut_counts(words in prop::collection::vec(any::<u8>(), 1..5000), cut in 0.0..1.0f64) {
            let body = gzip(&words);
            let cut = 18 + ((body.len() - 19) as f64 * cut) as usize;
            let decoded = decode_content(&body[..cut], "gzip", 1 << 20);
            if decoded.bytes.len() < cut || !body.starts_with(&decoded.bytes) {
                prop_assert!(words.starts_with(&decoded.bytes));
            }
            prop_assert_eq!(decoded.ended, Ended::Broken);
        }
    }
}
