//! Periods of dates in queries: a year, month or day in UTC.

use std::fmt;

use parse::parse_date;

/// A year, a month or a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    year: u16,
    month: Option<u8>,
    day: Option<u8>,
}

impl Period {
    /// Parses `2024`, `2024-01` or `2024-01-31`; years from 1000 to 9998.
    pub fn parse(text: &str) -> Option<Period> {
        let mut parts = text.split('-');
        let year = number(parts.next()?, 4)?;
        let month = parts.next().map(|part| number(part, 2)).map_or(Some(None), |part| part.map(Some))?;
        let day = parts.next().map(|part| number(part, 2)).map_or(Some(None), |part| part.map(Some))?;
        let period = Period { year, month: month.map(|month| month as u8), day: day.map(|day| day as u8) };
        let is_complete = parts.next().is_none() && (1_000..=9_998).contains(&year);
        // is_in_calendar rejects days such as 31 April, which parse_date may accept.
        (is_complete && period.start_s().is_some() && period.is_in_calendar()).then_some(period)
    }

    /// First millisecond, in Unix time.
    pub fn start_ms(self) -> i64 {
        self.start_s().unwrap_or_default() * 1_000
    }

    /// First millisecond after the period.
    pub fn end_ms(self) -> i64 {
        match self {
            Period { month: Some(_), day: Some(_), .. } => self.start_ms() + 86_400_000,
            Period { year, month: Some(12), .. } | Period { year, month: None, .. } => {
                Period { year: year + 1, month: None, day: None }.start_ms()
            }
            Period { year, month: Some(month), .. } => {
                Period { year, month: Some(month + 1), day: None }.start_ms()
            }
        }
    }

    fn start_s(self) -> Option<i64> {
        let Period { year, month, day } = self;
        parse_date(&format!("{year:04}-{:02}-{:02}", month.unwrap_or(1), day.unwrap_or(1)))
    }

    fn is_in_calendar(self) -> bool {
        self.month.is_none_or(|month| (1..=12).contains(&month))
            && self.day.is_none_or(|day| {
                let month = Period { day: None, ..self };
                day >= 1 && month.start_ms() + (i64::from(day) - 1) * 86_400_000 < month.end_ms()
            })
    }
}

/// Parses a number with an exact number of digits.
fn number(text: &str, digits: usize) -> Option<u16> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

impl fmt::Display for Period {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:04}", self.year)?;
        self.month.iter().chain(&self.day).try_for_each(|part| write!(out, "-{part:02}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_follow_the_calendar() {
        let bounds = |text: &str| Period::parse(text).map(|p| (p.start_ms() / 1_000, p.end_ms() / 1_000));
        assert_eq!(bounds("1970"), Some((0, 365 * 86_400)));
        assert_eq!(bounds("1970-12"), Some((334 * 86_400, 365 * 86_400)));
        assert_eq!(bounds("2000-02-29"), Some((951_782_400, 951_868_800)));
        assert_eq!(bounds("2000-02"), Some((949_363_200, 951_868_800)));
        for wrong in
            ["", "24", "2024-", "2024-1", "2024-13", "2024-00", "2023-02-29", "2024-04-31", "9999", "0999"]
        {
            assert_eq!(bounds(wrong), None, "{wrong}");
        }
    }
}
