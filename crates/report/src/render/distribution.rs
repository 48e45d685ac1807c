//! Distributions: a histogram, and the share at or above each value (CCDF), with the power-law fit.
//!
//! The statistic has one row per non-empty bin: `from`, `to`, the count, and the share of values at or above `from`
//! (`ccdf`). There are four bins per doubling; 0 has a bin of its own, which a logarithmic axis cannot show.

use plot::{Axis, Chart, Heading, Panels, Scale, Series, SeriesStyle, Shape};
use store::{PowerLaw, Statistic};

use super::series::{LabelledStatistic, axis_format, series_names, series_style};
use crate::figure::{DistributionSpec, Histogram};
use crate::report_input::column;

pub(super) fn draw(title: &str, of: &DistributionSpec, inputs: &[LabelledStatistic<'_>]) -> Option<String> {
    let bins: Vec<Vec<Bin>> = inputs.iter().map(|(_, statistic)| bins(statistic, &of.of)).collect();
    if bins.iter().all(|bins| bins.iter().filter(|bin| bin.count > 0.0).count() < 2) {
        return None;
    }
    let names = series_names(inputs);
    let name = |number: usize| names.get(number).cloned().unwrap_or_default();
    let mut histogram: Vec<Series> = Vec::new();
    let mut ccdf: Vec<Series> = Vec::new();
    for (number, bins) in bins.iter().enumerate() {
        let (shape, points) = match of.histogram {
            Histogram::Shares => (Shape::Area, outline(&joined(bins, of.integers))),
            Histogram::Density => (Shape::Scatter, densities(bins, of.integers)),
        };
        histogram.push(Series { name: name(number), shape, style: series_style(number), points });
        let points = bins.iter().filter_map(|bin| Some((bin.from, bin.ccdf?))).collect();
        ccdf.push(Series { name: name(number), shape: Shape::Line, style: series_style(number), points });
    }
    let is_fitted = inputs.iter().any(|(_, statistic)| statistic.power_law_fit.is_some());
    for (number, (_, statistic)) in inputs.iter().enumerate() {
        if let Some((fit, bins)) = statistic.power_law_fit.as_ref().zip(bins.get(number)) {
            let name = format!("power law, α = {:.2}", fit.alpha);
            ccdf.push(Series {
                name,
                style: SeriesStyle::Reference,
                shape: Shape::Line,
                points: law(fit, bins),
            });
        }
    }
    let x =
        Axis { title: of.x.clone(), scale: Scale::Log, format: axis_format(of.format), ..Axis::default() };
    let charts = vec![
        Chart { x: x.clone(), y: y_of_histogram(of), series: histogram, ..Chart::default() },
        Chart { x, y: y_of_ccdf(of, is_fitted), series: ccdf, ..Chart::default() },
    ];
    Some(
        Panels { title: title.to_owned(), heading: Heading::AccessibleOnly, charts, ..Panels::default() }
            .svg(),
    )
}

fn y_of_histogram(of: &DistributionSpec) -> Axis {
    match of.histogram {
        Histogram::Shares => Axis {
            title: format!("share of {} per bin", of.of),
            format: plot::Format::Percent,
            ..Axis::default()
        },
        Histogram::Density => {
            Axis { title: format!("share of {} per unit", of.of), scale: Scale::Log, ..Axis::default() }
        }
    }
}

/// The y axis of the CCDF. A power law is a straight line if both axes are logarithmic.
fn y_of_ccdf(of: &DistributionSpec, is_fitted: bool) -> Axis {
    let title = format!("share of {} at or above the value", of.of);
    // Powers of ten are more readable than percentages of a millionth.
    let (scale, format) = if is_fitted || of.histogram == Histogram::Density {
        (Scale::Log, plot::Format::Number)
    } else {
        (Scale::Linear, plot::Format::Percent)
    };
    Axis { title, scale, format, ..Axis::default() }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Bin {
    from: f64,
    to: f64,
    count: f64,
    /// Of all values.
    share: f64,
    ccdf: Option<f64>,
}

/// The bins that a logarithmic axis can show.
fn bins(statistic: &Statistic, of: &str) -> Vec<Bin> {
    let values = |name: &str| -> Vec<Option<f64>> {
        column(statistic, name).into_iter().flatten().map(store::StatisticValue::as_f64).collect()
    };
    let (from, to, count, ccdf) = (values("from"), values("to"), values(of), values("ccdf"));
    let all: f64 = count.iter().flatten().sum();
    let bin = |index: usize| {
        let count = (*count.get(index)?)?;
        let ccdf = ccdf.get(index).copied().flatten();
        Some(Bin { from: from[index]?, to: (*to.get(index)?)?, count, share: count / all, ccdf })
    };
    (0..from.len()).filter_map(bin).filter(|bin| bin.from > 0.0).collect()
}

/// Joins two bins into one, so that small integers leave no gaps.
fn joined(bins: &[Bin], integers: bool) -> Vec<Bin> {
    let mut joined: Vec<Bin> = Vec::new();
    for bin in bins {
        let pair = (4.0 * bin.from.log2()).round().div_euclid(2.0);
        let edge = |pair: f64| (pair / 2.0).exp2();
        match joined.last_mut().filter(|last| (last.from - edge(pair)).abs() < 1e-6 * last.from) {
            Some(last) => {
                last.count += bin.count;
                last.share += bin.share;
            }
            None => joined.push(Bin { from: edge(pair), to: edge(pair + 1.0), ..*bin }),
        }
    }
    if integers {
        joined.iter_mut().for_each(|bin| (bin.from, bin.to) = (bin.from.ceil(), bin.to.ceil()));
    }
    joined
}

/// Outline of the histogram, down to the axis at gaps and at both ends.
fn outline(bins: &[Bin]) -> Vec<(f64, f64)> {
    let mut points = Vec::with_capacity(bins.len() * 2);
    let mut ground = None;
    for bin in bins {
        if ground.is_none_or(|end: f64| (end - bin.from).abs() > 1e-6 * end) {
            points.extend(ground.map(|end| (end, 0.0)));
            points.push((bin.from, 0.0));
        }
        points.push((bin.from, bin.share));
        ground = Some(bin.to);
    }
    points.extend(ground.map(|end| (end, 0.0)));
    points
}

/// Share per unit of the value, at the geometric middle of the bin. For integers, the width of a bin is the number
/// of integers in it.
fn densities(bins: &[Bin], integers: bool) -> Vec<(f64, f64)> {
    let dense = |bin: &Bin| {
        let (from, to) = if integers { (bin.from.ceil(), bin.to.ceil()) } else { (bin.from, bin.to) };
        let middle = if integers { (from * (to - 1.0).max(from)).sqrt() } else { (from * to).sqrt() };
        (middle, bin.share / if integers { (to - from).max(1.0) } else { to - from })
    };
    bins.iter().filter(|bin| bin.count > 0.0).map(dense).collect()
}

/// Line of the power law, from x_min to the largest value. It starts at the observed share.
fn law(fit: &PowerLaw, bins: &[Bin]) -> Vec<(f64, f64)> {
    let zeros = 1.0 - bins.iter().map(|bin| bin.share).sum::<f64>();
    let start = fit.tail as f64 / fit.n.max(1) as f64 * (1.0 - zeros);
    // A law that falls faster than the data is cut a little below the lowest value.
    let lowest = bins.iter().filter_map(|bin| bin.ccdf).fold(1.0, f64::min) / 2.0;
    fit.line.iter().map(|(x, share)| (*x, start * share)).filter(|(_, y)| *y >= lowest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bin(from: f64, to: f64, share: f64) -> Bin {
        Bin { from, to, count: share * 100.0, share, ccdf: Some(1.0) }
    }

    #[test]
    fn bins_are_joined_in_pairs_and_gaps_are_preserved() {
        let edge = |number: f64| (number / 4.0).exp2();
        let bins = [
            bin(edge(0.0), edge(1.0), 0.5),
            bin(edge(4.0), edge(5.0), 0.25),
            bin(edge(5.0), edge(6.0), 0.25),
        ];
        let joined = joined(&bins, false);
        assert_eq!(joined.iter().map(|bin| bin.share).collect::<Vec<_>>(), [0.5, 0.5]);
        let outline = outline(&joined);
        assert_eq!(outline.iter().filter(|(_, y)| *y == 0.0).count(), 4, "{outline:?}");
    }

    #[test]
    fn integers_have_the_unit_one() {
        let dense = densities(&[bin(2.0, 2.378, 0.5), bin(9.51, 11.31, 0.2)], true);
        assert_eq!(dense, [(2.0, 0.5), (110f64.sqrt(), 0.1)]);
    }
}
