//! Which pictures tell how strategies compare?

use plot::{Axis, Bar, Bars, Chart, Format, Series, Tone};
use simulate::{Comparison, Entry, Experiment};

/// The pictures with the names of their files; those without data are left out.
pub(super) fn all(comparison: &Comparison, what: &str) -> Vec<(&'static str, String)> {
    let orders = comparison.entries.iter().any(|entry| entry.order.is_some());
    let refreshes = comparison.entries.iter().any(|entry| entry.refresh.is_some());
    let mut pictures = Vec::new();
    if orders {
        pictures.push(("order.svg", curves(comparison, what)));
        pictures.push(("lag.svg", lags(comparison, what)));
        pictures.push(("area.svg", areas(comparison, what)));
    }
    if refreshes {
        pictures.push(("freshness.svg", freshness(comparison, what)));
    }
    pictures
}

fn is_oracle(entry: &Entry) -> bool {
    matches!(entry.experiment, Experiment::Omniscient | Experiment::OptimalRefresh)
}

/// The default is what readers look for.
fn tone(entry: &Entry) -> Tone {
    match entry.experiment {
        _ if is_oracle(entry) => Tone::Reference,
        Experiment::Own(_) => Tone::Strong,
        Experiment::Strategy(strategy) if strategy == frontier::Strategy::default() => Tone::Strong,
        Experiment::Strategy(frontier::Strategy::Random) => Tone::Quiet,
        _ => Tone::Colour,
    }
}

fn percent(title: &str, limits: (f64, f64)) -> Axis {
    Axis { title: title.to_owned(), format: Format::Percent, limits: Some(limits), ..Axis::default() }
}

/// One line for each order, with what matters on top.
fn lines(comparison: &Comparison, points: impl Fn(&[(f64, f64)]) -> Vec<(f64, f64)>) -> Vec<Series> {
    let line = |entry: &Entry| {
        let points = points(&entry.order.as_ref()?.curve);
        let name = entry.experiment.as_str().to_owned();
        Some(Series { name, points, tone: tone(entry), ..Series::default() })
    };
    let mut series: Vec<Series> = comparison.entries.iter().filter_map(line).collect();
    series.sort_by_key(|series| (series.tone == Tone::Strong, series.tone == Tone::Reference));
    series
}

/// Only the first half: there orders differ, and at the end all have everything.
fn curves(comparison: &Comparison, what: &str) -> String {
    let ceiling = Series {
        name: "impolite bound".to_owned(),
        points: comparison.ceiling.clone(),
        tone: Tone::Quiet,
        ..Series::default()
    };
    let mut series = lines(comparison, <[(f64, f64)]>::to_vec);
    series.insert(0, ceiling);
    Chart {
        title: "How soon the important pages come".to_owned(),
        subtitle: format!("On {what}"),
        x: percent("of the pages downloaded", (0.0, 0.5)),
        y: percent("of all PageRank downloaded with them", (0.0, 1.0)),
        series,
        ..Chart::default()
    }
    .svg()
}

/// The same as what is missing: orders that lie close together are seen apart.
fn lags(comparison: &Comparison, what: &str) -> String {
    let behind = |curve: &[(f64, f64)]| {
        curve.iter().zip(&comparison.omniscient).map(|((x, y), (_, best))| (*x, y - best)).collect()
    };
    let series = lines(comparison, behind);
    let deepest = series.iter().flat_map(|line| &line.points).fold(-0.05, |low: f64, (_, y)| low.min(*y));
    Chart {
        title: "What each order lacks while it goes on".to_owned(),
        subtitle: format!("On {what}"),
        x: percent("of the pages downloaded", (0.0, 0.6)),
        y: percent("points of PageRank behind the omniscient order", ((deepest * 20.0).floor() / 20.0, 0.05)),
        series,
        ..Chart::default()
    }
    .svg()
}

fn areas(comparison: &Comparison, what: &str) -> String {
    bars(
        comparison,
        |entry| entry.area_relative,
        (
            "How close each order comes to the omniscient one",
            what,
            "area under the curve, of the omniscient order's",
        ),
    )
}

fn freshness(comparison: &Comparison, what: &str) -> String {
    bars(
        comparison,
        |entry| entry.refresh.map(|refresh| refresh.freshness),
        ("How fresh revisits keep the copies", what, "of the copies are as their pages, on average"),
    )
}

/// One value of every strategy that has it, the largest on top.
fn bars(
    comparison: &Comparison,
    value: impl Fn(&Entry) -> Option<f64>,
    (title, what, axis): (&str, &str, &str),
) -> String {
    let bar = |entry: &Entry| {
        let name = entry.experiment.as_str().to_owned();
        Some(Bar { name, value: value(entry)?, tone: tone(entry), ..Bar::default() })
    };
    let mut bars: Vec<Bar> = comparison.entries.iter().filter_map(bar).collect();
    bars.sort_by(|a, b| b.value.total_cmp(&a.value));
    Bars {
        title: title.to_owned(),
        subtitle: format!("On {what}"),
        axis: percent(axis, (0.0, 1.0)),
        digits: 1,
        bars,
        ..Bars::default()
    }
    .svg()
}
