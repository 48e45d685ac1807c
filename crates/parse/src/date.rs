//! Parsing of dates in sitemaps, feeds, headers and pages.
//!
//! Formats: W3C and ISO 8601 (`2024-05-17T10:00:00+02:00`, or any prefix down to the year), RFC 822 and its successors
//! (`Fri, 17 May 2024 10:00 GMT`), RFC 850, asctime, and words (`May 17, 2024`). A date without a zone is UTC.

use model::{civil_from_days, days_from_civil};

/// Maximum length of a date; the longest ones in use have about forty characters.
const MAX_DATE_BYTES: usize = 80;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Zones of RFC 822 with their hours from UTC; other names are UTC.
const ZONES: [(&str, i64); 9] = [
    ("est", -5),
    ("edt", -4),
    ("cst", -6),
    ("cdt", -5),
    ("mst", -7),
    ("mdt", -6),
    ("pst", -8),
    ("pdt", -7),
    ("cest", 2),
];

/// Parses a date as Unix time in seconds; `None` if it is not a date between the years 1000 and 9999.
pub fn parse_date(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.len() > MAX_DATE_BYTES || !text.is_ascii() {
        return None;
    }
    let text = text.to_ascii_lowercase();
    if text.as_bytes().get(..4)?.iter().all(u8::is_ascii_digit) { numeric(&text) } else { verbal(&text) }
}

/// Formats a Unix time in seconds: `2026-11-15 08:30:00 UTC`.
pub fn format_date(unix_s: i64) -> String {
    let (year, month, day) = civil_from_days(unix_s.div_euclid(86_400));
    let second = unix_s.rem_euclid(86_400);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Parses `2024`, `2024-05`, `2024-05-17` or `20240517`; the last two may be followed by a time.
fn numeric(text: &str) -> Option<i64> {
    let (year, rest) = number(text, 4)?;
    let separator = ['-', '/', '.'];
    let Some((month, rest)) = number(rest.strip_prefix(separator).unwrap_or(rest), 2) else {
        return rest.is_empty().then(|| days(year, 1, 1))?.map(|days| days * 86_400);
    };
    let Some((day, rest)) = number(rest.strip_prefix(separator).unwrap_or(rest), 2) else {
        return rest.is_empty().then(|| days(year, month, 1))?.map(|days| days * 86_400);
    };
    let seconds = time_and_zone(rest.trim_start_matches(['t', ' ', ',']))?;
    Some(days(year, month, day)? * 86_400 + seconds)
}

/// Parses up to `width` digits, at least one.
fn number(text: &str, width: usize) -> Option<(i64, &str)> {
    let digits = text.bytes().take(width).take_while(u8::is_ascii_digit).count();
    Some((text[..digits].parse().ok()?, &text[digits..]))
}

/// Parses a time of day and a zone as seconds; an empty text is midnight UTC.
fn time_and_zone(text: &str) -> Option<i64> {
    if text.is_empty() {
        return Some(0);
    }
    let mut rest = text;
    let mut fields = [0; 3];
    for (at, field) in fields.iter_mut().enumerate() {
        let next = if at == 0 { rest } else { rest.strip_prefix(':').unwrap_or(rest) };
        // Without colons the minutes are required and the seconds optional: 1000 and 100000 are times.
        match number(next, 2) {
            Some((value, after)) => (*field, rest) = (value, after),
            None if at == 2 => {}
            None => return None,
        }
    }
    let [hours, minutes, seconds] = fields;
    // A leap second is treated as the second before it.
    if hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    Some(hours * 3_600 + minutes * 60 + seconds.min(59) - zone(rest.trim())?)
}

/// Parses a zone as its offset from UTC in seconds.
fn zone(text: &str) -> Option<i64> {
    let name = text.trim_start_matches(['u', 't', 'c', 'g', 'm']);
    let Some(sign) = name.chars().next().filter(|sign| ['+', '-'].contains(sign)) else {
        let named = ZONES.iter().find(|(zone, _)| text == *zone);
        return Some(named.map_or(0, |(_, hours)| hours * 3_600));
    };
    let (hours, rest) = number(&name[1..], 2)?;
    let minutes = number(rest.strip_prefix(':').unwrap_or(rest), 2).map_or(0, |(minutes, _)| minutes);
    let ahead = hours * 3_600 + minutes * 60;
    (ahead <= 86_400).then_some(if sign == '-' { -ahead } else { ahead })
}

/// Parses a date with the month as a word, with day and year in any order.
fn verbal(text: &str) -> Option<i64> {
    let (mut month, mut day, mut year, mut time) = (None, None, None, None);
    // A hyphen separates the parts of 17-May-24, but before digits at the end it is the sign of a zone.
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
        rest = &rest[start..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != ':').unwrap_or(rest.len());
        let word = &rest[..end];
        if word.contains(':') {
            // asctime has the year after the time.
            let tail = rest[end..].trim_start();
            let year_after = number(tail, 4).filter(|(value, _)| year.is_none() && *value >= 1000);
            let clock = if year_after.is_some() { word } else { rest };
            time = Some(time_and_zone(clock)?);
            year = year.or(year_after.map(|(value, _)| value));
            break;
        }
        if let Some(at) = MONTHS.iter().position(|name| word.starts_with(name)) {
            month = Some(at as i64 + 1);
        } else if let Some((value, after)) = number(word, 4) {
            let is_day =
                day.is_none() && (1..=31).contains(&value) && ["", "st", "nd", "rd", "th"].contains(&after);
            if is_day { day = Some(value) } else { year = year.or(Some(full_year(value, word.len()))) }
        }
        rest = &rest[end..];
    }
    Some(days(year?, month?, day.unwrap_or(1))? * 86_400 + time.unwrap_or(0))
}

