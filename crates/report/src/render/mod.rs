//! Rendering of a statistic as a drawing or a table, as its figure defines.

mod bars;
mod bow_tie;
mod distribution;
mod lines;
mod series;

use store::Statistic;

use crate::figure::{Drawing, Figure};
use crate::table::Table;
use series::LabelledStatistic;

/// A rendered figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Rendered {
    /// A drawing, as SVG.
    Svg(String),
    Table(Table),
    /// There are no data.
    Empty,
}

/// Renders the statistics of all inputs.
pub(crate) fn render(figure: &Figure, inputs: &[LabelledStatistic<'_>]) -> Rendered {
    if inputs.is_empty() {
        return Rendered::Empty;
    }
    if let Drawing::Table(_) | Drawing::Summary(_) = figure.draw {
        return table(figure, inputs);
    }
    let picture = match &figure.draw {
        Drawing::Bars(spec) => bars::draw(&figure.title, spec, inputs),
        Drawing::Distribution(spec) => distribution::draw(&figure.title, spec, inputs),
        Drawing::Lines(spec) => lines::draw(&figure.title, spec, inputs),
        Drawing::BowTie(spec) => bow_tie::draw(&figure.title, spec, inputs),
        Drawing::Table(_) | Drawing::Summary(_) => None,
    };
    picture.map_or(Rendered::Empty, Rendered::Svg)
}

/// One table of all inputs.
fn table(figure: &Figure, inputs: &[LabelledStatistic<'_>]) -> Rendered {
    let of = |statistic: &Statistic| match &figure.draw {
        Drawing::Summary(spec) => Table::summary(statistic, spec),
        Drawing::Table(spec) => Table::from_statistic(statistic, spec),
        _ => Table::default(),
    };
    let mut tables = inputs.iter().map(|(name, statistic)| (*name, of(statistic)));
    let shown = match (tables.next(), tables.next()) {
        (Some((own, table)), Some((compared, other))) => table.beside(&other, [own, compared]),
        (Some((_, table)), None) => table,
        (None, _) => return Rendered::Empty,
    };
    if shown.rows.is_empty() { Rendered::Empty } else { Rendered::Table(shown) }
}
