//! Lines over one column.

use plot::{Axis, Chart, Heading, Scale, Series};
use store::Statistic;

use super::{Named, axis_format, tone};
use crate::figure::{LineOf, LinesOf, ScaleOf};
use crate::side::column;

pub(super) fn draw(title: &str, of: &LinesOf, sides: &[Named<'_>]) -> Option<String> {
    let mut series = Vec::new();
    for (number, (side, statistic)) in sides.iter().enumerate() {
        for line in &of.lines {
            let points = points(statistic, of, line);
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
    let x = Axis { title: of.x_axis.clone(), ..Axis::default() };
    let y = Axis { title: of.y_axis.clone(), format: axis_format(of.format), scale, ..Axis::default() };
    Some(Chart { title: title.to_owned(), heading: Heading::Told, x, y, series, ..Chart::default() }.svg())
}

fn points(statistic: &Statistic, of: &LinesOf, line: &LineOf) -> Vec<(f64, f64)> {
    let x = column(statistic, &of.x).into_iter().flatten();
    let y = column(statistic, &line.column).into_iter().flatten();
    x.zip(y).filter_map(|(x, y)| Some((x.as_f64()?, y.as_f64()?))).collect()
}
