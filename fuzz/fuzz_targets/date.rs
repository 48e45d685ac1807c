//! Any string may be meant as a date: what is read lies in the years 1000 to 9999, and spaces around it do not matter.
#![no_main]

use libfuzzer_sys::fuzz_target;
use parse::parse_date;

/// 1000-01-01 and 10000-01-01 in Unix seconds, with a day to spare for time zones.
const YEARS: std::ops::Range<i64> = -30_610_224_000 - 86_400..253_402_300_800 + 86_400;

fuzz_target!(|text: &str| {
    let date = parse_date(text);
    assert!(date.is_none_or(|seconds| YEARS.contains(&seconds)));
    assert_eq!(parse_date(&format!(" {text}\n")), date);
});
