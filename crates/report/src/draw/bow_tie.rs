//! The parts of the link graph. Two sides are two rows of bars: shapes of two bow ties cannot be compared by eye.

use plot::{BowTie, Heading, Knot};
use store::Statistic;

use super::{Named, bars};
use crate::figure::{BarsOf, BowTieOf};
use crate::format::Format;
use crate::side::column;

/// The parts by the names that analyses give them; those of the middle are one.
const MIDDLE: [&str; 4] = ["main-main", "main-in", "main-out", "main-norm"];
const OTHERS: [&str; 3] = ["tubes", "tendrils", "islands"];

pub(super) fn draw(title: &str, of: &BowTieOf, sides: &[Named<'_>]) -> Option<String> {
    if let [(_, statistic)] = sides {
        return tie(title, of, statistic);
    }
    let BowTieOf { part, count, of } = of;
    let of = BarsOf {
        name: part.clone(),
        value: count.clone(),
        axis: format!("of the {of}"),
        shares: true,
        labels: Default::default(),
        format: Format::Plain,
        most: MIDDLE.len() + OTHERS.len() + 2,
    };
    bars::draw(title, &of, sides)
}

fn tie(title: &str, of: &BowTieOf, statistic: &Statistic) -> Option<String> {
    let parts: Vec<(&str, f64)> = column(statistic, &of.part)?
        .zip(column(statistic, &of.count)?)
        .filter_map(|(part, count)| Some((part.as_str()?, count.as_f64()?)))
        .collect();
    let all: f64 = parts.iter().map(|(_, count)| count).sum();
    if all <= 0.0 {
        return None;
    }
    let knot = |name: &str, wanted: &[&str]| {
        let known = parts.iter().filter(|(part, _)| wanted.contains(part));
        let count: f64 = known.map(|(_, count)| count).sum();
        let noun = if count == 1.0 { of.of.strip_suffix('s').unwrap_or(&of.of) } else { &of.of };
        Knot {
            name: name.to_owned(),
            count: format!("{} {noun}", Format::Plain.number(count)),
            share: count / all,
        }
    };
    let tie = BowTie {
        title: title.to_owned(),
        heading: Heading::Told,
        tie: [knot("IN", &["in"]), knot("MAIN", &MIDDLE), knot("OUT", &["out"])],
        others: OTHERS.map(|name| knot(&name.to_uppercase(), &[name])).into(),
        ..BowTie::default()
    };
    Some(tie.svg())
}
