//! Axes: scales, limits, ticks and number formats.

/// An axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Axis {
    /// Label, with unit.
    pub title: String,
    /// Scale.
    pub scale: Scale,
    /// Format of the tick labels.
    pub format: Format,
    /// Whether only integers are labelled.
    pub integers: bool,
    /// Limits; determined by the data if not set.
    pub limits: Option<(f64, f64)>,
}

/// Scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Linear.
    #[default]
    Linear,
    /// Logarithmic; only positive values can be shown.
    Log,
}

/// Number format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// A number: 0.25, 1,000, 20k, 3M.
    #[default]
    Number,
    /// A share of 1 as a percentage.
    Percent,
    /// A size: 20 kB, 3 MB.
    Bytes,
}

impl Format {
    /// Formats a value with at most `digits` decimals; a dash if it is not finite.
    pub fn value(self, value: f64, digits: usize) -> String {
        match self {
            _ if !value.is_finite() => "\u{2013}".to_owned(),
            Format::Number => short(value, digits),
            Format::Bytes => bytes(value, digits),
            Format::Percent => format!("{} %", trimmed(value * 100.0, digits)),
        }
    }
}

/// An axis with its limits and its position on the canvas.
#[derive(Debug, Clone)]
pub(crate) struct AxisScale {
    scale: Scale,
    low: f64,
    high: f64,
    /// Positions of `low` and `high`.
    from: f64,
    to: f64,
    pub(crate) ticks: Vec<Tick>,
}

/// A labelled value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

impl AxisScale {
    /// Creates the scale for these values, with about `target_ticks` ticks. Limits that are not set are extended to the
    /// next tick.
    pub(crate) fn new(axis: &Axis, values: impl Iterator<Item = f64>, target_ticks: usize) -> AxisScale {
        let usable = |value: &f64| value.is_finite() && (axis.scale == Scale::Linear || *value > 0.0);
        let range = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
        let seen = values.filter(usable).fold((f64::INFINITY, f64::NEG_INFINITY), range);
        let limits = axis.limits.filter(|(low, high)| usable(low) && usable(high) && low < high);
        let (low, high) = limits.unwrap_or_else(|| widened(seen, axis.scale));
        let (values, digits) = match axis.scale {
            Scale::Linear => {
                // At most one tick per integer.
                let max = if axis.integers { ((high - low).ceil() as usize).max(1) } else { target_ticks };
                linear_ticks(low, high, target_ticks.min(max), limits.is_none())
            }
            Scale::Log => (log_ticks(low, high, limits.is_none()), 12),
        };
        let (low, high) = match (limits, values.as_slice()) {
            (None, [first, .., last]) => (low.min(*first), high.max(*last)),
            _ => (low, high),
        };
        let extra = match axis.format {
            Format::Percent => digits.saturating_sub(2),
            Format::Bytes => digits.max(1),
            Format::Number => digits,
        };
        let ticks = values.into_iter().map(|value| Tick { value, label: axis.format.value(value, extra) });
        AxisScale { scale: axis.scale, low, high, from: 0.0, to: 1.0, ticks: ticks.collect() }
    }

    /// Sets the positions of the limits.
    pub(crate) fn between(self, from: f64, to: f64) -> AxisScale {
        AxisScale { from, to, ..self }
    }

    /// Position of a value; none if it cannot be shown. It may be outside the limits.
    pub(crate) fn position(&self, value: f64) -> Option<f64> {
        let (low, high, value) = match self.scale {
            Scale::Linear => (self.low, self.high, value),
            Scale::Log => (self.low.ln(), self.high.ln(), value.ln()),
        };
        let share = (value - low) / (high - low);
        share.is_finite().then_some(self.from + share * (self.to - self.from))
    }
}

/// Limits that contain the data: with 0 if it is near, and never empty.
fn widened((low, high): (f64, f64), scale: Scale) -> (f64, f64) {
    match scale {
        _ if low > high => (if scale == Scale::Log { 0.1 } else { 0.0 }, 1.0),
        Scale::Log if low == high => (low / 2.0, high * 2.0),
        Scale::Log => (low, high),
        Scale::Linear => {
            let (low, high) = if low == high { (low.min(0.0), high.max(0.0)) } else { (low, high) };
            let near_zero = low > 0.0 && low < (high - low) * 2.0;
            let high = if low == high { low + 1.0 } else { high };
            (if near_zero { 0.0 } else { low }, high)
        }
    }
}

/// Multiples of 1, 2 or 5 times a power of ten, and the number of decimals that distinguishes them.
fn linear_ticks(low: f64, high: f64, target_ticks: usize, outward: bool) -> (Vec<f64>, usize) {
    let rough = (high - low) / target_ticks.max(1) as f64;
    let power = rough.log10().floor();
    let unit = 10f64.powf(power);
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * unit >= rough * 0.999).unwrap_or(10.0);
    let digits = if step >= 10.0 { -power - 1.0 } else { -power };
    let step = step * unit;
    let (first, last) = if outward {
        ((low / step).floor(), (high / step).ceil())
    } else {
        ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor())
    };
    let count = (last - first).clamp(0.0, 100.0) as usize;
    ((0..=count).map(|index| (first + index as f64) * step).collect(), digits.clamp(0.0, 12.0) as usize)
}

