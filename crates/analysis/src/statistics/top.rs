//! The top rows of a table by a number, and the query that returns the same.

use std::cmp::Ordering;

use store::{Rows, Statistic, StatisticValue};

use super::description::Description;
use super::groups::NumberFn;
use crate::sketch::top_k::TopK;

/// Number of rows.
pub(super) const MAX_TOP_ROWS: usize = 50;

/// Returns the cells of a row.
type CellsFn<R> = for<'a, 'b> fn(&'b <R as Rows>::Row<'a>) -> Vec<StatisticValue>;

/// A statistic with the top rows.
pub(super) struct Top<R: Rows> {
    pub(super) name: &'static str,
    meaning: &'static str,
    columns: &'static [&'static str],
    /// Column of the number.
    by: &'static str,
    number: NumberFn<R>,
    /// Column that decides between equal numbers, and its value.
    id: (&'static str, IdFn<R>),
    cells: CellsFn<R>,
}

/// Order of rows with equal numbers.
pub(super) type IdFn<R> = for<'a, 'b> fn(&'b <R as Rows>::Row<'a>) -> Id;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Id {
    Number(u32),
    Text(String),
}

/// A row of the statistic.
#[derive(Debug, Clone)]
pub(super) struct TopRow {
    id: Id,
    cells: Vec<StatisticValue>,
}

impl<R: Rows> Top<R> {
    pub(super) fn new(
        name: &'static str,
        meaning: &'static str,
        columns: &'static [&'static str],
        (by, number): (&'static str, NumberFn<R>),
        id: (&'static str, IdFn<R>),
        cells: CellsFn<R>,
    ) -> Top<R> {
        Top { name, meaning, columns, by, number, id, cells }
    }

    pub(super) fn add_row(&self, row: &R::Row<'_>, top: &mut TopK<TopRow>) {
        if let Some(number) = (self.number)(row) {
            top.offer(number, || TopRow { id: (self.id.1)(row), cells: (self.cells)(row) });
        }
    }

    pub(super) fn finish(&self, top: TopK<TopRow>) -> Statistic {
        Statistic {
            name: self.name.to_owned(),
            columns: self.describe().columns,
            rows: top.finish().into_iter().map(|(_, row)| row.cells).collect(),
            ..Statistic::default()
        }
    }

    pub(super) fn describe(&self) -> Description {
        let Top { by, id, .. } = self;
        let sql = format!(
            "select {} from {} where {by} is not null order by {by} desc, {} limit {MAX_TOP_ROWS}",
            self.columns.join(", "),
            R::NAME,
            id.0
        );
        let columns = self.columns.iter().map(|column| (*column).to_owned()).collect();
        Description { name: self.name, columns, meaning: self.meaning.to_owned(), sql }
    }
}

impl Ord for TopRow {
    fn cmp(&self, other: &TopRow) -> Ordering {
        self.id.cmp(&other.id)
    }
}

impl PartialOrd for TopRow {
    fn partial_cmp(&self, other: &TopRow) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for TopRow {
    fn eq(&self, other: &TopRow) -> bool {
        self.id == other.id
    }
}

impl Eq for TopRow {}
