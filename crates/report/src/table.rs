//! Tables of formatted values.

use store::{Statistic, StatisticValue};

use crate::figure::{ColumnSpec, RowSpec, SummarySpec, TableSpec};
use crate::format::{Format, NO_VALUE};
use crate::report_input::column;

/// A table.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// Number of rows that are not shown.
    pub(crate) rows_omitted: usize,
}

/// A column heading.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Column {
    pub(crate) title: String,
    pub(crate) is_number: bool,
    pub(crate) is_url: bool,
}

/// A formatted value, and the number to sort by.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) number: Option<f64>,
}

impl Cell {
    fn new(value: &StatisticValue, format: Format) -> Cell {
        Cell { text: format.format_value(value), number: value.as_f64() }
    }
}

impl Table {
    /// The columns of a statistic that a figure names; missing ones are omitted.
    pub(crate) fn from_statistic(statistic: &Statistic, spec: &TableSpec) -> Table {
        let found: Vec<(&ColumnSpec, Vec<&StatisticValue>)> = spec
            .columns
            .iter()
            .filter_map(|spec_column| {
                Some((spec_column, column(statistic, &spec_column.column)?.take(spec.max_rows).collect()))
            })
            .collect();
        let columns = found.iter().map(|(spec_column, values)| Column {
            title: spec_column.title.clone(),
            is_number: values.iter().all(|value| value.as_str().is_none()),
            is_url: spec_column.format == Format::Url,
        });
        let row = |index: usize| -> Vec<Cell> {
            found.iter().map(|(spec_column, values)| Cell::new(values[index], spec_column.format)).collect()
        };
        let shown = statistic.rows.len().min(spec.max_rows);
        Table {
            columns: columns.collect(),
            rows: (0..shown).map(row).collect(),
            rows_omitted: statistic.rows.len() - shown,
        }
    }

    /// Selected rows of names and numbers; rows without a number are omitted.
    pub(crate) fn summary(statistic: &Statistic, spec: &SummarySpec) -> Table {
        let names = column(statistic, &spec.name).into_iter().flatten();
        let numbers = column(statistic, &spec.value).into_iter().flatten();
        let known: Vec<(&str, &StatisticValue)> =
            names.zip(numbers).filter_map(|(name, number)| Some((name.as_str()?, number))).collect();
        let row = |row: &RowSpec| {
            let (_, number) =
                known.iter().find(|(name, number)| *name == row.name && **number != StatisticValue::Null)?;
            let title = Cell { text: row.title.clone(), number: None };
            Some(vec![title, Cell::new(number, row.format)])
        };
        let heading = |title: &str, is_number| Column { title: title.to_owned(), is_number, is_url: false };
        let columns = vec![heading("", false), heading("number", true)];
        Table { columns, rows: spec.rows.iter().filter_map(row).collect(), rows_omitted: 0 }
    }

    /// All columns of a statistic under their own names, up to a maximum number of rows.
    pub(crate) fn numbers(statistic: &Statistic, max_rows: usize) -> Table {
        let named = |name: &String| ColumnSpec {
            column: name.clone(),
            title: name.replace('_', " "),
            format: Format::Plain,
        };
        Table::from_statistic(
            statistic,
            &TableSpec { columns: statistic.columns.iter().map(named).collect(), max_rows },
        )
    }

    /// Combines the tables of two inputs: rows with the same texts (without texts, the same first number) become one
    /// row, and each number column appears twice.
    pub(crate) fn beside(self, other: &Table, names: [&str; 2]) -> Table {
        let mut keys: Vec<usize> =
            (0..self.columns.len()).filter(|index| !self.columns[*index].is_number).collect();
        if keys.is_empty() {
            keys.push(0);
        }
        let key = |row: &[Cell]| -> Vec<String> {
            keys.iter().filter_map(|index| row.get(*index)).map(|cell| cell.text.clone()).collect()
        };
        let mut columns: Vec<Column> = keys.iter().map(|index| self.columns[*index].clone()).collect();
        let numbers: Vec<usize> = (0..self.columns.len()).filter(|index| !keys.contains(index)).collect();
        for index in &numbers {
            for name in names {
                let title = format!("{}, {name}", self.columns[*index].title);
                columns.push(Column { title, ..self.columns[*index].clone() });
            }
        }
        let nothing = Cell { text: NO_VALUE.to_owned(), number: None };
        let only_other = other.rows.iter().filter(|row| !self.rows.iter().any(|own| key(own) == key(row)));
        let pairs = self
            .rows
            .iter()
            .map(|own| (key(own), Some(own), other.rows.iter().find(|row| key(row) == key(own))));
        let pairs = pairs.chain(only_other.map(|row| (key(row), None, Some(row))));
        let rows = pairs.map(|(words, own, there)| {
            let words = words.into_iter().map(|text| Cell { text, number: None });
            let of = |row: Option<&Vec<Cell>>, index: usize| {
                row.and_then(|row| row.get(index)).unwrap_or(&nothing).clone()
            };
            words.chain(numbers.iter().flat_map(|index| [of(own, *index), of(there, *index)])).collect()
        });
        let rows = rows.collect();
        Table { columns, rows, rows_omitted: self.rows_omitted.max(other.rows_omitted) }
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
    fn two_inputs_are_shown_side_by_side() {
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
    fn omitted_rows_are_counted() {
        let table = Table::numbers(&statistic(&[("a", 1), ("b", 2), ("c", 3)]), 2);
        assert_eq!((table.rows.len(), table.rows_omitted), (2, 1));
    }
}