/// Powers of ten; with multiples of 2 and 5 if there are few decades, and only some of them if there are many.
fn log_ticks(low: f64, high: f64, outward: bool) -> Vec<f64> {
    let (first, last) = ((low.log10() + 1e-9).floor() as i32, (high.log10() - 1e-9).ceil() as i32);
    let decades = last - first;
    let every = (decades / 8).max(0) as usize + 1;
    let steps: &[f64] = if decades <= 2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let all =
        (first..=last).step_by(every).flat_map(|power| steps.iter().map(move |s| s * 10f64.powi(power)));
    let all: Vec<f64> = all.collect();
    let below = all.iter().rposition(|tick| *tick <= low * 1.000_001).unwrap_or(0);
    let above = all.iter().position(|tick| *tick >= high * 0.999_999).unwrap_or(all.len() - 1);
    let inside = |tick: &f64| *tick >= low * 0.999_999 && *tick <= high * 1.000_001;
    if outward { all[below..=above].to_vec() } else { all.into_iter().filter(inside).collect() }
}

/// A number in the short form of tick labels.
fn short(value: f64, digits: usize) -> String {
    let size = value.abs();
    let (scaled, suffix) = match size {
        _ if size >= 1e9 => (value / 1e9, "G"),
        _ if size >= 1e6 => (value / 1e6, "M"),
        _ if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    if suffix.is_empty() && size >= 1_000.0 {
        let whole = format!("{size:.0}");
        let (thousands, rest) = whole.split_at(whole.len() - 3);
        return format!("{}{thousands},{rest}", if value < 0.0 { "\u{2212}" } else { "" });
    }
    if (size > 0.0 && size < 1e-3) || size >= 1e12 {
        let power = (size.log10() + 1e-9).floor();
        let times = match trimmed(value / 10f64.powf(power), 1) {
            one if one == "1" => String::new(),
            times => format!("{times} \u{d7} "),
        };
        return format!("{times}10{}", superscript(power as i32));
    }
    let digits = if suffix.is_empty() { digits } else { 2 };
    format!("{}{suffix}", trimmed(scaled, digits))
}

/// A power of ten in superscript digits.
pub fn superscript(power: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digit = |character: char| character.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize]);
    power.to_string().chars().map(digit).collect()
}

/// A size in a suitable unit.
fn bytes(value: f64, digits: usize) -> String {
    const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
    let thousands = (value.abs().max(1.0).log10() / 3.0 + 1e-9).floor().min(UNITS.len() as f64 - 1.0);
    format!("{} {}", trimmed(value / 1_000f64.powf(thousands), digits), UNITS[thousands as usize])
}

/// A number without trailing zeros, with a true minus sign.
fn trimmed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    match text.strip_prefix('-') {
        Some("0") => "0".to_owned(),
        Some(rest) => format!("\u{2212}{rest}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64]) -> Vec<String> {
        AxisScale::new(axis, values.iter().copied(), 5).ticks.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_numbers_that_contain_the_data() {
        let linear = Axis::default();
        assert_eq!(labels(&linear, &[0.0, 0.93]), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(&linear, &[0.0, 43_000.0]), ["0", "10k", "20k", "30k", "40k", "50k"]);
        assert_eq!(labels(&linear, &[-3.0, 4.0]), ["\u{2212}4", "\u{2212}2", "0", "2", "4"]);
        assert_eq!(labels(&linear, &[]), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(&linear, &[900.0, 2_500.0]), ["0", "500", "1,000", "1,500", "2,000", "2,500"]);
        let percent = Axis { format: Format::Percent, limits: Some((0.0, 0.5)), ..Axis::default() };
        assert_eq!(labels(&percent, &[]), ["0 %", "10 %", "20 %", "30 %", "40 %", "50 %"]);
        let bytes = Axis { scale: Scale::Log, format: Format::Bytes, ..Axis::default() };
        assert_eq!(labels(&bytes, &[10.0, 1e6]), ["10 B", "100 B", "1 kB", "10 kB", "100 kB", "1 MB"]);
        assert_eq!(Format::Bytes.value(1_234_567.0, 2), "1.23 MB");
        let axis = Axis { integers: true, ..Axis::default() };
        assert_eq!(labels(&axis, &[0.0, 3.0]), ["0", "1", "2", "3"]);
        let log = Axis { scale: Scale::Log, ..Axis::default() };
        assert_eq!(labels(&log, &[0.5, 2_000.0, -1.0]), ["0.1", "1", "10", "100", "1,000", "10k"]);
        assert_eq!(labels(&log, &[2e-6, 1e-3])[..2], ["10⁻⁶", "10⁻⁵"]);
        assert_eq!(labels(&log, &[1e12, 1e15])[..2], ["10¹²", "10¹³"]);
        assert_eq!(labels(&log, &[3.0, 40.0]), ["2", "5", "10", "20", "50"]);
    }

    #[test]
    fn extreme_values_are_handled() {
        let cases = [f64::NAN, f64::INFINITY, f64::MAX, f64::MIN_POSITIVE, -0.0, 1e-300];
        for scale in [Scale::Linear, Scale::Log] {
            let axis = Axis { scale, ..Axis::default() };
            for value in cases {
                for other in cases {
                    let scaled = AxisScale::new(&axis, [value, other].into_iter(), 5).between(0.0, 100.0);
                    assert!(scaled.ticks.len() < 120, "{value} {other}: {}", scaled.ticks.len());
                }
            }
        }
    }
}
