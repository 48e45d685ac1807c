//! Sparklines of the dashboard, as SVG coordinates.

use harvest::CounterSample;

pub(crate) const WIDTH: f64 = 240.0;
pub(crate) const HEIGHT: f64 = 40.0;

/// Line over the width of the graphic, scaled to its maximum.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sparkline {
    /// `points` of the polyline.
    pub(crate) line: String,
    /// `points` of the polygon below the line.
    pub(crate) area: String,
}

impl Sparkline {
    /// Sparkline of a gauge.
    pub(crate) fn from_values(samples: &[CounterSample], value: impl Fn(&CounterSample) -> u64) -> Sparkline {
        let points: Vec<_> = samples.iter().map(|sample| (sample.time_ms, value(sample) as f64)).collect();
        Sparkline::from_points(&points)
    }

    /// Sparkline of the rate per second of a counter.
    pub(crate) fn from_rates(samples: &[CounterSample], value: impl Fn(&CounterSample) -> u64) -> Sparkline {
        let rate = |pair: &[CounterSample]| {
            let ms = pair[1].time_ms.saturating_sub(pair[0].time_ms).max(1);
            (pair[1].time_ms, value(&pair[1]).saturating_sub(value(&pair[0])) as f64 * 1_000.0 / ms as f64)
        };
        Sparkline::from_points(&samples.windows(2).map(rate).collect::<Vec<_>>())
    }

    fn from_points(points: &[(u64, f64)]) -> Sparkline {
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return Sparkline::default() };
        let duration = last.0.saturating_sub(first.0).max(1) as f64;
        let max = points.iter().map(|(_, value)| *value).fold(f64::MIN_POSITIVE, f64::max);
        let point = |(time, value): &(u64, f64)| {
            let x = time.saturating_sub(first.0) as f64 / duration * WIDTH;
            let y = HEIGHT - 1.0 - value / max * (HEIGHT - 2.0);
            format!("{x:.1},{y:.1}")
        };
        let line = points.iter().map(point).collect::<Vec<_>>().join(" ");
        let area = format!("0,{HEIGHT} {line} {WIDTH},{HEIGHT}");
        Sparkline { line, area }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_spans_the_graphic() {
        let points = vec![(1_000, 0.0), (2_000, 10.0), (3_000, 5.0)];
        assert_eq!(Sparkline::from_points(&points).line, "0.0,39.0 120.0,1.0 240.0,20.0");
        assert_eq!(Sparkline::from_points(&[]), Sparkline::default());
        assert_eq!(Sparkline::from_points(&[(1, 0.0)]).line, "0.0,39.0");
    }
}
