//! How is a value written for readers?

use serde::Deserialize;
use store::Value;

/// What a number means, and so how it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Counts in full, other numbers to three digits, words as they are.
    #[default]
    Plain,
    /// A size: `12.3 kB`.
    Bytes,
    /// A share of 1: `12.3 %`.
    Share,
    /// A moment, in Unix seconds: `2026-11-16 08:30 UTC`.
    Time,
    /// Words that are the address of a page.
    Url,
}

/// What stands where there is no value.
pub(crate) const NOTHING: &str = "\u{2013}";

impl Format {
    /// As name of a format in a caption; `None` for a name that is none.
    pub(crate) fn parse(name: &str) -> Option<Format> {
        [("plain", Format::Plain), ("bytes", Format::Bytes), ("share", Format::Share)]
            .into_iter()
            .find_map(|(known, format)| (known == name).then_some(format))
    }

    pub(crate) fn value(self, value: &Value) -> String {
        match (value, value.as_f64()) {
            (Value::Text(text), _) => text.clone(),
            (_, Some(number)) => self.number(number),
            _ => NOTHING.to_owned(),
        }
    }

    pub(crate) fn number(self, number: f64) -> String {
        match self {
            Format::Bytes => plot::Format::Bytes.value(number, if number.abs() < 1_000.0 { 0 } else { 2 }),
            Format::Share => plot::Format::Percent.value(number, if number.abs() < 0.01 { 2 } else { 1 }),
            Format::Time => parse::date_text(number as i64),
            Format::Plain | Format::Url => plain(number),
        }
    }
}

/// Whole numbers with a comma after every three digits; others to three digits that count.
fn plain(number: f64) -> String {
    let size = number.abs();
    let sign = if number < 0.0 { "\u{2212}" } else { "" };
    if !number.is_finite() {
        return NOTHING.to_owned();
    }
    if size < 1e15 && (size.fract() == 0.0 || size >= 1_000.0) {
        return format!("{sign}{}", grouped(size.round() as u64));
    }
    if !(1e-3..1e15).contains(&size) {
        let power = size.log10().floor();
        return format!("{sign}{:.2} \u{d7} 10{}", size / 10f64.powf(power), plot::raised(power as i32));
    }
    let digits = (2 - size.log10().floor() as i32).max(0) as usize;
    format!("{sign}{size:.digits$}")
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let comma = |place: usize| place > 0 && (digits.len() - place).is_multiple_of(3);
    let with_commas = |(place, digit)| comma(place).then_some(',').into_iter().chain([digit]);
    digits.chars().enumerate().flat_map(with_commas).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let numbers =
            [0.0, 7.0, 1_234_567.0, 12_345.6, 12.345, 0.012345, 0.000_001_234, -3.5, f64::NAN, 2e15];
        assert_eq!(
            numbers.map(plain),
            ["0", "7", "1,234,567", "12,346", "12.3", "0.0123", "1.23 × 10⁻⁶", "−3.50", "–", "2.00 × 10¹⁵"]
        );
        assert_eq!(Format::Share.number(0.123_45), "12.3 %");
        assert_eq!(Format::Share.number(0.001_234), "0.12 %");
        assert_eq!([12.0, 1_234.0].map(|bytes| Format::Bytes.number(bytes)), ["12 B", "1.23 kB"]);
        assert_eq!(Format::Plain.value(&Value::Null), "–");
        assert_eq!(Format::Url.value(&"http://a.test/".into()), "http://a.test/");
    }
}
