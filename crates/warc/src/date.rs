//! Dates of web archives: Unix milliseconds as WARC-Date (`2026-11-15T08:30:00.125Z`) and as CDX timestamp
//! (`20261115083000`).

use model::{civil_from_days, days_from_civil};

/// Formats a WARC-Date, with milliseconds unless they are zero.
pub(crate) fn warc_date(unix_ms: i64) -> String {
    let CivilTime { year, month, day, hour, minute, second, ms } = CivilTime::from_unix_ms(unix_ms);
    let fraction = if ms == 0 { String::new() } else { format!(".{ms:03}") };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// Formats the timestamp of a CDX index: 14 digits, to the second.
pub fn cdx_timestamp(unix_ms: i64) -> String {
    let CivilTime { year, month, day, hour, minute, second, .. } = CivilTime::from_unix_ms(unix_ms);
    format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}")
}

/// Parses a WARC-Date or a CDX timestamp to Unix milliseconds. Both may be shortened (`2026-11`, `2026`), as WARC 1.1
/// allows.
pub fn parse_date(text: &str) -> Option<i64> {
    let (whole, fraction) = text.trim().trim_end_matches('Z').split_once('.').unwrap_or((text, ""));
    let digits: Vec<i64> =
        whole.bytes().filter(u8::is_ascii_digit).map(|digit| i64::from(digit - b'0')).collect();
    let number = |from: usize, to: usize| {
        digits.get(from..to).map(|digits| digits.iter().fold(0, |number, digit| number * 10 + digit))
    };
    let year = number(0, 4)?;
    let (month, day) = (number(4, 6).unwrap_or(1), number(6, 8).unwrap_or(1));
    let clock = |from| number(from, from + 2).unwrap_or(0);
    let (hour, minute, second) = (clock(8), clock(10), clock(12));
    let valid =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    let ms = fraction.bytes().take_while(u8::is_ascii_digit).map(|digit| i64::from(digit - b'0'));
    let ms = ms.chain([0, 0, 0]).take(3).fold(0, |ms, digit| ms * 10 + digit);
    let seconds = days_from_civil(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    valid.then_some(seconds * 1_000 + ms)
}

struct CivilTime {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    ms: i64,
}

/// Times outside the years 0000 to 9999 are clamped: the formats have four digits for the year.
const EARLIEST_MS: i64 = -62_167_219_200_000;
const LATEST_MS: i64 = 253_402_300_799_999;

impl CivilTime {
    fn from_unix_ms(unix_ms: i64) -> CivilTime {
        let unix_ms = unix_ms.clamp(EARLIEST_MS, LATEST_MS);
        let (days, in_day) = (unix_ms.div_euclid(86_400_000), unix_ms.rem_euclid(86_400_000));
        let (year, month, day) = civil_from_days(days);
        CivilTime {
            year,
            month,
            day,
            hour: in_day / 3_600_000,
            minute: in_day / 60_000 % 60,
            second: in_day / 1_000 % 60,
            ms: in_day % 1_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_are_formatted_and_parsed() {
        assert_eq!(warc_date(0), "1970-01-01T00:00:00Z");
        assert_eq!(warc_date(951_782_400_125), "2000-02-29T00:00:00.125Z");
        assert_eq!(cdx_timestamp(1_794_731_400_000), "20261115083000");
        assert_eq!(parse_date("20261115083000"), Some(1_794_731_400_000));
        assert_eq!(parse_date("2026-11-15T08:30:00.5Z"), Some(1_794_731_400_500));
        assert_eq!(parse_date("2026"), parse_date("2026-01-01T00:00:00Z"));
    }

    #[test]
    fn an_invalid_date_is_rejected() {
        for text in ["", "-", "yesterday", "20261315000000", "2026-11-15T24:00:00Z"] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_formatted_date_is_parsed_to_the_same_time(unix_ms in EARLIEST_MS..=LATEST_MS) {
            prop_assert_eq!(parse_date(&warc_date(unix_ms)), Some(unix_ms));
            prop_assert_eq!(parse_date(&cdx_timestamp(unix_ms)), Some(unix_ms.div_euclid(1_000) * 1_000));
        }
    }
}
