//! Distribution of a number over all rows: logarithmic bins, the share of rows with at least that value, and the power
//! law of the tail; and the query that returns the bins.

use store::{Rows, Statistic, StatisticValue};

use super::description::Description;
use super::groups::NumberFn;
use crate::sketch::histogram::Histogram;
use crate::sketch::moments::Moments;
use crate::sketch::power_law::{ValueKind, fit_power_law};
use crate::sketch::quantiles::Quantiles;

/// A number of each row.
pub(super) struct Distribution<R: Rows> {
    pub(super) name: &'static str,
    meaning: &'static str,
    /// Name of the rows: `pages`.
    of: &'static str,
    sql: &'static str,
    number: NumberFn<R>,
    /// Kind of values for a power-law fit, if one is wanted.
    law: Option<ValueKind>,
}

/// Values so far.
#[derive(Debug, Clone)]
pub(super) struct DistributionSketch {
    histogram: Histogram,
    quantiles: Quantiles,
    moments: Moments,
}

impl Default for DistributionSketch {
    fn default() -> DistributionSketch {
        DistributionSketch {
            histogram: Histogram::logarithmic(),
            quantiles: Quantiles::default(),
            moments: Moments::default(),
        }
    }
}

impl DistributionSketch {
    /// Adds a value; negative and non-finite values are not counted.
    pub(super) fn add(&mut self, number: f64) {
        if number >= 0.0 && number.is_finite() {
            // Turns -0.0 into 0.0.
            let number = number + 0.0;
            self.histogram.add(number);
            self.quantiles.add(number);
            self.moments.add(number);
        }
    }

    pub(super) fn merge(&mut self, other: &DistributionSketch) {
        self.histogram.merge(&other.histogram);
        self.quantiles.merge(&other.quantiles);
        self.moments.merge(&other.moments);
    }

    /// Returns the statistic with this name; `of` is the name of its rows.
    pub(super) fn finish(self, name: &str, of: &str, law: Option<ValueKind>) -> Statistic {
        let counts = self.quantiles.finish();
        let Moments { count, sum, min, max } = self.moments;
        let mut summary: Vec<(&str, f64)> = vec![("n", count as f64)];
        if let (Some(mean), Some(median)) = (self.moments.mean(), counts.quantile(0.5)) {
            summary.extend([("mean", mean), ("median", median), ("min", min), ("max", max), ("sum", sum)]);
        }
        let row = |bin: crate::sketch::histogram::Bin| -> Vec<StatisticValue> {
            vec![bin.from.into(), bin.to.into(), bin.count.into(), bin.at_least.into()]
        };
        Statistic {
            name: name.to_owned(),
            columns: columns(of),
            rows: self.histogram.bins().into_iter().map(row).collect(),
            power_law_fit: law.and_then(|law| fit_power_law(&counts, law)),
            summary: summary.into_iter().map(|(name, number)| (name.to_owned(), number)).collect(),
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
        number: NumberFn<R>,
    ) -> Distribution<R> {
        Distribution { name, meaning, of, sql, number, law: None }
    }

    /// Fits a power law to whole numbers.
    pub(super) fn discrete(mut self) -> Distribution<R> {
        self.law = Some(ValueKind::Discrete);
        self
    }

    /// Fits a power law to real numbers.
    pub(super) fn continuous(mut self) -> Distribution<R> {
        self.law = Some(ValueKind::Continuous);
        self
    }

    pub(super) fn add_row(&self, row: &R::Row<'_>, sketch: &mut DistributionSketch) {
        if let Some(number) = (self.number)(row) {
            sketch.add(number);
        }
    }

    pub(super) fn finish(&self, sketch: DistributionSketch) -> Statistic {
        sketch.finish(self.name, self.of, self.law)
    }

    pub(super) fn describe(&self) -> Description {
        let values = format!("select cast({} as double) as x from {}", self.sql, R::NAME);
        describe(self.name, self.meaning, self.of, &values)
    }
}

/// Description of a distribution; `values` is a query for its numbers, as `x`.
pub(super) fn describe(name: &'static str, meaning: &str, of: &str, values: &str) -> Description {
    // -9999 is the bin of zero, below all others.
    let sql = format!(
        "select case when bin = -9999 then 0 else power(2, bin / 4) end as \"from\", \
         case when bin = -9999 then 0 else power(2, (bin + 1) / 4) end as \"to\", n as {of}, \
         cast(sum(n) over (order by bin desc) as double) / sum(n) over () as ccdf from \
         (select bin, count(*) as n from (select case when x = 0 then -9999 else floor(4 * log2(x)) end as bin from \
         ({values}) as v where x >= 0) as b group by bin) as c order by bin"
    );
    Description { name, columns: columns(of), meaning: meaning.to_owned(), sql }
}
