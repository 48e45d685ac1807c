//! A bar for each row: those of the first side in its order, then those that only the second has.

use plot::{Axis, Bar, Bars, Heading, Tone};
use store::Value;

use super::{Named, axis_format, series_names};
use crate::figure::BarsOf;
use crate::format::Format;
use crate::side::column;

pub(super) fn draw(title: &str, of: &BarsOf, sides: &[Named<'_>]) -> Option<String> {
    let lengths: Vec<Lengths> = sides.iter().map(|side| Lengths::of(side, of)).collect();
    let all: f64 = lengths.iter().map(|side| side.sum).sum();
    if all <= 0.0 {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in lengths.iter().flat_map(|side| &side.values) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names.truncate(of.most);
    let mut bars: Vec<Bar> =
        names.iter().map(|name| bar(name, lengths.iter().map(|side| side.get(name)), of, &lengths)).collect();
    let shown = |side: &Lengths| names.iter().map(|name| side.get(name)).sum::<f64>();
    if of.shares && lengths.iter().any(|side| side.kinds > names.len() as f64) {
        let sums = lengths.iter().map(|side| (side.sum - shown(side)).max(0.0));
        let others = match &lengths[..] {
            [side] => format!("{} others", Format::Plain.number(side.kinds - names.len() as f64)),
            _ => "others".to_owned(),
        };
        bars.push(Bar { tone: Tone::Quiet, ..bar(&others, sums, of, &lengths) });
    }
    let format = if of.shares { plot::Format::Percent } else { axis_format(of.format) };
    let axis = Axis { title: of.axis.clone(), format, ..Axis::default() };
    let title = title.to_owned();
    let series = series_names(sides);
    Some(Bars { title, heading: Heading::Told, axis, digits: 1, series, bars, ..Bars::default() }.svg())
}

/// The rows of a side, and what there is of all, since a statistic may have the first rows only.
struct Lengths {
    values: Vec<(String, f64)>,
    sum: f64,
    kinds: f64,
}

impl Lengths {
    fn of((_, statistic): &Named<'_>, of: &BarsOf) -> Lengths {
        let names = column(statistic, &of.name).into_iter().flatten();
        let numbers = column(statistic, &of.value).into_iter().flatten();
        let written = |name: &Value| {
            let name = match name {
                Value::Null => "none".to_owned(),
                // A code or a year is no count.
                Value::Integer(number) => number.to_string(),
                name => Format::Plain.value(name),
            };
            of.labels.get(&name).cloned().unwrap_or(name)
        };
        let values: Vec<(String, f64)> = names
            .zip(numbers)
            .map(|(name, number)| (written(name), number.as_f64().unwrap_or(0.0).max(0.0)))
            .collect();
        let sum: f64 = values.iter().map(|(_, value)| value).sum();
        // The notes are about the first column that counts.
        let is_counted = statistic.columns.get(1) == Some(&of.value);
        let noted = |name: &str, least: f64| match statistic.notes.get(name) {
            Some(noted) if is_counted => noted.max(least),
            _ => least,
        };
        let (sum, kinds) = (noted("n", sum), noted("kinds", values.len() as f64));
        Lengths { values, sum, kinds }
    }

    fn get(&self, name: &str) -> f64 {
        self.values.iter().find(|(known, _)| known == name).map_or(0.0, |(_, value)| *value)
    }
}

fn bar(name: &str, values: impl Iterator<Item = f64>, of: &BarsOf, sides: &[Lengths]) -> Bar {
    let mut lengths = Vec::new();
    let mut labels = Vec::new();
    for (value, side) in values.zip(sides) {
        let share = if side.sum > 0.0 { value / side.sum } else { 0.0 };
        let written = of.format.number(value);
        lengths.push(if of.shares { share } else { value });
        labels.push(if of.shares {
            format!("{}  ({written})", Format::Share.number(share))
        } else {
            written
        });
    }
    let value = lengths.remove(0);
    Bar { name: name.to_owned(), value, others: lengths, labels, ..Bar::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::Statistic;

    fn of(most: usize) -> BarsOf {
        let [name, value, axis] = ["name", "pages", "of the pages"].map(str::to_owned);
        let labels = [("pdf".to_owned(), "PDF".to_owned())].into();
        BarsOf { name, value, axis, shares: true, labels, format: Format::Plain, most }
    }

    fn statistic(rows: &[(&str, u64)]) -> Statistic {
        Statistic {
            columns: vec!["name".to_owned(), "pages".to_owned()],
            rows: rows.iter().map(|(name, count)| vec![(*name).into(), (*count).into()]).collect(),
            ..Statistic::default()
        }
    }

    #[test]
    fn rows_that_a_statistic_has_left_out_count_in_shares() {
        let mut first = statistic(&[("html", 50), ("pdf", 10)]);
        first.notes = [("n".to_owned(), 100.0), ("kinds".to_owned(), 42.0)].into();
        let svg = draw("Types", &of(2), &[("now", &first)]).unwrap();
        assert!(svg.contains("50 %") && svg.contains(">40 others<") && svg.contains("40 %  (40)"), "{svg}");
    }

    #[test]
    fn small_rows_are_one_bar() {
        let one = statistic(&[("html", 90), ("pdf", 6), ("png", 3), ("gif", 1)]);
        let svg = draw("Types", &of(2), &[("now", &one)]).unwrap();
        assert!(svg.contains(">html<") && svg.contains(">2 others<") && svg.contains("4 %"), "{svg}");
        assert!(!svg.contains(">png<"));
    }

    #[test]
    fn names_of_both_sides_are_there_and_nothing_is_no_picture() {
        let (one, other) = (statistic(&[("html", 9)]), statistic(&[("pdf", 2), ("html", 8)]));
        let svg = draw("Types", &of(5), &[("now", &one), ("then", &other)]).unwrap();
        assert!(svg.contains(">PDF<") && svg.contains("80 %") && svg.contains(">then<"), "{svg}");
        assert_eq!(draw("Types", &of(5), &[("now", &statistic(&[("html", 0)]))]), None);
    }
}
