//! Dates as seconds since 1970, formatted for HTTP and ISO 8601.

use std::fmt::Write;

/// Unix time in seconds.
pub type Moment = u64;

/// Beginning of this Web: 2026-01-01.
pub const EPOCH: Moment = 1_767_225_600;

const DAY_S: u64 = 86_400;
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

struct Civil {
    year: u64,
    month: u64,
    day: u64,
}

/// Converts to a calendar date, in cycles of 400 years from 1 March of year 0.
fn civil(moment: Moment) -> Civil {
    let days = moment / DAY_S + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    Civil { year, month, day: day_of_year - (153 * shifted + 2) / 5 + 1 }
}

/// Formats an HTTP date: `Thu, 01 Jan 2026 00:00:00 GMT`.
pub(crate) fn http_date(moment: Moment) -> String {
    let Civil { year, month, day } = civil(moment);
    let weekday = WEEKDAYS[(moment / DAY_S % 7) as usize];
    let (hour, minute, second) = clock(moment);
    format!("{weekday}, {day:02} {} {year} {hour:02}:{minute:02}:{second:02} GMT", MONTHS[month as usize - 1])
}

/// Parses an HTTP date as written by [`http_date`].
pub(crate) fn parse_http_date(text: &str) -> Option<Moment> {
    let mut parts = text.split_once(", ")?.1.split([' ', ':']);
    let day: u64 = parts.next()?.parse().ok()?;
    let name = parts.next()?;
    let month = MONTHS.iter().position(|&month| month == name)? as u64 + 1;
    let year: u64 = parts.next()?.parse().ok()?;
    let mut number = || parts.next()?.parse::<u64>().ok();
    let (hour, minute, second) = (number()?, number()?, number()?);
    if !(1970..10_000).contains(&year) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60
    {
        return None;
    }
    let (shifted_year, shifted_month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = shifted_year * 365 + shifted_year / 4 - shifted_year / 100 + shifted_year / 400;
    let day_number = days + (153 * shifted_month + 2) / 5 + day - 1 - 719_468;
    Some(day_number * DAY_S + hour * 3600 + minute * 60 + second)
}

/// Appends `2026-01-01T00:00:00Z`.
pub(crate) fn push_iso(out: &mut impl Write, moment: Moment) {
    push_iso_day(out, moment);
    let (hour, minute, second) = clock(moment);
    let _ = write!(out, "T{hour:02}:{minute:02}:{second:02}Z");
}

/// Appends `2026-01-01`.
pub(crate) fn push_iso_day(out: &mut impl Write, moment: Moment) {
    let Civil { year, month, day } = civil(moment);
    let _ = write!(out, "{year:04}-{month:02}-{day:02}");
}

fn clock(moment: Moment) -> (u64, u64, u64) {
    let second = moment % DAY_S;
    (second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_dates_are_formatted() {
        assert_eq!(http_date(EPOCH), "Thu, 01 Jan 2026 00:00:00 GMT");
        assert_eq!(http_date(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(http_date(1_709_251_199), "Thu, 29 Feb 2024 23:59:59 GMT");
        let mut iso = String::new();
        push_iso(&mut iso, EPOCH + 86_399);
        assert_eq!(iso, "2026-01-01T23:59:59Z");
    }

    #[test]
    fn formatted_dates_are_parsed_back() {
        for moment in (0..4_000_000_000).step_by(40_000_003) {
            assert_eq!(parse_http_date(&http_date(moment)), Some(moment));
        }
        for bad in ["", "yesterday", "Thu, 01 Foo 2026 00:00:00 GMT", "Thu, 01 Jan 0001 00:00:00 GMT"] {
            assert_eq!(parse_http_date(bad), None, "{bad}");
        }
    }
}
