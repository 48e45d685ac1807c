//! Formatting of values.

use serde::Deserialize;
use store::StatisticValue;

/// Meaning of a number, which determines its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Counts in full, other numbers with three digits, texts unchanged.
    #[default]
    Plain,
    /// A size: `12.3 kB`.
    Bytes,
    /// A share of 1: `12.3 %`.
    Share,
    /// A time in Unix seconds: `2026-11-16 08:30 UTC`.
    Time,
    /// A text that is the URL of a page.
    Url,
}

/// Placeholder for a missing value.
pub(crate) const NO_VALUE: &str = "\u{2013}";

impl Format {
    /// Parses the name of a format in a caption.
    pub(crate) fn parse(name: &str) -> Option<Format> {
        [("plain", Format::Plain), ("bytes", Format::Bytes), ("share", Format::Share)]
            .into_iter()
            .find_map(|(known, format)| (known == name).then_some(format))
    }

    pub(crate) fn format_value(self, value: &StatisticValue) -> String {
        match (value, value.as_f64()) {
            (StatisticValue::Text(text), _) => text.clone(),
            (_, Some(number)) => self.format_number(number),
            _ => NO_VALUE.to_owned(),
        }
    }

    pub(crate) fn format_number(self, number: f64) -> String {
        match self {
            Format::Bytes => plot::Format::Bytes.value(number, if number.abs() < 1_000.0 { 0 } else { 2 }),
            Format::Share => plot::Format::Percent.value(number, if number.abs() < 0.01 { 2 } else { 1 }),
            Format::Time => parse::format_date(number as i64),
            Format::Plain | Format::Url => plain(number),
        }
    }
}

/// Whole numbers with thousands separators; others with three significant digits.
fn plain(number: f64) -> String {
    let size = number.abs();
    let sign = if number < 0.0 { "\u{2212}" } else { "" };
    if !number.is_finite() {
        return NO_VALUE.to_owned();
    }
    if size < 1e15 && (size.fract() == 0.0 || size >= 1_000.0) {
        return format!("{sign}{}", grouped(size.round() as u64));
    }
    if !(1e-3..1e15).contains(&size) {
        let power = size.log10().floor();
        return format!("{sign}{:.2} \u{d7} 10{}", size / 10f64.powf(power), plot::superscript(power as i32));
    }
    let digits = (2 - size.log10().floor() as i32).max(0) as usize;
    format!("{sign}{size:.digits$}")
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let comma = |index: usize| index > 0 && (digits.len() - index).is_multiple_of(3);
    let with_commas = |(index, digit)| comma(index).then_some(',').into_iter().chain([digit]);
    digits.chars().enumerate().flat_map(with_commas).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted() {
        let numbers =
            [0.0, 7.0, 1_234_567.0, 12_345.6, 12.345, 0.012345, 0.000_001_234, -3.5, f64::NAN, 2e15];
        assert_eq!(
            numbers.map(plain),
            ["0", "7", "1,234,567", "12,346", "12.3", "0.0123", "1.23 × 10⁻⁶", "−3.50", "–", "2.00 × 10¹⁵"]
        );
        assert_eq!(Format::Share.format_number(0.123_45), "12.3 %");
        assert_eq!(Format::Share.format_number(0.001_234), "0.12 %");
        assert_eq!([12.0, 1_234.0].map(|bytes| Format::Bytes.format_number(bytes)), ["12 B", "1.23 kB"]);
        assert_eq!(Format::Plain.format_value(&StatisticValue::Null), "–");
        assert_eq!(Format::Url.format_value(&"http://a.test/".into()), "http://a.test/");
    }
}
