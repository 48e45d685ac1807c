//! Formatting of numbers, sizes and times for people.

/// A number with thousands separators.
pub fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with a noun: `1 page`, `2 pages`.
pub fn plural(count: u64, thing: &str) -> String {
    let ending = match count {
        1 => "",
        _ if thing.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {thing}{ending}", number(count))
}

/// A size in a suitable unit, with three digits.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1_000 {
        return plural(bytes, "byte");
    }
    let mut value = bytes as f64 / 1_000.0;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1_000.0;
        unit += 1;
    }
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// A duration in its two largest units: `59s`, `3m 20s`, `2h 5m`, `3d 4h`.
pub fn duration(seconds: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
    let largest = UNITS.iter().position(|(_, unit)| seconds >= *unit).unwrap_or(UNITS.len() - 1);
    let (name, unit) = UNITS[largest];
    let text = format!("{}{name}", seconds / unit);
    match UNITS.get(largest + 1) {
        Some((name, smaller)) if seconds % unit >= *smaller => {
            format!("{text} {}{name}", seconds % unit / smaller)
        }
        _ => text,
    }
}

/// A rate per second, with about three digits.
pub fn rate(per_second: f64) -> String {
    if per_second < 99.95 { format!("{per_second:.1}") } else { number(per_second.round() as u64) }
}

/// The date of a time in Unix milliseconds: `2026-11-15`.
pub fn date(unix_ms: i64) -> String {
    let moment = timestamp(unix_ms);
    moment.split(' ').next().unwrap_or_default().to_owned()
}

/// A time in Unix milliseconds, to the second: `2026-11-15 08:30:00 UTC`.
pub fn timestamp(unix_ms: i64) -> String {
    parse::format_date(unix_ms.div_euclid(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_sizes_are_formatted() {
        assert_eq!(["0", "999", "1,000", "12,345,678"], [0, 999, 1_000, 12_345_678].map(number));
        assert_eq!([plural(1, "page"), plural(2, "page")], ["1 page", "2 pages"]);
        let sizes = [1, 999, 1_234, 999_499, 999_999, 12_345_678, 4_000_000_000_000_000].map(bytes);
        assert_eq!(sizes, ["1 byte", "999 bytes", "1.23 kB", "999 kB", "1.00 MB", "12.3 MB", "4000 TB"]);
    }

    #[test]
    fn durations_and_rates_are_formatted() {
        let times = [0, 59, 60, 200, 3_600, 3_601, 7_500, 90_000, 1_000_000].map(duration);
        assert_eq!(times, ["0s", "59s", "1m", "3m 20s", "1h", "1h", "2h 5m", "1d 1h", "11d 13h"]);
        assert_eq!([0.0, 1.26, 99.94, 99.96, 12_345.6].map(rate), ["0.0", "1.3", "99.9", "100", "12,346"]);
    }

    #[test]
    fn times_are_formatted() {
        assert_eq!(timestamp(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(timestamp(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(timestamp(1_794_731_400_999), "2026-11-15 08:30:00 UTC");
        assert_eq!(date(1_794_731_400_999), "2026-11-15");
        assert_eq!(timestamp(-1), "1969-12-31 23:59:59 UTC");
    }
}
