//! Parses any string as a date: the result is between the years 1000 and 9999, and surrounding spaces have no effect.
#![no_main]

use libfuzzer_sys::fuzz_target;
use parse::parse_date;

/// 1000-01-01 to 10000-01-01 in Unix seconds, with one day of tolerance for time zones.
const YEARS: std::ops::Range<i64> = -30_610_224_000 - 86_400..253_402_300_800 + 86_400;

fuzz_target!(|text: &str| {
    let date = parse_date(text);
    assert!(date.is_none_or(|seconds| YEARS.contains(&seconds)));
    assert_eq!(parse_date(&format!(" {text}\n")), date);
});
