//! All statistics of one table, computed in one pass.

use store::{PageRow, PageRows, Rows, SiteRow, SiteRows, Statistic, StatisticValue, TableReader};

use super::description::Description;
use super::distribution::{Distribution, DistributionSketch};
use super::groups::{GroupBy, GroupTotals, NumberFn};
use super::top::{MAX_TOP_ROWS, Top, TopRow};
use crate::error::Result;
use crate::scan::analyzer::{Analyzer, Inputs};
use crate::sketch::top_k::TopK;

/// Statistics of one table.
pub(super) struct TableStatistics<R: Rows> {
    pub(super) figures: Vec<Figure<R>>,
    pub(super) groups: Vec<GroupBy<R>>,
    pub(super) distributions: Vec<Distribution<R>>,
    pub(super) tops: Vec<Top<R>>,
}

/// One number about all rows, for the summary.
pub(super) struct Figure<R: Rows> {
    pub(super) name: &'static str,
    /// SQL expression over the table.
    pub(super) sql: &'static str,
    pub(super) of: NumberFn<R>,
    pub(super) aggregate: Aggregate,
}

/// Aggregate function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aggregate {
    Sum,
    Min,
    Max,
}

/// Results of a table.
pub(super) struct Results {
    pub(super) statistics: Vec<Statistic>,
    /// Rows of the summary.
    pub(super) figures: Vec<Vec<StatisticValue>>,
    /// Rows of the diversity.
    pub(super) diversity: Vec<Vec<StatisticValue>>,
}

impl<R: Rows> TableStatistics<R> {
    /// Starts a pass.
    pub(super) fn start_pass(&self) -> Pass<'_, R> {
        Pass {
            statistics: self,
            figures: self.figures.iter().map(|figure| figure.aggregate.initial()).collect(),
            groups: vec![GroupTotals::default(); self.groups.len()],
            distributions: vec![DistributionSketch::default(); self.distributions.len()],
            tops: vec![TopK::new(MAX_TOP_ROWS); self.tops.len()],
        }
    }

    /// Computes the statistics from a table, row by row.
    pub(super) fn compute(&self, table: &TableReader<R>) -> Result<Results> {
        let mut pass = self.start_pass();
        table.for_each_row(|row| pass.add_row(row))?;
        Ok(pass.into_results())
    }

    pub(super) fn describe(&self) -> Vec<Description> {
        let groups = self.groups.iter().map(GroupBy::describe);
        let distributions = self.distributions.iter().map(Distribution::describe);
        groups.chain(distributions).chain(self.tops.iter().map(Top::describe)).collect()
    }

    pub(super) fn summary_sql(&self) -> Vec<String> {
        let query = |figure: &Figure<R>| {
            format!(
                "select '{}' as figure, cast({} as double) as value from {}",
                figure.name,
                figure.sql,
                R::NAME
            )
        };
        self.figures.iter().map(query).collect()
    }

    pub(super) fn diversity_sql(&self) -> Vec<String> {
        self.groups.iter().filter(|groups| groups.has_diversity).map(GroupBy::diversity_sql).collect()
    }
}

/// State of a pass.
pub(super) struct Pass<'s, R: Rows> {
    statistics: &'s TableStatistics<R>,
    figures: Vec<Option<f64>>,
    groups: Vec<GroupTotals>,
    distributions: Vec<DistributionSketch>,
    tops: Vec<TopK<TopRow>>,
}

impl<R: Rows> Clone for Pass<'_, R> {
    fn clone(&self) -> Self {
        Pass {
            statistics: self.statistics,
            figures: self.figures.clone(),
            groups: self.groups.clone(),
            distributions: self.distributions.clone(),
            tops: self.tops.clone(),
        }
    }
}

impl<R: Rows> Pass<'_, R> {
    pub(super) fn add_row(&mut self, row: &R::Row<'_>) {
        let TableStatistics { figures, groups, distributions, tops } = self.statistics;
        for (figure, value) in figures.iter().zip(&mut self.figures) {
            *value = figure.aggregate.combine(*value, (figure.of)(row));
        }
        groups.iter().zip(&mut self.groups).for_each(|(groups, totals)| groups.add_row(row, totals));
        let sketch = distributions.iter().zip(&mut self.distributions);
        sketch.for_each(|(distribution, sketch)| distribution.add_row(row, sketch));
        tops.iter().zip(&mut self.tops).for_each(|(top, best)| top.add_row(row, best));
    }

    fn merge_pass(&mut self, other: Self) {
        let figures = self.statistics.figures.iter().zip(&mut self.figures).zip(other.figures);
        figures.for_each(|((figure, value), more)| *value = figure.aggregate.combine(*value, more));
        self.groups.iter_mut().zip(other.groups).for_each(|(totals, more)| totals.merge(more));
        self.distributions.iter_mut().zip(&other.distributions).for_each(|(sketch, more)| sketch.merge(more));
        self.tops.iter_mut().zip(other.tops).for_each(|(top, more)| top.merge(more));
    }

    pub(super) fn into_results(self) -> Results {
        let TableStatistics { figures, groups, distributions, tops } = self.statistics;
        let row = |(figure, value): (&Figure<R>, Option<f64>)| vec![figure.name.into(), value.into()];
        let figures = figures.iter().zip(self.figures).map(row).collect();
        let diverse = groups.iter().zip(&self.groups).filter(|(groups, _)| groups.has_diversity);
        let diversity = diverse.map(|(groups, totals)| groups.diversity(totals)).collect();
        let mut statistics: Vec<Statistic> =
            groups.iter().zip(&self.groups).map(|(groups, totals)| groups.finish(totals)).collect();
        statistics.extend(distributions.iter().zip(self.distributions).map(|(of, sketch)| of.finish(sketch)));
        statistics.extend(tops.iter().zip(self.tops).map(|(top, best)| top.finish(best)));
        Results { statistics, figures, diversity }
    }
}

impl Aggregate {
    /// Value without rows.
    fn initial(self) -> Option<f64> {
        (self == Aggregate::Sum).then_some(0.0)
    }

    fn combine(self, value: Option<f64>, more: Option<f64>) -> Option<f64> {
        match (value, more) {
            (Some(value), Some(more)) => Some(match self {
                Aggregate::Sum => value + more,
                Aggregate::Min => value.min(more),
                Aggregate::Max => value.max(more),
            }),
            (value, more) => value.or(more),
        }
    }
}

impl Analyzer for Pass<'_, PageRows> {
    const INPUTS: Inputs = Inputs::PAGES;
    type Output = Results;

    fn page(&mut self, page: &PageRow<'_>) {
        self.add_row(page);
    }

    fn merge(&mut self, other: Self) {
        self.merge_pass(other);
    }

    fn finish(self) -> Results {
        self.into_results()
    }
}

impl Analyzer for Pass<'_, SiteRows> {
    const INPUTS: Inputs = Inputs::SITES;
    type Output = Results;

    fn site(&mut self, site: &SiteRow<'_>) {
        self.add_row(site);
    }

    fn merge(&mut self, other: Self) {
        self.merge_pass(other);
    }

    fn finish(self) -> Results {
        self.into_results()
    }
}