/// Expands two digits to the years 1970 to 2069, as in RFC 6265.
fn full_year(value: i64, digits: usize) -> i64 {
    match (digits, value) {
        (..=2, 70..) => 1900 + value,
        (..=2, _) => 2000 + value,
        _ => value,
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1000..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    Some(days_from_civil(year, month, day))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2024-05-17T10:00:00Z
    const MAY_17: i64 = 1_715_940_000;

    #[test]
    fn all_formats_give_the_same_time() {
        for text in [
            "2024-05-17T10:00:00Z",
            " 2024-05-17T12:00:00+02:00 ",
            "2024-05-17T05:30:00.125-0430",
            "2024-05-17 10:00",
            "2024-05-17 10:00:00 UTC",
            "2024/05/17 10:00:00",
            "20240517T100000Z",
            "Fri, 17 May 2024 10:00:00 GMT",
            "fri, 17 may 2024 10:00 +0000",
            "17 May 24 06:00:00 EDT",
            "Friday, 17-May-24 10:00:00 GMT",
            "Fri May 17 10:00:00 2024",
            "Fri, 17 May 2024 12:00:00 GMT+0200",
            "May 17, 2024 10:00:00",
        ] {
            assert_eq!(parse_date(text), Some(MAY_17), "{text}");
        }
    }

    #[test]
    fn missing_parts_default_to_their_minimum() {
        let midnight = MAY_17 - 36_000;
        for text in ["2024-05-17", "20240517", "May 17th, 2024", "17 May 2024", "2024-05-17T"] {
            assert_eq!(parse_date(text), Some(midnight), "{text}");
        }
        assert_eq!(parse_date("2024-05"), Some(midnight - 16 * 86_400));
        assert_eq!(parse_date("May 2024"), Some(midnight - 16 * 86_400));
        assert_eq!(parse_date("1970"), Some(0));
        assert_eq!(parse_date("1969-12-31T23:59:59Z"), Some(-1));
        assert_eq!(parse_date("2000-03-01"), Some(951_868_800));
    }

    #[test]
    fn invalid_dates_are_rejected() {
        for text in [
            "",
            "now",
            "0000-00-00",
            "2024-13-01",
            "2024-05-17T25:00:00Z",
            "12",
            "May",
            "2024-05-17Tx",
            "\u{4e94}",
        ] {
            assert_eq!(parse_date(text), None, "{text}");
        }
        assert_eq!(parse_date(&"2024-05-17 ".repeat(100)), None);
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_within_range(text in "[-0-9a-zA-Z:+., ]{0,40}", noise in ".{0,20}") {
            let year = 366 * 86_400;
            for date in [parse_date(&text), parse_date(&noise)].into_iter().flatten() {
                prop_assert!((-970 * year..8_100 * year).contains(&date));
            }
        }
    }
}
