//! How is a number spread over all rows? Logarithmic bins, the share of rows that have at least as much, and the power law
//! of the tail; and the query that gives the bins.

use store::{Rows, Statistic, Value};

use super::Description;
use super::groups::NumberOf;
use crate::histogram::Histogram;
use crate::moments::Moments;
use crate::power_law::{Values, fit_power_law};
use crate::quantiles::Quantiles;

/// A number of every row, and what it is called.
pub(super) struct Distribution<R: Rows> {
    pub(super) name: &'static str,
    meaning: &'static str,
    /// What the rows are: `pages`.
    of: &'static str,
    sql: &'static str,
    number: NumberOf<R>,
    /// Of which kind the power law is, if one is looked for.
    law: Option<Values>,
}

/// What was seen so far.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    histogram: Histogram,
    quantiles: Quantiles,
    moments: Moments,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen {
            histogram: Histogram::logarithmic(),
            quantiles: Quantiles::default(),
            moments: Moments::default(),
        }
    }
}

impl Seen {
    /// What is negative is not counted.
    pub(super) fn add(&mut self, number: f64) {
        if number >= 0.0 && number.is_finite() {
            // A negative zero is zero.
            let number = number + 0.0;
            self.histogram.add(number);
            self.quantiles.add(number);
            self.moments.add(number);
        }
    }

    pub(super) fn merge(&mut self, other: &Seen) {
        self.histogram.merge(&other.histogram);
        self.quantiles.merge(&other.quantiles);
        self.moments.merge(&other.moments);
    }

    /// The statistic of this name, with rows that are called so.
    pub(super) fn finish(self, name: &str, of: &str, law: Option<Values>) -> Statistic {
        let spread = self.quantiles.finish();
        let Moments { count, sum, min, max } = self.moments;
        let mut notes: Vec<(&str, f64)> = vec![("n", count as f64)];
        if let (Some(mean), Some(median)) = (self.moments.mean(), spread.quantile(0.5)) {
            notes.extend([("mean", mean), ("median", median), ("min", min), ("max", max), ("sum", sum)]);
        }
        let row = |bin: crate::histogram::Bin| -> Vec<Value> {
            vec![bin.from.into(), bin.to.into(), bin.count.into(), bin.at_least.into()]
        };
        Statistic {
            name: name.to_owned(),
            columns: columns(of),
            rows: self.histogram.bins().into_iter().map(row).collect(),
            fit: law.and_then(|law| fit_power_law(&spread, law)),
            notes: notes.into_iter().map(|(name, number)| (name.to_owned(), number)).collect(),
        }
    }
}

fn columns(of: &str) -> Vec<String> {
    ["from", "to", of, "ccdf"].map(str::to_owned).to_vec()
}

impl<R: Rows> Distribution<R> {
    pub(super) fn new(
        name: &'static str,
        meaning: &'static str,
        of: &'static str,
        sql: &'static str,
        number: NumberOf<R>,
    ) -> Distribution<R> {
        Distribution { name, meaning, of, sql, number, law: None }
    }

    /// Looks for a power law among whole numbers.
    pub(super) fn discrete(mut self) -> Distribution<R> {
        self.law = Some(Values::Discrete);
        self
    }

    /// Looks for a power law among real numbers.
    pub(super) fn continuous(mut self) -> Distribution<R> {
        self.law = Some(Values::Continuous);
        self
    }

    pub(super) fn see(&self, row: &R::Row<'_>, seen: &mut Seen) {
        if let Some(number) = (self.number)(row) {
            seen.add(number);
        }
    }

    pub(super) fn finish(&self, seen: Seen) -> Statistic {
        seen.finish(self.name, self.of, self.law)
    }

    pub(super) fn describe(&self) -> Description {
        let values = format!("select cast({} as double) as x from {}", self.sql, R::NAME);
        describe(self.name, self.meaning, self.of, &values)
    }
}

/// The description of a distribution; `values` is a query for its numbers, as `x`.
pub(super) fn describe(name: &'static str, meaning: &str, of: &str, values: &str) -> Description {
    // Zero has a bin of its own, below that of any number.
    let sql = format!(
        "select case when bin = -9999 then 0 else power(2, bin / 4) end as \"from\", \
         case when bin = -9999 then 0 else power(2, (bin + 1) / 4) end as \"to\", n as {of}, \
         cast(sum(n) over (order by bin desc) as double) / sum(n) over () as ccdf from \
         (select bin, count(*) as n from (select case when x = 0 then -9999 else floor(4 * log2(x)) end as bin from \
         ({values}) as v where x >= 0) as b group by bin) as c order by bin"
    );
    Description { name, columns: columns(of), meaning: meaning.to_owned(), sql }
}
