//! How does a statistic become a picture or a table? By what its figure says; where there is nothing to show there is neither.

mod bars;
mod bow_tie;
mod distribution;
mod lines;

use plot::Tone;
use store::Statistic;

use crate::figure::{Drawing, Figure};
use crate::format::Format;
use crate::table::Table;

/// What is shown of a figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shown {
    /// SVG.
    Picture(String),
    Table(Table),
    /// There is nothing to show.
    Nothing,
}

/// The statistic of a side, and how the side is called.
pub(crate) type Named<'s> = (&'s str, &'s Statistic);

/// Draws the statistics of all sides that have them.
pub(crate) fn draw(figure: &Figure, sides: &[Named<'_>]) -> Shown {
    if sides.is_empty() {
        return Shown::Nothing;
    }
    if let Drawing::Table(_) | Drawing::Summary(_) = figure.draw {
        return table(figure, sides);
    }
    let picture = match &figure.draw {
        Drawing::Bars(of) => bars::draw(&figure.title, of, sides),
        Drawing::Distribution(of) => distribution::draw(&figure.title, of, sides),
        Drawing::Lines(of) => lines::draw(&figure.title, of, sides),
        Drawing::BowTie(of) => bow_tie::draw(&figure.title, of, sides),
        Drawing::Table(_) | Drawing::Summary(_) => None,
    };
    picture.map_or(Shown::Nothing, Shown::Picture)
}

/// One table of all sides.
fn table(figure: &Figure, sides: &[Named<'_>]) -> Shown {
    let of = |statistic: &Statistic| match &figure.draw {
        Drawing::Summary(of) => Table::summary(statistic, of),
        Drawing::Table(of) => Table::of(statistic, of),
        _ => Table::default(),
    };
    let mut tables = sides.iter().map(|(name, statistic)| (*name, of(statistic)));
    let shown = match (tables.next(), tables.next()) {
        (Some((own, table)), Some((there, other))) => table.beside(&other, [own, there]),
        (Some((_, table)), None) => table,
        (None, _) => return Shown::Nothing,
    };
    if shown.rows.is_empty() { Shown::Nothing } else { Shown::Table(shown) }
}

/// The names of series, if there are several.
fn series_names(sides: &[Named<'_>]) -> Vec<String> {
    if sides.len() > 1 { sides.iter().map(|(name, _)| (*name).to_owned()).collect() } else { Vec::new() }
}

/// The colour of a side.
fn tone(number: usize) -> Tone {
    if number == 0 { Tone::Colour } else { Tone::Against }
}

/// How an axis writes what readers see elsewhere.
fn axis_format(format: Format) -> plot::Format {
    match format {
        Format::Bytes => plot::Format::Bytes,
        Format::Share => plot::Format::Percent,
        Format::Plain | Format::Time | Format::Url => plot::Format::Number,
    }
}
