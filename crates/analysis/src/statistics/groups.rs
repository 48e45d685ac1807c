//! Counts, sums and means of rows by a key, and the query that returns the same.

use std::collections::{BTreeMap, HashMap};

use store::{Rows, Statistic, StatisticValue};

use super::description::Description;

/// Key of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key<'a> {
    /// The row is not counted.
    Skip,
    /// The row has no key.
    Null,
    Integer(i64),
    Text(&'a str),
}

impl<'a> From<Option<&'a str>> for Key<'a> {
    fn from(text: Option<&'a str>) -> Key<'a> {
        text.map_or(Key::Null, Key::Text)
    }
}

impl From<Option<i64>> for Key<'_> {
    fn from(number: Option<i64>) -> Self {
        number.map_or(Key::Null, Key::Integer)
    }
}

impl<'a> Key<'a> {
    /// This key for rows that are counted, [`Key::Skip`] for others.
    pub(super) fn counted_if(is_counted: bool, key: impl Into<Key<'a>>) -> Key<'a> {
        if is_counted { key.into() } else { Key::Skip }
    }
}

/// A number that is aggregated per key.
pub(super) struct Measure<R: Rows> {
    column: &'static str,
    sql: &'static str,
    kind: MeasureKind,
    of: NumberFn<R>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MeasureKind {
    Count,
    Sum,
    Mean,
}

/// Returns the key of a row.
pub(super) type KeyFn<R> = for<'a, 'b> fn(&'b <R as Rows>::Row<'a>) -> Key<'b>;
/// Returns a number of a row.
pub(super) type NumberFn<R> = for<'a, 'b> fn(&'b <R as Rows>::Row<'a>) -> Option<f64>;

/// A statistic with one row per key.
pub(super) struct GroupBy<R: Rows> {
    pub(super) name: &'static str,
    meaning: &'static str,
    key_column: &'static str,
    key_sql: &'static str,
    filter: &'static str,
    key: KeyFn<R>,
    measures: Vec<Measure<R>>,
    order: Order,
    /// Whether the diversity of the keys is reported.
    pub(super) has_diversity: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Descending by the first measure, at most [`MAX_GROUP_ROWS`].
    Measure,
    Key,
}

/// Maximum number of rows of a statistic with arbitrarily many keys.
pub(super) const MAX_GROUP_ROWS: usize = 100;
/// Maximum number of keys; rows with further keys are only counted.
const MAX_KEYS: usize = 1_000_000;

/// Name of the first column, the SQL expression of the key, and the filter of the rows.
pub(super) type KeySql = (&'static str, &'static str, &'static str);

impl<R: Rows> GroupBy<R> {
    /// Counts rows by a key.
    pub(super) fn new(
        name: &'static str,
        meaning: &'static str,
        count: &'static str,
        (key_column, key_sql, filter): KeySql,
        key: KeyFn<R>,
    ) -> GroupBy<R> {
        let measures =
            vec![Measure { column: count, sql: "count(*)", kind: MeasureKind::Count, of: |_| None }];
        let order = Order::Measure;
        GroupBy { name, meaning, key_column, key_sql, filter, key, measures, order, has_diversity: false }
    }

    /// Sums a number instead of counting rows.
    pub(super) fn summing(mut self, column: &'static str, sql: &'static str, of: NumberFn<R>) -> GroupBy<R> {
        self.measures = vec![Measure { column, sql, kind: MeasureKind::Sum, of }];
        self
    }

    pub(super) fn and_sum(mut self, column: &'static str, sql: &'static str, of: NumberFn<R>) -> GroupBy<R> {
        self.measures.push(Measure { column, sql, kind: MeasureKind::Sum, of });
        self
    }

    pub(super) fn and_mean(mut self, column: &'static str, sql: &'static str, of: NumberFn<R>) -> GroupBy<R> {
        self.measures.push(Measure { column, sql, kind: MeasureKind::Mean, of });
        self
    }

    /// Sorts by key, and returns all rows.
    pub(super) fn ordered_by_key(mut self) -> GroupBy<R> {
        self.order = Order::Key;
        self
    }

    /// Also reports the diversity of the keys.
    pub(super) fn with_diversity(mut self) -> GroupBy<R> {
        self.has_diversity = true;
        self
    }

    pub(super) fn add_row(&self, row: &R::Row<'_>, totals: &mut GroupTotals) {
        let key = (self.key)(row);
        let Some(sums) = totals.entry(key, self.measures.len()) else { return };
        for (measure, sum) in self.measures.iter().zip(sums) {
            match (measure.kind, (measure.of)(row)) {
                (MeasureKind::Count, _) => sum.count += 1,
                (_, Some(number)) => {
                    sum.count += 1;
                    sum.sum += number;
                }
                (_, None) => {}
            }
        }
    }

    pub(super) fn finish(&self, totals: &GroupTotals) -> Statistic {
        let mut rows = totals.rows();
        if self.order == Order::Measure {
            // The sort is stable: equal numbers stay in the order of their keys.
            rows.sort_by(|a, b| self.first(&b.1).total_cmp(&self.first(&a.1)));
        }
        let kinds = rows.len();
        let all = rows.iter().fold(0.0, |all, (_, sums)| all + self.first(sums));
        if self.order == Order::Measure {
            rows.truncate(MAX_GROUP_ROWS);
        }
        let row = |(key, sums): (StatisticValue, Vec<Sum>)| {
            let numbers = self.measures.iter().zip(&sums).map(|(measure, sum)| measure.value(sum));
            std::iter::once(key).chain(numbers).collect()
        };
        let summary =
            [("n", all), ("kinds", kinds as f64), ("beyond_max_keys", skipped_count(&totals.others))];
        Statistic {
            name: self.name.to_owned(),
            columns: self.columns(),
            rows: rows.into_iter().map(row).collect(),
            power_law_fit: None,
            summary: summary.into_iter().map(|(name, number)| (name.to_owned(), number)).collect(),
        }
    }

    fn first(&self, sums: &[Sum]) -> f64 {
        self.measures[0].value(&sums[0]).as_f64().unwrap_or(0.0)
    }

    fn columns(&self) -> Vec<String> {
        let measures = self.measures.iter().map(|measure| measure.column);
        std::iter::once(self.key_column).chain(measures).map(str::to_owned).collect()
    }

    pub(super) fn describe(&self) -> Description {
        let mut sql = format!("select {} as {}", self.key_sql, self.key_column);
        for measure in &self.measures {
            sql += &format!(", {} as {}", measure.sql, measure.column);
        }
        sql += &format!(" from {}", R::NAME);
        if !self.filter.is_empty() {
            sql += &format!(" where {}", self.filter);
        }
        sql += " group by 1";
        sql += &match self.order {
            Order::Measure => format!(" order by 2 desc, 1 nulls last limit {MAX_GROUP_ROWS}"),
            Order::Key => " order by 1 nulls last".to_owned(),
        };
        Description { name: self.name, columns: self.columns(), meaning: self.meaning.to_owned(), sql }
    }

    /// Diversity of the keys, without rows that have none.
    pub(super) fn diversity(&self, totals: &GroupTotals) -> Vec<StatisticValue> {
        let known = totals.rows().into_iter().filter(|(key, _)| *key != StatisticValue::Null);
        let numbers: Vec<f64> =
            known.map(|(_, sums)| self.first(&sums)).filter(|number| *number > 0.0).collect();
        let all = numbers.iter().fold(0.0, |all, number| all + number);
        let shares = || numbers.iter().map(|number| number / all);
        let if_any = (!numbers.is_empty()).then_some(());
        vec![
            self.name.into(),
            (numbers.len() as u64).into(),
            all.into(),
            if_any.map(|()| -shares().map(|share| share * share.ln()).sum::<f64>()).into(),
            if_any.map(|()| 1.0 - shares().map(|share| share * share).sum::<f64>()).into(),
            if_any.map(|()| shares().fold(0.0, f64::max)).into(),
        ]
    }

    /// Query for [`GroupBy::diversity`].
    pub(super) fn diversity_sql(&self) -> String {
        let and = if self.filter.is_empty() { String::new() } else { format!(" and {}", self.filter) };
        format!(
            "select '{}' as statistic, count(*) as kinds, cast(coalesce(sum(n), 0) as double) as n, -sum(p * ln(p)) as shannon, \
             1 - sum(p * p) as simpson, max(p) as largest_share \
             from (select n, cast(n as double) / sum(n) over () as p from \
             (select {} as k, {} as n from {} where {} is not null{and} group by 1) as a where n > 0) as b",
            self.name,
            self.key_sql,
            self.measures[0].sql,
            R::NAME,
            self.key_sql
        )
    }
}

impl<R: Rows> Measure<R> {
    fn value(&self, sum: &Sum) -> StatisticValue {
        match self.kind {
            MeasureKind::Count => sum.count.into(),
            _ if sum.count == 0 => StatisticValue::Null,
            MeasureKind::Sum => sum.sum.into(),
            MeasureKind::Mean => (sum.sum / sum.count as f64).into(),
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    count: u64,
    sum: f64,
}

/// Totals so far.
#[derive(Debug, Clone, Default)]
pub(super) struct GroupTotals {
    texts: HashMap<String, Vec<Sum>>,
    integers: BTreeMap<i64, Vec<Sum>>,
    null: Vec<Sum>,
    others: Vec<Sum>,
}

impl GroupTotals {
    /// Totals of a key; none if it is not counted.
    fn entry(&mut self, key: Key<'_>, measures: usize) -> Option<&mut Vec<Sum>> {
        let is_full = self.texts.len() + self.integers.len() >= MAX_KEYS;
        let sums = match key {
            Key::Skip => return None,
            Key::Null => &mut self.null,
            Key::Integer(number) if !is_full || self.integers.contains_key(&number) => {
                self.integers.entry(number).or_default()
            }
            Key::Text(text) if !is_full || self.texts.contains_key(text) => {
                if !self.texts.contains_key(text) {
                    self.texts.insert(text.to_owned(), Vec::new());
                }
                self.texts.get_mut(text)?
            }
            Key::Integer(_) | Key::Text(_) => &mut self.others,
        };
        sums.resize(measures, Sum::default());
        Some(sums)
    }

    pub(super) fn merge(&mut self, other: GroupTotals) {
        for (text, sums) in other.texts {
            add(self.entry(Key::Text(&text), sums.len()), &sums);
        }
        for (number, sums) in other.integers {
            add(self.entry(Key::Integer(number), sums.len()), &sums);
        }
        if !other.null.is_empty() {
            add(self.entry(Key::Null, other.null.len()), &other.null);
        }
        self.others.resize(self.others.len().max(other.others.len()), Sum::default());
        add(Some(&mut self.others), &other.others);
    }

    /// Totals by key: numbers, then strings, then rows without a key.
    fn rows(&self) -> Vec<(StatisticValue, Vec<Sum>)> {
        let mut texts: Vec<(&String, &Vec<Sum>)> = self.texts.iter().collect();
        texts.sort_unstable_by_key(|(text, _)| *text);
        let integers =
            self.integers.iter().map(|(number, sums)| (StatisticValue::Integer(*number), sums.clone()));
        let texts = texts.into_iter().map(|(text, sums)| (StatisticValue::from(text.as_str()), sums.clone()));
        let null = (!self.null.is_empty()).then(|| (StatisticValue::Null, self.null.clone()));
        integers.chain(texts).chain(null).collect()
    }
}

fn add(sums: Option<&mut Vec<Sum>>, more: &[Sum]) {
    for (sum, more) in sums.into_iter().flatten().zip(more) {
        sum.count += more.count;
        sum.sum += more.sum;
    }
}

fn skipped_count(others: &[Sum]) -> f64 {
    others.first().map_or(0.0, |sum| sum.count as f64)
}
