//! Lines over one column.

use plot::{Axis, Chart, Heading, Scale, Series};
use store::{Statistic, Value};

use super::{Named, axis_format, tone};
use crate::figure::{LineOf, LinesOf, ScaleOf};
use crate::side::column;

pub(super) fn draw(title: &str, of: &LinesOf, sides: &[Named<'_>]) -> Option<String> {
    let unit = of.x_axis.is_none().then(|| unit(sides, of));
    let mut series = Vec::new();
    for (number, (side, statistic)) in sides.iter().enumerate() {
        for line in &of.lines {
            let points = points(statistic, of, line, unit.map(|(seconds, _)| seconds));
            let name = match (sides.len(), of.lines.len()) {
                (1, _) => line.name.clone(),
                (_, 1) => (*side).to_owned(),
                _ => format!("{}, {side}", line.name),
            };
            // Of one side every line has its own colour; of two, every side.
            series.push(Series { name, points, tone: tone(number), ..Series::default() });
        }
    }
    if series.iter().all(|series| series.points.len() < 2) {
        return None;
    }
    let scale = if of.scale == ScaleOf::Log { Scale::Log } else { Scale::Linear };
    let since = unit.map(|(_, unit)| format!("{unit} since the first visit"));
    let whole = series.iter().flat_map(|series| &series.points).all(|(x, _)| x.fract() == 0.0);
    let x_title = of.x_axis.clone().or(since).unwrap_or_default();
    let x = Axis { title: x_title, whole, ..Axis::default() };
    let y = Axis { title: of.y_axis.clone(), format: axis_format(of.format), scale, ..Axis::default() };
    Some(Chart { title: title.to_owned(), heading: Heading::Told, x, y, series, ..Chart::default() }.svg())
}

/// Times are counted from the first on, in units of so many seconds.
fn points(statistic: &Statistic, of: &LinesOf, line: &LineOf, unit_s: Option<f64>) -> Vec<(f64, f64)> {
    let x = column(statistic, &of.x).into_iter().flatten();
    let y = column(statistic, &line.column).into_iter().flatten();
    let per = of.per.as_ref().and_then(|note| statistic.notes.get(note)).copied().unwrap_or(1.0);
    let points: Vec<(f64, f64)> =
        x.zip(y).filter_map(|(x, y)| Some((x.as_f64()?, y.as_f64()? / per))).collect();
    match (unit_s, points.first()) {
        (Some(unit_s), Some(&(first, _))) => {
            points.into_iter().map(|(x, y)| ((x - first) / unit_s, y)).collect()
        }
        _ => points,
    }
}

/// The unit that suits the longest time, in seconds, and its name.
fn unit(sides: &[Named<'_>], of: &LinesOf) -> (f64, &'static str) {
    let span = |(_, statistic): &Named<'_>| {
        let times: Vec<f64> =
            column(statistic, &of.x).into_iter().flatten().filter_map(Value::as_f64).collect();
        times.last().zip(times.first()).map_or(0.0, |(last, first)| last - first)
    };
    let longest_s = sides.iter().map(span).fold(0.0, f64::max);
    let units = [(86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")];
    units.into_iter().find(|(seconds, _)| longest_s >= 3.0 * seconds).unwrap_or((1.0, "seconds"))
}
