//! Parses any text as a line of a CDXJ index and as a URL: a decoded line is encoded to an equal one, and keys have one line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warc::{CdxjEntry, cdx_timestamp, cdxj_key, parse_date};

fuzz_target!(|line: &str| {
    let key = cdxj_key(line);
    assert!(!key.is_empty() && key.is_ascii());
    assert!(!key.contains(|byte: char| byte.is_control() || byte == ' '), "{key:?}");
    if let Some(ms) = parse_date(line) {
        assert_eq!(cdx_timestamp(ms).len(), 14);
    }
    let line = line.lines().next().unwrap_or_default();
    if let Ok((entry, location, original)) = CdxjEntry::decode(line) {
        let encoded = entry.encode(&location, original.as_ref()).expect("strings and numbers are valid JSON");
        assert!(!encoded.contains('\n'));
        let again = CdxjEntry::decode(&encoded).expect("an encoded line can be decoded");
        assert_eq!(again, (entry, location, original));
    }
    if let Some(encoded) = store::fuzzing::reencode_index_line(line) {
        assert_eq!(store::fuzzing::reencode_index_line(&encoded), Some(encoded));
    }
});
