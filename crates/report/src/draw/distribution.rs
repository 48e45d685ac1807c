//! A distribution twice: as a histogram, and as the share that has at least each value (CCDF), with the power law that fits.
//!
//! The statistic has a row for each bin that is not empty: `from`, `to`, how many, and the share of values at `from` or above
//! (`ccdf`). There are four bins to a doubling; 0 has a bin of its own, which a logarithmic axis cannot show.

use plot::{Axis, Chart, Heading, Panels, Scale, Series, Shape, Tone};
use store::{PowerLaw, Statistic};

use super::{Named, axis_format, series_names, tone};
use crate::figure::{DistributionOf, Histogram};
use crate::side::column;

pub(super) fn draw(title: &str, of: &DistributionOf, sides: &[Named<'_>]) -> Option<String> {
    let bins: Vec<Vec<Bin>> = sides.iter().map(|(_, statistic)| bins(statistic, &of.of)).collect();
    if bins.iter().all(|bins| bins.iter().filter(|bin| bin.count > 0.0).count() < 2) {
        return None;
    }
    let names = series_names(sides);
    let name = |number: usize| names.get(number).cloned().unwrap_or_default();
    let mut histogram: Vec<Series> = Vec::new();
    let mut ccdf: Vec<Series> = Vec::new();
    for (number, bins) in bins.iter().enumerate() {
        let (shape, points) = match of.histogram {
            Histogram::Shares => (Shape::Area, outline(&joined(bins, of.whole))),
            Histogram::Density => (Shape::Scatter, densities(bins, of.whole)),
        };
        histogram.push(Series { name: name(number), shape, tone: tone(number), points });
        let points = bins.iter().filter_map(|bin| Some((bin.from, bin.ccdf?))).collect();
        ccdf.push(Series { name: name(number), shape: Shape::Line, tone: tone(number), points });
    }
    let is_fitted = sides.iter().any(|(_, statistic)| statistic.fit.is_some());
    for (number, (_, statistic)) in sides.iter().enumerate() {
        if let Some((fit, bins)) = statistic.fit.as_ref().zip(bins.get(number)) {
            let name = format!("power law, α = {:.2}", fit.alpha);
            ccdf.push(Series { name, tone: Tone::Reference, shape: Shape::Line, points: law(fit, bins) });
        }
    }
    let x =
        Axis { title: of.x.clone(), scale: Scale::Log, format: axis_format(of.format), ..Axis::default() };
    let charts = vec![
        Chart { x: x.clone(), y: y_of_histogram(of), series: histogram, ..Chart::default() },
        Chart { x, y: y_of_ccdf(of, is_fitted), series: ccdf, ..Chart::default() },
    ];
    Some(Panels { title: title.to_owned(), heading: Heading::Told, charts, ..Panels::default() }.svg())
}

fn y_of_histogram(of: &DistributionOf) -> Axis {
    match of.histogram {
        Histogram::Shares => {
            Axis { title: format!("{} in each bin", of.of), format: plot::Format::Percent, ..Axis::default() }
        }
        Histogram::Density => {
            Axis { title: format!("share of {} per unit", of.of), scale: Scale::Log, ..Axis::default() }
        }
    }
}

/// A power law is straight if both axes are logarithmic.
fn y_of_ccdf(of: &DistributionOf, is_fitted: bool) -> Axis {
    let title = format!("{} with at least so much", of.of);
    // Percentages of a millionth say less than powers of ten.
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

/// The bins that the axis can show.
fn bins(statistic: &Statistic, of: &str) -> Vec<Bin> {
    let values = |name: &str| -> Vec<Option<f64>> {
        column(statistic, name).into_iter().flatten().map(store::Value::as_f64).collect()
    };
    let (from, to, count, ccdf) = (values("from"), values("to"), values(of), values("ccdf"));
    let all: f64 = count.iter().flatten().sum();
    let bin = |place: usize| {
        let count = (*count.get(place)?)?;
        let ccdf = ccdf.get(place).copied().flatten();
        Some(Bin { from: from[place]?, to: (*to.get(place)?)?, count, share: count / all, ccdf })
    };
    (0..from.len()).filter_map(bin).filter(|bin| bin.from > 0.0).collect()
}

/// Two bins as one, so that small whole numbers leave no gaps.
fn joined(bins: &[Bin], whole: bool) -> Vec<Bin> {
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
    if whole {
        joined.iter_mut().for_each(|bin| (bin.from, bin.to) = (bin.from.ceil(), bin.to.ceil()));
    }
    joined
}

/// Up from the ground at the first bin, and down to it behind the last; bins that are not there have nothing.
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

/// The share for each unit of the value, at the middle of the bin on a logarithmic axis. Whole numbers have the unit 1: a bin is
/// as wide as it has some.
fn densities(bins: &[Bin], whole: bool) -> Vec<(f64, f64)> {
    let dense = |bin: &Bin| {
        let (from, to) = if whole { (bin.from.ceil(), bin.to.ceil()) } else { (bin.from, bin.to) };
        let middle = if whole { (from * (to - 1.0).max(from)).sqrt() } else { (from * to).sqrt() };
        (middle, bin.share / if whole { (to - from).max(1.0) } else { to - from })
    };
    bins.iter().filter(|bin| bin.count > 0.0).map(dense).collect()
}

/// The law, from where it begins to the largest value. It starts at the share that is seen there.
fn law(fit: &PowerLaw, bins: &[Bin]) -> Vec<(f64, f64)> {
    let zeros = 1.0 - bins.iter().map(|bin| bin.share).sum::<f64>();
    let start = fit.tail as f64 / fit.n.max(1) as f64 * (1.0 - zeros);
    // A law that falls faster than the values is shown a little further than they go.
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
    fn bins_are_joined_in_pairs_and_gaps_stay_gaps() {
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
    fn whole_numbers_have_the_unit_one() {
        let dense = densities(&[bin(2.0, 2.378, 0.5), bin(9.51, 11.31, 0.2)], true);
        assert_eq!(dense, [(2.0, 0.5), (110f64.sqrt(), 0.1)]);
    }
}
