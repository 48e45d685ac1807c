//! Bar charts: the rows of the first input in their order, then those that only the second has.

use plot::{Axis, Bar, Bars, Heading, SeriesStyle};
use store::StatisticValue;

use super::series::{LabelledStatistic, axis_format, series_names};
use crate::figure::BarsSpec;
use crate::format::Format;
use crate::report_input::column;

pub(super) fn draw(title: &str, spec: &BarsSpec, inputs: &[LabelledStatistic<'_>]) -> Option<String> {
    let lengths: Vec<Lengths> = inputs.iter().map(|input| Lengths::from_statistic(input, spec)).collect();
    let all: f64 = lengths.iter().map(|input| input.sum).sum();
    if all <= 0.0 {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in lengths.iter().flat_map(|input| &input.values) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names.truncate(spec.max_bars);
    let mut bars: Vec<Bar> = names
        .iter()
        .map(|name| bar(name, lengths.iter().map(|input| input.get(name)), spec, &lengths))
        .collect();
    let shown = |input: &Lengths| names.iter().map(|name| input.get(name)).sum::<f64>();
    if spec.shares && lengths.iter().any(|input| input.kinds > names.len() as f64) {
        let sums = lengths.iter().map(|input| (input.sum - shown(input)).max(0.0));
        let others = match &lengths[..] {
            [input] => format!("{} others", Format::Plain.format_number(input.kinds - names.len() as f64)),
            _ => "others".to_owned(),
        };
        bars.push(Bar { style: SeriesStyle::Quiet, ..bar(&others, sums, spec, &lengths) });
    }
    let format = if spec.shares { plot::Format::Percent } else { axis_format(spec.format) };
    let axis = Axis { title: spec.axis.clone(), format, ..Axis::default() };
    let title = title.to_owned();
    let series = series_names(inputs);
    Some(
        Bars { title, heading: Heading::AccessibleOnly, axis, digits: 1, series, bars, ..Bars::default() }
            .svg(),
    )
}

/// Rows of an input, and the totals of all rows, because a statistic may contain only the top rows.
struct Lengths {
    values: Vec<(String, f64)>,
    sum: f64,
    kinds: f64,
}

impl Lengths {
    fn from_statistic((_, statistic): &LabelledStatistic<'_>, spec: &BarsSpec) -> Lengths {
        let names = column(statistic, &spec.name).into_iter().flatten();
        let numbers = column(statistic, &spec.value).into_iter().flatten();
        let written = |name: &StatisticValue| {
            let name = match name {
                StatisticValue::Null => "none".to_owned(),
                // An integer key is a code or a year, not a count: no thousands separators.
                StatisticValue::Integer(number) => number.to_string(),
                name => Format::Plain.format_value(name),
            };
            spec.labels.get(&name).cloned().unwrap_or(name)
        };
        let values: Vec<(String, f64)> = names
            .zip(numbers)
            .map(|(name, number)| (written(name), number.as_f64().unwrap_or(0.0).max(0.0)))
            .collect();
        let sum: f64 = values.iter().map(|(_, value)| value).sum();
        // The summary values refer to the first value column.
        let is_counted = statistic.columns.get(1) == Some(&spec.value);
        let noted = |name: &str, min: f64| match statistic.summary.get(name) {
            Some(noted) if is_counted => noted.max(min),
            _ => min,
        };
        let (sum, kinds) = (noted("n", sum), noted("kinds", values.len() as f64));
        Lengths { values, sum, kinds }
    }

    fn get(&self, name: &str) -> f64 {
        self.values.iter().find(|(known, _)| known == name).map_or(0.0, |(_, value)| *value)
    }
}

fn bar(name: &str, values: impl Iterator<Item = f64>, spec: &BarsSpec, inputs: &[Lengths]) -> Bar {
    let mut lengths = Vec::new();
    let mut labels = Vec::new();
    for (value, input) in values.zip(inputs) {
        let share = if input.sum > 0.0 { value / input.sum } else { 0.0 };
        let written = spec.format.format_number(value);
        lengths.push(if spec.shares { share } else { value });
        labels.push(if spec.shares {
            format!("{}  ({written})", Format::Share.format_number(share))
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

    fn spec(max_bars: usize) -> BarsSpec {
        let [name, value, axis] = ["name", "pages", "share of the pages"].map(str::to_owned);
        let labels = [("pdf".to_owned(), "PDF".to_owned())].into();
        BarsSpec { name, value, axis, shares: true, labels, format: Format::Plain, max_bars }
    }

    fn statistic(rows: &[(&str, u64)]) -> Statistic {
        Statistic {
            columns: vec!["name".to_owned(), "pages".to_owned()],
            rows: rows.iter().map(|(name, count)| vec![(*name).into(), (*count).into()]).collect(),
            ..Statistic::default()
        }
    }

    #[test]
    fn shares_include_rows_that_the_statistic_omits() {
        let mut first = statistic(&[("html", 50), ("pdf", 10)]);
        first.summary = [("n".to_owned(), 100.0), ("kinds".to_owned(), 42.0)].into();
        let svg = draw("Types", &spec(2), &[("now", &first)]).unwrap();
        assert!(svg.contains("50 %") && svg.contains(">40 others<") && svg.contains("40 %  (40)"), "{svg}");
    }

    #[test]
    fn further_rows_are_one_bar() {
        let one = statistic(&[("html", 90), ("pdf", 6), ("png", 3), ("gif", 1)]);
        let svg = draw("Types", &spec(2), &[("now", &one)]).unwrap();
        assert!(svg.contains(">html<") && svg.contains(">2 others<") && svg.contains("4 %"), "{svg}");
        assert!(!svg.contains(">png<"));
    }

    #[test]
    fn names_of_both_inputs_are_drawn_and_zeros_give_no_figure() {
        let (one, other) = (statistic(&[("html", 9)]), statistic(&[("pdf", 2), ("html", 8)]));
        let svg = draw("Types", &spec(5), &[("now", &one), ("then", &other)]).unwrap();
        assert!(svg.contains(">PDF<") && svg.contains("80 %") && svg.contains(">then<"), "{svg}");
        assert_eq!(draw("Types", &spec(5), &[("now", &statistic(&[("html", 0)]))]), None);
    }
}
