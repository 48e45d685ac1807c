//! Conformance test of charset detection with html5lib's cases of the encoding prescan, and properties for any bytes.
#![allow(clippy::disallowed_methods, reason = "a test reads its cases from a file")]

use parse::{CharsetSource, decode};
use proptest::prelude::*;

#[test]
fn all_html5lib_encoding_cases_pass() {
    let dir = testkit::data("html/encoding");
    let mut count = 0;
    for file in ["tests1.dat", "tests2.dat", "test-yahoo-jp.dat"] {
        let bytes = std::fs::read(dir.join(file)).unwrap();
        for (data, encoding) in cases(&bytes) {
            count += 1;
            let decoded = decode(data, None, None);
            // Without a declaration the cases expect windows-1252, as old browsers; Weir detects the charset instead.
            let declared = matches!(decoded.source, CharsetSource::Bom | CharsetSource::Document);
            let found = if declared { decoded.encoding.as_str() } else { "windows-1252" };
            assert_eq!(found, encoding, "{file}: {}", String::from_utf8_lossy(data));
        }
    }
    assert_eq!(count, 82);
}

/// Splits a file into cases: the bytes after each `#data` line and the name after the next `#encoding` line.
fn cases(file: &[u8]) -> Vec<(&[u8], String)> {
    const DATA: &[u8] = b"#data\n";
    const ENCODING: &[u8] = b"\n#encoding\n";
    let find = |bytes: &[u8], marker: &[u8]| bytes.windows(marker.len()).position(|window| window == marker);
    let mut cases = Vec::new();
    let mut rest = file;
    while let Some(start) = find(rest, DATA) {
        rest = &rest[start + DATA.len()..];
        let Some(end) = find(rest, ENCODING) else { break };
        let data = &rest[..end];
        rest = &rest[end + ENCODING.len()..];
        let name = rest.split(|&byte| byte == b'\n').next().unwrap_or_default();
        cases.push((data, String::from_utf8_lossy(name).trim().to_ascii_lowercase()));
    }
    cases
}

proptest! {
    #[test]
    fn any_bytes_decode_to_bounded_text(
        start in prop_oneof![Just(""), Just("<meta charset="), Just("<?xml encoding='"), Just("\u{feff}")],
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        header in prop::option::of("[ -~]{0,30}"),
        domain in prop::option::of(".{0,5}"),
    ) {
        let bytes = [start.as_bytes(), &bytes].concat();
        let decoded = decode(&bytes, header.as_deref(), domain.as_deref());
        prop_assert!(decoded.text.len() <= 3 * bytes.len());
    }

    #[test]
    fn valid_utf_8_without_declaration_is_returned_unchanged(text in "[^\u{1b}<\u{0}\u{feff}]{0,100}") {
        prop_assert_eq!(&*decode(text.as_bytes(), None, None).text, &text);
    }
}
