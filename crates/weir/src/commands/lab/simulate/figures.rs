//! Figures of a simulation.

use plot::{Axis, Bar, Bars, Chart, Format, Series, SeriesStyle};
use simulate::{Comparison, Experiment, ExperimentResult};

/// Figures with their file names; figures without data are omitted.
pub(crate) fn all(comparison: &Comparison, title: &str) -> Vec<(&'static str, String)> {
    let orders = comparison.results.iter().any(|result| result.order.is_some());
    let refreshes = comparison.results.iter().any(|result| result.refresh.is_some());
    let mut figures = Vec::new();
    if orders {
        figures.push(("order.svg", curves(comparison, title)));
        figures.push(("lag.svg", lags(comparison, title)));
        figures.push(("area.svg", areas(comparison, title)));
    }
    if refreshes {
        figures.push(("freshness.svg", freshness(comparison, title)));
    }
    figures
}

fn is_oracle(result: &ExperimentResult) -> bool {
    matches!(result.experiment, Experiment::Omniscient | Experiment::OptimalRefresh)
}

/// The configured and the default strategy stand out.
fn style(result: &ExperimentResult) -> SeriesStyle {
    match result.experiment {
        _ if is_oracle(result) => SeriesStyle::Reference,
        Experiment::Configured(_) => SeriesStyle::Strong,
        Experiment::Strategy(strategy) if strategy == frontier::Strategy::default() => SeriesStyle::Strong,
        Experiment::Strategy(frontier::Strategy::Random) => SeriesStyle::Quiet,
        _ => SeriesStyle::Colour,
    }
}

fn percent(title: &str, limits: (f64, f64)) -> Axis {
    Axis { title: title.to_owned(), format: Format::Percent, limits: Some(limits), ..Axis::default() }
}

/// One line per order, the most important on top.
fn lines(comparison: &Comparison, points: impl Fn(&[(f64, f64)]) -> Vec<(f64, f64)>) -> Vec<Series> {
    let line = |result: &ExperimentResult| {
        let points = points(&result.order.as_ref()?.curve);
        let name = result.experiment.as_str().to_owned();
        Some(Series { name, points, style: style(result), ..Series::default() })
    };
    let mut series: Vec<Series> = comparison.results.iter().filter_map(line).collect();
    series
        .sort_by_key(|series| (series.style == SeriesStyle::Strong, series.style == SeriesStyle::Reference));
    series
}

/// PageRank over pages. Only the first half, where the orders differ.
fn curves(comparison: &Comparison, subtitle: &str) -> String {
    let upper_bound = Series {
        name: "upper bound without politeness".to_owned(),
        points: comparison.upper_bound.clone(),
        style: SeriesStyle::Quiet,
        ..Series::default()
    };
    let mut series = lines(comparison, <[(f64, f64)]>::to_vec);
    series.insert(0, upper_bound);
    Chart {
        title: "PageRank coverage".to_owned(),
        subtitle: format!("Simulation on {subtitle}"),
        x: percent("share of pages downloaded", (0.0, 0.5)),
        y: percent("share of PageRank downloaded", (0.0, 1.0)),
        series,
        ..Chart::default()
    }
    .svg()
}

/// Difference to the omniscient order, which separates orders that are close together.
fn lags(comparison: &Comparison, subtitle: &str) -> String {
    let behind = |curve: &[(f64, f64)]| {
        curve.iter().zip(&comparison.omniscient).map(|((x, y), (_, best))| (*x, y - best)).collect()
    };
    let series = lines(comparison, behind);
    let lowest = series.iter().flat_map(|line| &line.points).fold(-0.05, |low: f64, (_, y)| low.min(*y));
    Chart {
        title: "PageRank behind the omniscient order".to_owned(),
        subtitle: format!("Simulation on {subtitle}"),
        x: percent("share of pages downloaded", (0.0, 0.6)),
        y: percent("PageRank behind the omniscient order", ((lowest * 20.0).floor() / 20.0, 0.05)),
        series,
        ..Chart::default()
    }
    .svg()
}

fn areas(comparison: &Comparison, title: &str) -> String {
    bars(
        comparison,
        |result| result.relative_auc,
        (
            "AUC relative to the omniscient order",
            title,
            "area under the curve, relative to the omniscient order",
        ),
    )
}

fn freshness(comparison: &Comparison, title: &str) -> String {
    bars(
        comparison,
        |result| result.refresh.map(|refresh| refresh.freshness),
        ("Freshness of the copies", title, "mean share of fresh copies"),
    )
}

/// One bar per strategy, the largest on top.
fn bars(
    comparison: &Comparison,
    value: impl Fn(&ExperimentResult) -> Option<f64>,
    (title, subtitle, axis): (&str, &str, &str),
) -> String {
    let bar = |result: &ExperimentResult| {
        let name = result.experiment.as_str().to_owned();
        Some(Bar { name, value: value(result)?, style: style(result), ..Bar::default() })
    };
    let mut bars: Vec<Bar> = comparison.results.iter().filter_map(bar).collect();
    bars.sort_by(|a, b| b.value.total_cmp(&a.value));
    Bars {
        title: title.to_owned(),
        subtitle: format!("Simulation on {subtitle}"),
        axis: percent(axis, (0.0, 1.0)),
        digits: 1,
        bars,
        ..Bars::default()
    }
    .svg()
}
