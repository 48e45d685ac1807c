//! Conformance test of content decoding with Scrapy's bodies: complete, nested, truncated, and decompression bombs.
#![allow(clippy::disallowed_methods, reason = "a test reads its cases from files")]

use parse::{DecodeEnd, decode_content};

const MAX_BYTES: usize = 1 << 20;

#[test]
fn all_samples_are_decoded_as_far_as_possible() {
    let dir = testkit::data("http/compressed");
    let read = |name: &str| std::fs::read(dir.join(name)).unwrap();
    for (name, header) in [
        ("html-gzip.bin", "gzip"),
        ("html-br.bin", "br"),
        ("html-gzip-deflate-gzip.bin", "gzip, deflate, gzip"),
        ("html-gzip-deflate.bin", "gzip, deflate"),
        ("html-rawdeflate.bin", "deflate"),
        ("html-zlibdeflate.bin", "deflate"),
        ("html-zstd-static-content-size.bin", "zstd"),
        ("html-zstd-static-no-content-size.bin", "zstd"),
        ("html-zstd-streaming-no-content-size.bin", "zstd"),
    ] {
        let body = read(name);
        let decoded = decode_content(&body, header, MAX_BYTES);
        let start = String::from_utf8_lossy(&decoded.bytes[..15]).to_ascii_lowercase();
        assert!(start == "<!doctype html>" && decoded.bytes.len() > 10_000, "{name}: {start}");
        assert_eq!(decoded.end, DecodeEnd::Complete, "{name}");
    }
    for (name, header) in [
        ("bomb-br.bin", "br"),
        ("bomb-deflate.bin", "deflate"),
        ("bomb-gzip.bin", "gzip"),
        ("bomb-zstd.bin", "zstd"),
    ] {
        let body = read(name);
        let decoded = decode_content(&body, header, MAX_BYTES);
        assert_eq!((decoded.bytes.len(), decoded.end), (MAX_BYTES, DecodeEnd::LimitReached), "{name}");
    }
    let expected = read("unexpected-eof-output.txt");
    let body = read("unexpected-eof.gz");
    let decoded = decode_content(&body, "gzip", MAX_BYTES);
    assert_eq!(decoded.end, DecodeEnd::Broken);
    // The expected file has one character for each byte.
    let characters: String = decoded.bytes.iter().map(|&byte| char::from(byte)).collect();
    assert!(characters.as_bytes() == expected);
    for name in ["truncated-crc-error-short.gz", "truncated-crc-error.gz"] {
        let body = read(name);
        let decoded = decode_content(&body, "gzip", MAX_BYTES);
        assert!(
            decoded.end == DecodeEnd::Broken && decoded.bytes.len() > 100,
            "{name}: {}",
            decoded.bytes.len()
        );
    }
}
