//! How are numbers, sizes and times shown to people?

/// A number with a comma after every three digits.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 page`, `2 pages`.
pub fn counted(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A size in the unit that suits it, to three digits.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1_000 {
        return counted(bytes, "byte");
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

/// A time to the second, in its two largest units: `59s`, `3m 20s`, `2h 5m`, `3d 4h`.
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

/// How much in a second, to three digits or so.
pub fn rate(per_second: f64) -> String {
    if per_second < 99.95 { format!("{per_second:.1}") } else { count(per_second.round() as u64) }
}

/// A day, given by a moment of it in Unix milliseconds: `2026-11-15`.
pub fn date(unix_ms: i64) -> String {
    let moment = time(unix_ms);
    moment.split(' ').next().unwrap_or_default().to_owned()
}

/// A moment, given in Unix milliseconds, to the second: `2026-11-15 08:30:00 UTC`.
pub fn time(unix_ms: i64) -> String {
    parse::date_text(unix_ms.div_euclid(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(["0", "999", "1,000", "12,345,678"], [0, 999, 1_000, 12_345_678].map(count));
        assert_eq!([counted(1, "page"), counted(2, "page")], ["1 page", "2 pages"]);
        let sizes = [1, 999, 1_234, 999_499, 999_999, 12_345_678, 4_000_000_000_000_000].map(size);
        assert_eq!(sizes, ["1 byte", "999 bytes", "1.23 kB", "999 kB", "1.00 MB", "12.3 MB", "4000 TB"]);
    }

    #[test]
    fn times_and_rates_read_well() {
        let times = [0, 59, 60, 200, 3_600, 3_601, 7_500, 90_000, 1_000_000].map(duration);
        assert_eq!(times, ["0s", "59s", "1m", "3m 20s", "1h", "1h", "2h 5m", "1d 1h", "11d 13h"]);
        assert_eq!([0.0, 1.26, 99.94, 99.96, 12_345.6].map(rate), ["0.0", "1.3", "99.9", "100", "12,346"]);
    }

    #[test]
    fn moments_read_well() {
        assert_eq!(time(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(time(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(time(1_794_731_400_999), "2026-11-15 08:30:00 UTC");
        assert_eq!(date(1_794_731_400_999), "2026-11-15");
        assert_eq!(time(-1), "1969-12-31 23:59:59 UTC");
    }
}
