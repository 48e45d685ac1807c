//! Which rows come first? Those with the highest number, and the query that gives the same.

use std::cmp::Ordering;

use store::{Rows, Statistic, Value};

use super::Description;
use super::groups::NumberOf;
use crate::top_k::TopK;

/// So many are told of.
pub(super) const MOST_TOLD: usize = 50;

/// The cells of a row.
type CellsOf<R> = for<'a, 'b> fn(&'b <R as Rows>::Row<'a>) -> Vec<Value>;

/// What is told of the first rows.
pub(super) struct Top<R: Rows> {
    pub(super) name: &'static str,
    meaning: &'static str,
    columns: &'static [&'static str],
    /// The column of the number.
    by: &'static str,
    number: NumberOf<R>,
    /// The column that decides between equal numbers, and its value.
    id: (&'static str, IdOf<R>),
    cells: CellsOf<R>,
}

/// Rows of equal numbers are in the order of these.
pub(super) type IdOf<R> = for<'a, 'b> fn(&'b <R as Rows>::Row<'a>) -> Id;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Id {
    Number(u32),
    Text(String),
}

/// A row that is told of.
#[derive(Debug, Clone)]
pub(super) struct Told {
    id: Id,
    cells: Vec<Value>,
}

impl<R: Rows> Top<R> {
    pub(super) fn new(
        name: &'static str,
        meaning: &'static str,
        columns: &'static [&'static str],
        (by, number): (&'static str, NumberOf<R>),
        id: (&'static str, IdOf<R>),
        cells: CellsOf<R>,
    ) -> Top<R> {
        Top { name, meaning, columns, by, number, id, cells }
    }

    pub(super) fn see(&self, row: &R::Row<'_>, top: &mut TopK<Told>) {
        if let Some(number) = (self.number)(row) {
            top.offer(number, || Told { id: (self.id.1)(row), cells: (self.cells)(row) });
        }
    }

    pub(super) fn finish(&self, top: TopK<Told>) -> Statistic {
        Statistic {
            name: self.name.to_owned(),
            columns: self.describe().columns,
            rows: top.finish().into_iter().map(|(_, told)| told.cells).collect(),
            ..Statistic::default()
        }
    }

    pub(super) fn describe(&self) -> Description {
        let Top { by, id, .. } = self;
        let sql = format!(
            "select {} from {} where {by} is not null order by {by} desc, {} limit {MOST_TOLD}",
            self.columns.join(", "),
            R::NAME,
            id.0
        );
        let columns = self.columns.iter().map(|column| (*column).to_owned()).collect();
        Description { name: self.name, columns, meaning: self.meaning.to_owned(), sql }
    }
}

impl Ord for Told {
    fn cmp(&self, other: &Told) -> Ordering {
        self.id.cmp(&other.id)
    }
}

impl PartialOrd for Told {
    fn partial_cmp(&self, other: &Told) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Told {
    fn eq(&self, other: &Told) -> bool {
        self.id == other.id
    }
}

impl Eq for Told {}
