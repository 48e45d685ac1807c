//! When was it? Unix milliseconds as WARC-Date (`2026-11-15T08:30:00.125Z`) and as CDX timestamp (`20261115083000`).

/// As a WARC-Date: with a fraction where there is one.
pub(crate) fn warc_date(unix_ms: i64) -> String {
    let Civil { year, month, day, hour, minute, second, ms } = civil(unix_ms);
    let fraction = if ms == 0 { String::new() } else { format!(".{ms:03}") };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// As indexes of web archives write it: 14 digits, to the second.
pub(crate) fn timestamp(unix_ms: i64) -> String {
    let Civil { year, month, day, hour, minute, second, .. } = civil(unix_ms);
    format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}")
}

/// Unix milliseconds of a WARC-Date or a CDX timestamp; both may stop early (`2026-11`, `2026`), as WARC 1.1 allows.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
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

struct Civil {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    ms: i64,
}

/// The years that four digits can write; other times are as good as unknown.
const EARLIEST_MS: i64 = -62_167_219_200_000;
const LATEST_MS: i64 = 253_402_300_799_999;

/// The Gregorian calendar by eras of 400 years, as Howard Hinnant describes it in "chrono-compatible low-level date
/// algorithms".
fn civil(unix_ms: i64) -> Civil {
    let unix_ms = unix_ms.clamp(EARLIEST_MS, LATEST_MS);
    let (days, in_day) = (unix_ms.div_euclid(86_400_000), unix_ms.rem_euclid(86_400_000));
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    Civil {
        year: year_of_era + era * 400 + i64::from(month <= 2),
        month,
        day: day_of_year - (153 * from_march + 2) / 5 + 1,
        hour: in_day / 3_600_000,
        minute: in_day / 60_000 % 60,
        second: in_day / 1_000 % 60,
        ms: in_day % 1_000,
    }
}

fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_are_written_as_archives_write_them() {
        assert_eq!(warc_date(0), "1970-01-01T00:00:00Z");
        assert_eq!(warc_date(951_782_400_125), "2000-02-29T00:00:00.125Z");
        assert_eq!(timestamp(1_794_731_400_000), "20261115083000");
        assert_eq!(parse_date("20261115083000"), Some(1_794_731_400_000));
        assert_eq!(parse_date("2026-11-15T08:30:00.5Z"), Some(1_794_731_400_500));
        assert_eq!(parse_date("2026"), parse_date("2026-01-01T00:00:00Z"));
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in ["", "-", "yesterday", "20261315000000", "2026-11-15T24:00:00Z"] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_date_comes_back(unix_ms in EARLIEST_MS..=LATEST_MS) {
            prop_assert_eq!(parse_date(&warc_date(unix_ms)), Some(unix_ms));
            prop_assert_eq!(parse_date(&timestamp(unix_ms)), Some(unix_ms.div_euclid(1_000) * 1_000));
        }
    }
}
