//! A distribution twice: as a histogram, and as the share that has at least each value (CCDF), with the power law that fits.
//!
//! The statistic has a row for each bin: `from`, `to`, how many (`count`), and the share of values at `from` or above
//! (`ccdf`).

use plot::{Axis, Chart, Heading, Panels, Scale, Series, Shape, Tone};
use store::{PowerLaw, Statistic};

use super::{Named, axis_format, series_names, tone};
use crate::figure::{DistributionOf, Histogram, ScaleOf};
use crate::side::column;

pub(super) fn draw(title: &str, of: &DistributionOf, sides: &[Named<'_>]) -> Option<String> {
    let bins: Vec<Vec<Bin>> = sides.iter().map(|(_, statistic)| bins(statistic, of.scale)).collect();
    if bins.iter().all(|bins| bins.iter().filter(|bin| bin.count > 0.0).count() < 2) {
        return None;
    }
    let names = series_names(sides);
    let name = |number: usize| names.get(number).cloned().unwrap_or_default();
    let mut histogram: Vec<Series> = Vec::new();
    let mut ccdf: Vec<Series> = Vec::new();
    for (number, bins) in bins.iter().enumerate() {
        let (shape, points) = match of.histogram {
            Histogram::Shares => (Shape::Area, outline(bins)),
            Histogram::Density => (Shape::Scatter, densities(bins)),
        };
        histogram.push(Series { name: name(number), shape, tone: tone(number), points });
        let points = bins.iter().filter_map(|bin| Some((bin.from, bin.ccdf?))).collect();
        ccdf.push(Series { name: name(number), shape: Shape::Line, tone: tone(number), points });
    }
    for (number, (_, statistic)) in sides.iter().enumerate() {
        if let Some((fit, bins)) = statistic.fit.as_ref().zip(bins.get(number)) {
            let name = format!("power law, α = {:.2}", fit.alpha);
            ccdf.push(Series { name, tone: Tone::Reference, shape: Shape::Line, points: law(fit, bins) });
        }
    }
    let scale = if of.scale == ScaleOf::Log { Scale::Log } else { Scale::Linear };
    let x = Axis { title: of.x.clone(), scale, format: axis_format(of.format), ..Axis::default() };
    let charts = vec![
        Chart { x: x.clone(), y: y_of_histogram(of), series: histogram, ..Chart::default() },
        Chart { x, y: y_of_ccdf(of), series: ccdf, ..Chart::default() },
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

fn y_of_ccdf(of: &DistributionOf) -> Axis {
    let title = format!("{} with at least so much", of.of);
    // Percentages of a millionth say less than powers of ten.
    let (scale, format) = match of.histogram {
        Histogram::Shares => (Scale::Linear, plot::Format::Percent),
        Histogram::Density => (Scale::Log, plot::Format::Number),
    };
    Axis { title, scale, format, ..Axis::default() }
}

struct Bin {
    from: f64,
    to: f64,
    count: f64,
    /// Of all values above 0.
    share: f64,
    ccdf: Option<f64>,
}

/// The bins that the axis can show.
fn bins(statistic: &Statistic, scale: ScaleOf) -> Vec<Bin> {
    let values = |name: &str| -> Vec<Option<f64>> {
        column(statistic, name).into_iter().flatten().map(store::Value::as_f64).collect()
    };
    let (from, to, count, ccdf) = (values("from"), values("to"), values("count"), values("ccdf"));
    let all: f64 = count.iter().flatten().sum();
    let bin = |place: usize| {
        let count = (*count.get(place)?)?;
        let ccdf = ccdf.get(place).copied().flatten();
        Some(Bin { from: from[place]?, to: (*to.get(place)?)?, count, share: count / all, ccdf })
    };
    let shown = |bin: &Bin| scale == ScaleOf::Linear || bin.from > 0.0;
    (0..from.len()).filter_map(bin).filter(shown).collect()
}

/// Up from the ground at the first bin, and down to it behind the last; bins that are not there have nothing.
fn outline(bins: &[Bin]) -> Vec<(f64, f64)> {
    let mut points = Vec::with_capacity(bins.len() * 2);
    let mut ground = None;
    for bin in bins {
        if ground != Some(bin.from) {
            points.extend(ground.map(|end| (end, 0.0)));
            points.push((bin.from, 0.0));
        }
        points.push((bin.from, bin.share));
        ground = Some(bin.to);
    }
    points.extend(ground.map(|end| (end, 0.0)));
    points
}

/// The share for each unit of the value, at the middle of the bin on a logarithmic axis.
fn densities(bins: &[Bin]) -> Vec<(f64, f64)> {
    let dense = |bin: &Bin| ((bin.from * bin.to).sqrt(), bin.share / (bin.to - bin.from));
    bins.iter().filter(|bin| bin.count > 0.0).map(dense).collect()
}

/// The law, from where it begins to the largest value. It starts at the share that is seen there.
fn law(fit: &PowerLaw, bins: &[Bin]) -> Vec<(f64, f64)> {
    let last = bins.iter().filter(|bin| bin.count > 0.0).map(|bin| bin.from).fold(fit.x_min, f64::max);
    let zeros = 1.0 - bins.iter().map(|bin| bin.share).sum::<f64>();
    let start = fit.tail as f64 / fit.n.max(1) as f64 * (1.0 - zeros);
    const STEPS: usize = 24;
    let at = |step: usize| {
        let x = fit.x_min * (last / fit.x_min).powf(step as f64 / STEPS as f64);
        (x, start * (x / fit.x_min).powf(1.0 - fit.alpha))
    };
    (0..=STEPS).map(at).collect()
}
