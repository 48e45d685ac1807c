//! Decodes any bytes: the text is bounded, and declaring the detected charset gives the same text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use parse::{CharsetSource, decode};

fuzz_target!(|bytes: &[u8]| {
    let decoded = decode(bytes, None, None);
    assert!(decoded.text.len() <= 3 * bytes.len() + 3);
    if decoded.source == CharsetSource::Utf8 {
        // The page may be truncated within its last character.
        let valid = std::str::from_utf8(bytes);
        assert!(
            valid.is_ok_and(|text| text == decoded.text)
                || valid.is_err_and(|error| error.error_len().is_none())
        );
        assert_eq!(decoded.had_errors, valid.is_err());
    }
    let named = format!("text/html; charset=\"{}\"", decoded.encoding);
    assert_eq!(decode(bytes, Some(&named), None).text, decoded.text);

    // The same bytes as a hostile header and domain.
    let header = String::from_utf8_lossy(bytes);
    decode(bytes, Some(&header), Some(&header));
});
