//! Bow ties. Two inputs are shown as bars, because the areas of two bow ties cannot be compared by eye.

use plot::{BowTie, BowTiePart, Heading};
use store::Statistic;

use super::bars;
use super::series::LabelledStatistic;
use crate::figure::{BarsSpec, BowTieSpec};
use crate::format::Format;
use crate::report_input::column;

/// Names of the parts in the statistic; those of MAIN are one shape.
const MIDDLE: [&str; 4] = ["main-main", "main-in", "main-out", "main-norm"];
const OTHERS: [&str; 3] = ["tubes", "tendrils", "islands"];

pub(super) fn draw(title: &str, spec: &BowTieSpec, inputs: &[LabelledStatistic<'_>]) -> Option<String> {
    if let [(_, statistic)] = inputs {
        return tie(title, spec, statistic);
    }
    let BowTieSpec { part, count, of } = spec;
    let bars = BarsSpec {
        name: part.clone(),
        value: count.clone(),
        axis: format!("share of the {of}"),
        shares: true,
        labels: Default::default(),
        format: Format::Plain,
        max_bars: MIDDLE.len() + OTHERS.len() + 2,
    };
    bars::draw(title, &bars, inputs)
}

fn tie(title: &str, spec: &BowTieSpec, statistic: &Statistic) -> Option<String> {
    let parts: Vec<(&str, f64)> = column(statistic, &spec.part)?
        .zip(column(statistic, &spec.count)?)
        .filter_map(|(part, count)| Some((part.as_str()?, count.as_f64()?)))
        .collect();
    let all: f64 = parts.iter().map(|(_, count)| count).sum();
    if all <= 0.0 {
        return None;
    }
    let part = |name: &str, names: &[&str]| {
        let counted = parts.iter().filter(|(part, _)| names.contains(part));
        let count: f64 = counted.map(|(_, count)| count).sum();
        let noun = if count == 1.0 { spec.of.strip_suffix('s').unwrap_or(&spec.of) } else { &spec.of };
        BowTiePart {
            name: name.to_owned(),
            count: format!("{} {noun}", Format::Plain.format_number(count)),
            share: count / all,
        }
    };
    let tie = BowTie {
        title: title.to_owned(),
        heading: Heading::AccessibleOnly,
        tie: [part("IN", &["in"]), part("MAIN", &MIDDLE), part("OUT", &["out"])],
        others: OTHERS.map(|name| part(&name.to_uppercase(), &[name])).into(),
        ..BowTie::default()
    };
    Some(tie.svg())
}
