//! How many rows are of each kind? Counts, sums and means by a key, and the query that gives the same.

use std::collections::{BTreeMap, HashMap};

use store::{Rows, Statistic, Value};

use super::Description;

/// The part of a row by which it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key<'a> {
    /// The row is not counted.
    Skip,
    /// It has none.
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
    /// This key, for rows that are counted.
    pub(super) fn of(is_counted: bool, key: impl Into<Key<'a>>) -> Key<'a> {
        if is_counted { key.into() } else { Key::Skip }
    }
}

/// What is told of each key.
pub(super) struct Measure<R: Rows> {
    column: &'static str,
    sql: &'static str,
    kind: Kind,
    of: NumberOf<R>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Count,
    Sum,
    Mean,
}

/// The key of a row.
pub(super) type KeyOf<R> = for<'a, 'b> fn(&'b <R as Rows>::Row<'a>) -> Key<'b>;
/// A number of a row.
pub(super) type NumberOf<R> = for<'a, 'b> fn(&'b <R as Rows>::Row<'a>) -> Option<f64>;

/// What is counted, and how.
pub(super) struct Groups<R: Rows> {
    pub(super) name: &'static str,
    meaning: &'static str,
    key_column: &'static str,
    key_sql: &'static str,
    filter: &'static str,
    key: KeyOf<R>,
    measures: Vec<Measure<R>>,
    order: Order,
    /// Whether it is told how evenly rows are spread over the keys.
    pub(super) is_diverse: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// The key with most first, and no more than [`MOST_ROWS`].
    Measure,
    Key,
}

/// So many rows of a statistic that could have any number.
pub(super) const MOST_ROWS: usize = 100;
/// Keys beyond these are not told apart.
const MOST_KEYS: usize = 1_000_000;

