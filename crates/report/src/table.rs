//! Rows of text under headings, as readers see them.

use store::{Statistic, Value};

use crate::figure::{ColumnOf, RowOf, SummaryOf, TableOf};
use crate::format::{Format, NOTHING};
use crate::side::column;

/// A table to be shown.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// How many rows there are that are not shown.
    pub(crate) left_out: usize,
}

/// A heading.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Column {
    pub(crate) title: String,
    pub(crate) is_number: bool,
    pub(crate) is_url: bool,
}

/// A value in words, and the number by which it is sorted.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) number: Option<f64>,
}

impl Cell {
    fn new(value: &Value, format: Format) -> Cell {
        Cell { text: format.value(value), number: value.as_f64() }
    }
}

impl Table {
    /// Columns of a statistic that a figure names; those that are not there are left out.
    pub(crate) fn of(statistic: &Statistic, of: &TableOf) -> Table {
        let found: Vec<(&ColumnOf, Vec<&Value>)> = of
            .columns
            .iter()
            .filter_map(|wanted| Some((wanted, column(statistic, &wanted.column)?.take(of.most).collect())))
            .collect();
        let columns = found.iter().map(|(wanted, values)| Column {
            title: wanted.title.clone(),
            is_number: values.iter().all(|value| value.as_str().is_none()),
            is_url: wanted.format == Format::Url,
        });
        let row = |number: usize| -> Vec<Cell> {
            found.iter().map(|(wanted, values)| Cell::new(values[number], wanted.format)).collect()
        };
        let shown = statistic.rows.len().min(of.most);
        Table {
            columns: columns.collect(),
            rows: (0..shown).map(row).collect(),
            left_out: statistic.rows.len() - shown,
        }
    }

    /// Chosen rows of names and numbers; those without a number are left out.
    pub(crate) fn summary(statistic: &Statistic, of: &SummaryOf) -> Table {
        let names = column(statistic, &of.name).into_iter().flatten();
        let numbers = column(statistic, &of.value).into_iter().flatten();
        let known: Vec<(&str, &Value)> =
            names.zip(numbers).filter_map(|(name, number)| Some((name.as_str()?, number))).collect();
        let row = |wanted: &RowOf| {
            let (_, number) =
                known.iter().find(|(name, number)| *name == wanted.name && **number != Value::Null)?;
            let title = Cell { text: wanted.title.clone(), number: None };
            Some(vec![title, Cell::new(number, wanted.format)])
        };
        let heading = |title: &str, is_number| Column { title: title.to_owned(), is_number, is_url: false };
        let columns = vec![heading("", false), heading("number", true)];
        Table { columns, rows: of.rows.iter().filter_map(row).collect(), left_out: 0 }
    }

    /// All of a statistic under its own names, as far as anybody reads.
    pub(crate) fn numbers(statistic: &Statistic, most: usize) -> Table {
        let named = |name: &String| ColumnOf {
            column: name.clone(),
            title: name.replace('_', " "),
            format: Format::Plain,
        };
        Table::of(statistic, &TableOf { columns: statistic.columns.iter().map(named).collect(), most })
    }

    /// The same table of another side beside this one: rows with the same words (without any, the same first number) are one
    /// row, and every column of numbers is there twice.
    pub(crate) fn beside(self, other: &Table, names: [&str; 2]) -> Table {
        let mut keys: Vec<usize> =
            (0..self.columns.len()).filter(|place| !self.columns[*place].is_number).collect();
        if keys.is_empty() {
            keys.push(0);
        }
        let key = |row: &[Cell]| -> Vec<String> {
            keys.iter().filter_map(|place| row.get(*place)).map(|cell| cell.text.clone()).collect()
        };
        let mut columns: Vec<Column> = keys.iter().map(|place| self.columns[*place].clone()).collect();
        let numbers: Vec<usize> = (0..self.columns.len()).filter(|place| !keys.contains(place)).collect();
        for place in &numbers {
            for name in names {
                let title = format!("{}, {name}", self.columns[*place].title);
                columns.push(Column { title, ..self.columns[*place].clone() });
            }
        }
        let nothing = Cell { text: NOTHING.to_owned(), number: None };
        let only_there = other.rows.iter().filter(|row| !self.rows.iter().any(|own| key(own) == key(row)));
        let pairs = self
            .rows
            .iter()
            .map(|own| (key(own), Some(own), other.rows.iter().find(|row| key(row) == key(own))));
        let pairs = pairs.chain(only_there.map(|row| (key(row), None, Some(row))));
        let rows = pairs.map(|(words, own, there)| {
            let words = words.into_iter().map(|text| Cell { text, number: None });
            let of = |row: Option<&Vec<Cell>>, place: usize| {
                row.and_then(|row| row.get(place)).unwrap_or(&nothing).clone()
            };
            words.chain(numbers.iter().flat_map(|place| [of(own, *place), of(there, *place)])).collect()
        });
        let rows = rows.collect();
        Table { columns, rows, left_out: self.left_out.max(other.left_out) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistic(rows: &[(&str, u64)]) -> Statistic {
        Statistic {
            columns: vec!["status".to_owned(), "pages".to_owned()],
            rows: rows.iter().map(|(name, count)| vec![(*name).into(), (*count).into()]).collect(),
            ..Statistic::default()
        }
    }

    #[test]
    fn two_sides_stand_beside_each_other() {
        let now = Table::numbers(&statistic(&[("ok", 1_000), ("gone", 2)]), 10);
        let then = Table::numbers(&statistic(&[("gone", 3), ("moved", 4)]), 10);
        let both = now.beside(&then, ["now", "then"]);
        let titles: Vec<&str> = both.columns.iter().map(|column| column.title.as_str()).collect();
        assert_eq!(titles, ["status", "pages, now", "pages, then"]);
        let rows: Vec<Vec<&str>> =
            both.rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect()).collect();
        assert_eq!(rows, [["ok", "1,000", "–"], ["gone", "2", "3"], ["moved", "–", "4"]]);
    }

    #[test]
    fn what_is_not_shown_is_counted() {
        let table = Table::numbers(&statistic(&[("a", 1), ("b", 2), ("c", 3)]), 2);
        assert_eq!((table.rows.len(), table.left_out), (2, 1));
    }
}
