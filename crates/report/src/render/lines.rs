//! Line charts over one column.

use plot::{Axis, Chart, Heading, Scale, Series};
use store::{Statistic, StatisticValue};

use super::series::{LabelledStatistic, axis_format, series_style};
use crate::figure::{LineSpec, LinesSpec, ScaleSpec};
use crate::report_input::column;

pub(super) fn draw(title: &str, spec: &LinesSpec, inputs: &[LabelledStatistic<'_>]) -> Option<String> {
    let unit = spec.x_axis.is_none().then(|| unit(inputs, spec));
    let mut series = Vec::new();
    for (number, (input, statistic)) in inputs.iter().enumerate() {
        for line in &spec.lines {
            let points = points(statistic, spec, line, unit.map(|(seconds, _)| seconds));
            let name = match (inputs.len(), spec.lines.len()) {
                (1, _) => line.name.clone(),
                (_, 1) => (*input).to_owned(),
                _ => format!("{}, {input}", line.name),
            };
            // With one input each line has its own colour; with two, each input.
            series.push(Series { name, points, style: series_style(number), ..Series::default() });
        }
    }
    if series.iter().all(|series| series.points.len() < 2) {
        return None;
    }
    let scale = if spec.scale == ScaleSpec::Log { Scale::Log } else { Scale::Linear };
    let since = unit.map(|(_, unit)| format!("{unit} since the first fetch"));
    let integers = series.iter().flat_map(|series| &series.points).all(|(x, _)| x.fract() == 0.0);
    let x_title = spec.x_axis.clone().or(since).unwrap_or_default();
    let x = Axis { title: x_title, integers, ..Axis::default() };
    let y = Axis { title: spec.y_axis.clone(), format: axis_format(spec.format), scale, ..Axis::default() };
    Some(
        Chart { title: title.to_owned(), heading: Heading::AccessibleOnly, x, y, series, ..Chart::default() }
            .svg(),
    )
}

/// Points of a line; times are relative to the first one, in units of `unit_s` seconds.
fn points(statistic: &Statistic, spec: &LinesSpec, line: &LineSpec, unit_s: Option<f64>) -> Vec<(f64, f64)> {
    let x = column(statistic, &spec.x).into_iter().flatten();
    let y = column(statistic, &line.column).into_iter().flatten();
    let per = spec.per.as_ref().and_then(|note| statistic.summary.get(note)).copied().unwrap_or(1.0);
    let points: Vec<(f64, f64)> =
        x.zip(y).filter_map(|(x, y)| Some((x.as_f64()?, y.as_f64()? / per))).collect();
    match (unit_s, points.first()) {
        (Some(unit_s), Some(&(first, _))) => {
            points.into_iter().map(|(x, y)| ((x - first) / unit_s, y)).collect()
        }
        _ => points,
    }
}

/// A suitable unit for the longest time span, in seconds, and its name.
fn unit(inputs: &[LabelledStatistic<'_>], spec: &LinesSpec) -> (f64, &'static str) {
    let span = |(_, statistic): &LabelledStatistic<'_>| {
        let times: Vec<f64> =
            column(statistic, &spec.x).into_iter().flatten().filter_map(StatisticValue::as_f64).collect();
        times.last().zip(times.first()).map_or(0.0, |(last, first)| last - first)
    };
    let max_s = inputs.iter().map(span).fold(0.0, f64::max);
    let units = [(86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")];
    units.into_iter().find(|(seconds, _)| max_s >= 3.0 * seconds).unwrap_or((1.0, "seconds"))
}