/// How the first column is called, how SQL finds the key, and which rows it counts.
pub(super) type KeySql = (&'static str, &'static str, &'static str);

impl<R: Rows> Groups<R> {
    /// Counts rows by a key.
    pub(super) fn new(
        name: &'static str,
        meaning: &'static str,
        count: &'static str,
        (key_column, key_sql, filter): KeySql,
        key: KeyOf<R>,
    ) -> Groups<R> {
        let measures = vec![Measure { column: count, sql: "count(*)", kind: Kind::Count, of: |_| None }];
        let order = Order::Measure;
        Groups { name, meaning, key_column, key_sql, filter, key, measures, order, is_diverse: false }
    }

    /// Sums a number up instead of counting rows.
    pub(super) fn summing(mut self, column: &'static str, sql: &'static str, of: NumberOf<R>) -> Groups<R> {
        self.measures = vec![Measure { column, sql, kind: Kind::Sum, of }];
        self
    }

    pub(super) fn and_sum(mut self, column: &'static str, sql: &'static str, of: NumberOf<R>) -> Groups<R> {
        self.measures.push(Measure { column, sql, kind: Kind::Sum, of });
        self
    }

    pub(super) fn and_mean(mut self, column: &'static str, sql: &'static str, of: NumberOf<R>) -> Groups<R> {
        self.measures.push(Measure { column, sql, kind: Kind::Mean, of });
        self
    }

    /// In the order of the keys, and all of them.
    pub(super) fn in_order(mut self) -> Groups<R> {
        self.order = Order::Key;
        self
    }

    /// Tells how evenly rows are spread, too.
    pub(super) fn diverse(mut self) -> Groups<R> {
        self.is_diverse = true;
        self
    }

    pub(super) fn see(&self, row: &R::Row<'_>, counted: &mut Counted) {
        let key = (self.key)(row);
        let Some(sums) = counted.of(key, self.measures.len()) else { return };
        for (measure, sum) in self.measures.iter().zip(sums) {
            match (measure.kind, (measure.of)(row)) {
                (Kind::Count, _) => sum.count += 1,
                (_, Some(number)) => {
                    sum.count += 1;
                    sum.sum += number;
                }
                (_, None) => {}
            }
        }
    }

    pub(super) fn finish(&self, counted: &Counted) -> Statistic {
        let mut rows = counted.rows();
        if self.order == Order::Measure {
            // The sort keeps the order of keys where numbers are the same.
            rows.sort_by(|a, b| self.first(&b.1).total_cmp(&self.first(&a.1)));
        }
        let kinds = rows.len();
        let all = rows.iter().fold(0.0, |all, (_, sums)| all + self.first(sums));
        if self.order == Order::Measure {
            rows.truncate(MOST_ROWS);
        }
        let row = |(key, sums): (Value, Vec<Sum>)| {
            let numbers = self.measures.iter().zip(&sums).map(|(measure, sum)| measure.value(sum));
            std::iter::once(key).chain(numbers).collect()
        };
        let notes = [("n", all), ("kinds", kinds as f64), ("unkept", counted_others(&counted.others))];
        Statistic {
            name: self.name.to_owned(),
            columns: self.columns(),
            rows: rows.into_iter().map(row).collect(),
            fit: None,
            notes: notes.into_iter().map(|(name, number)| (name.to_owned(), number)).collect(),
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
            Order::Measure => format!(" order by 2 desc, 1 nulls last limit {MOST_ROWS}"),
            Order::Key => " order by 1 nulls last".to_owned(),
        };
        Description { name: self.name, columns: self.columns(), meaning: self.meaning.to_owned(), sql }
    }

    /// How evenly rows are spread over keys, those without one left out.
    pub(super) fn diversity(&self, counted: &Counted) -> Vec<Value> {
        let known = counted.rows().into_iter().filter(|(key, _)| *key != Value::Null);
        let numbers: Vec<f64> =
            known.map(|(_, sums)| self.first(&sums)).filter(|number| *number > 0.0).collect();
        let all = numbers.iter().fold(0.0, |all, number| all + number);
        let shares = || numbers.iter().map(|number| number / all);
        let some = (!numbers.is_empty()).then_some(());
        vec![
            self.name.into(),
            (numbers.len() as u64).into(),
            all.into(),
            some.map(|()| -shares().map(|share| share * share.ln()).sum::<f64>()).into(),
            some.map(|()| 1.0 - shares().map(|share| share * share).sum::<f64>()).into(),
            some.map(|()| shares().fold(0.0, f64::max)).into(),
        ]
    }

    /// The query for [`Groups::diversity`].
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
    fn value(&self, sum: &Sum) -> Value {
        match self.kind {
            Kind::Count => sum.count.into(),
            _ if sum.count == 0 => Value::Null,
            Kind::Sum => sum.sum.into(),
            Kind::Mean => (sum.sum / sum.count as f64).into(),
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    count: u64,
    sum: f64,
}

/// What was counted so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Counted {
    texts: HashMap<String, Vec<Sum>>,
    integers: BTreeMap<i64, Vec<Sum>>,
    null: Vec<Sum>,
    others: Vec<Sum>,
}

impl Counted {
    /// The sums of a key; none if it is not counted.
    fn of(&mut self, key: Key<'_>, measures: usize) -> Option<&mut Vec<Sum>> {
        let is_full = self.texts.len() + self.integers.len() >= MOST_KEYS;
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

    pub(super) fn merge(&mut self, other: Counted) {
        for (text, sums) in other.texts {
            add(self.of(Key::Text(&text), sums.len()), &sums);
        }
        for (number, sums) in other.integers {
            add(self.of(Key::Integer(number), sums.len()), &sums);
        }
        if !other.null.is_empty() {
            add(self.of(Key::Null, other.null.len()), &other.null);
        }
        self.others.resize(self.others.len().max(other.others.len()), Sum::default());
        add(Some(&mut self.others), &other.others);
    }

    /// By key: numbers, then texts, then what has none.
    fn rows(&self) -> Vec<(Value, Vec<Sum>)> {
        let mut texts: Vec<(&String, &Vec<Sum>)> = self.texts.iter().collect();
        texts.sort_unstable_by_key(|(text, _)| *text);
        let integers = self.integers.iter().map(|(number, sums)| (Value::Integer(*number), sums.clone()));
        let texts = texts.into_iter().map(|(text, sums)| (Value::from(text.as_str()), sums.clone()));
        let null = (!self.null.is_empty()).then(|| (Value::Null, self.null.clone()));
        integers.chain(texts).chain(null).collect()
    }
}

fn add(sums: Option<&mut Vec<Sum>>, more: &[Sum]) {
    for (sum, more) in sums.into_iter().flatten().zip(more) {
        sum.count += more.count;
        sum.sum += more.sum;
    }
}

fn counted_others(others: &[Sum]) -> f64 {
    others.first().map_or(0.0, |sum| sum.count as f64)
}
