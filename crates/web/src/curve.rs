//! How is a number over the last minutes shown beside itself? As a small line, in the coordinates of an SVG.

use crawl::Sample;

pub(crate) const WIDTH: f64 = 240.0;
pub(crate) const HEIGHT: f64 = 40.0;

/// A line from the left to the right, and its highest value.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Curve {
    /// As `points` of a polyline.
    pub(crate) line: String,
    /// As `points` of the area below it.
    pub(crate) area: String,
}

impl Curve {
    /// Values as they are.
    pub(crate) fn of_values(samples: &[Sample], value: impl Fn(&Sample) -> u64) -> Curve {
        let points: Vec<_> = samples.iter().map(|sample| (sample.time_ms, value(sample) as f64)).collect();
        Curve::of(&points)
    }

    /// What was added in a second, by a counter.
    pub(crate) fn of_rates(samples: &[Sample], value: impl Fn(&Sample) -> u64) -> Curve {
        let rate = |pair: &[Sample]| {
            let ms = pair[1].time_ms.saturating_sub(pair[0].time_ms).max(1);
            (pair[1].time_ms, value(&pair[1]).saturating_sub(value(&pair[0])) as f64 * 1_000.0 / ms as f64)
        };
        Curve::of(&samples.windows(2).map(rate).collect::<Vec<_>>())
    }

    fn of(points: &[(u64, f64)]) -> Curve {
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return Curve::default() };
        let duration = last.0.saturating_sub(first.0).max(1) as f64;
        let highest = points.iter().map(|(_, value)| *value).fold(f64::MIN_POSITIVE, f64::max);
        let place = |(time, value): &(u64, f64)| {
            let x = time.saturating_sub(first.0) as f64 / duration * WIDTH;
            let y = HEIGHT - 1.0 - value / highest * (HEIGHT - 2.0);
            format!("{x:.1},{y:.1}")
        };
        let line = points.iter().map(place).collect::<Vec<_>>().join(" ");
        let area = format!("0,{HEIGHT} {line} {WIDTH},{HEIGHT}");
        Curve { line, area }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_from_edge_to_edge() {
        let points = vec![(1_000, 0.0), (2_000, 10.0), (3_000, 5.0)];
        assert_eq!(Curve::of(&points).line, "0.0,39.0 120.0,1.0 240.0,20.0");
        assert_eq!(Curve::of(&[]), Curve::default());
        assert_eq!(Curve::of(&[(1, 0.0)]).line, "0.0,39.0");
    }
}
