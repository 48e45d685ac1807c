//! What is counted of the rows of one table? A list of statistics, all filled in one pass.

use store::{PageRow, PageRows, Rows, SiteRankRow, SiteRankRows, Statistic, TableReader, Value};

use super::Description;
use super::distribution::{Distribution, Seen};
use super::groups::{Counted, Groups, NumberOf};
use super::top::{MOST_TOLD, Told, Top};
use crate::analyzer::{Analyzer, Reads};
use crate::error::Result;
use crate::top_k::TopK;

/// The statistics of one table.
pub(super) struct Sheet<R: Rows> {
    pub(super) figures: Vec<Figure<R>>,
    pub(super) groups: Vec<Groups<R>>,
    pub(super) distributions: Vec<Distribution<R>>,
    pub(super) tops: Vec<Top<R>>,
}

/// One number about all rows, for the summary.
pub(super) struct Figure<R: Rows> {
    pub(super) name: &'static str,
    /// As an expression over the table.
    pub(super) sql: &'static str,
    pub(super) of: NumberOf<R>,
    pub(super) how: How,
}

/// How numbers of rows become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Sum,
    Min,
    Max,
}

/// What was found in a table.
pub(super) struct Filled {
    pub(super) statistics: Vec<Statistic>,
    /// Rows of the summary.
    pub(super) figures: Vec<Vec<Value>>,
    /// Rows of the diversity.
    pub(super) diversity: Vec<Vec<Value>>,
}

impl<R: Rows> Sheet<R> {
    /// A sheet to be filled.
    pub(super) fn blank(&self) -> Filling<'_, R> {
        Filling {
            sheet: self,
            figures: self.figures.iter().map(|figure| figure.how.nothing()).collect(),
            groups: vec![Counted::default(); self.groups.len()],
            distributions: vec![Seen::default(); self.distributions.len()],
            tops: vec![TopK::new(MOST_TOLD); self.tops.len()],
        }
    }

    /// Fills one from a table, row by row.
    pub(super) fn fill(&self, table: &TableReader<R>) -> Result<Filled> {
        let mut filling = self.blank();
        table.for_each_row(|row| filling.see(row))?;
        Ok(filling.fill())
    }

    pub(super) fn describe(&self) -> Vec<Description> {
        let groups = self.groups.iter().map(Groups::describe);
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
        self.groups.iter().filter(|groups| groups.is_diverse).map(Groups::diversity_sql).collect()
    }
}

/// A sheet that is being filled.
pub(super) struct Filling<'s, R: Rows> {
    sheet: &'s Sheet<R>,
    figures: Vec<Option<f64>>,
    groups: Vec<Counted>,
    distributions: Vec<Seen>,
    tops: Vec<TopK<Told>>,
}

impl<R: Rows> Clone for Filling<'_, R> {
    fn clone(&self) -> Self {
        Filling {
            sheet: self.sheet,
            figures: self.figures.clone(),
            groups: self.groups.clone(),
            distributions: self.distributions.clone(),
            tops: self.tops.clone(),
        }
    }
}

impl<R: Rows> Filling<'_, R> {
    pub(super) fn see(&mut self, row: &R::Row<'_>) {
        let Sheet { figures, groups, distributions, tops } = self.sheet;
        for (figure, found) in figures.iter().zip(&mut self.figures) {
            *found = figure.how.join(*found, (figure.of)(row));
        }
        groups.iter().zip(&mut self.groups).for_each(|(groups, counted)| groups.see(row, counted));
        let seen = distributions.iter().zip(&mut self.distributions);
        seen.for_each(|(distribution, seen)| distribution.see(row, seen));
        tops.iter().zip(&mut self.tops).for_each(|(top, best)| top.see(row, best));
    }

    fn join(&mut self, other: Self) {
        let figures = self.sheet.figures.iter().zip(&mut self.figures).zip(other.figures);
        figures.for_each(|((figure, found), more)| *found = figure.how.join(*found, more));
        self.groups.iter_mut().zip(other.groups).for_each(|(counted, more)| counted.merge(more));
        self.distributions.iter_mut().zip(&other.distributions).for_each(|(seen, more)| seen.merge(more));
        self.tops.iter_mut().zip(other.tops).for_each(|(top, more)| top.merge(more));
    }

    pub(super) fn fill(self) -> Filled {
        let Sheet { figures, groups, distributions, tops } = self.sheet;
        let row = |(figure, found): (&Figure<R>, Option<f64>)| vec![figure.name.into(), found.into()];
        let figures = figures.iter().zip(self.figures).map(row).collect();
        let diverse = groups.iter().zip(&self.groups).filter(|(groups, _)| groups.is_diverse);
        let diversity = diverse.map(|(groups, counted)| groups.diversity(counted)).collect();
        let mut statistics: Vec<Statistic> =
            groups.iter().zip(&self.groups).map(|(groups, counted)| groups.finish(counted)).collect();
        statistics.extend(distributions.iter().zip(self.distributions).map(|(of, seen)| of.finish(seen)));
        statistics.extend(tops.iter().zip(self.tops).map(|(top, best)| top.finish(best)));
        Filled { statistics, figures, diversity }
    }
}

impl How {
    /// Of no rows at all.
    fn nothing(self) -> Option<f64> {
        (self == How::Sum).then_some(0.0)
    }

    fn join(self, found: Option<f64>, more: Option<f64>) -> Option<f64> {
        match (found, more) {
            (Some(found), Some(more)) => Some(match self {
                How::Sum => found + more,
                How::Min => found.min(more),
                How::Max => found.max(more),
            }),
            (found, more) => found.or(more),
        }
    }
}

impl Analyzer for Filling<'_, PageRows> {
    const READS: Reads = Reads::PAGES;
    type Finding = Filled;

    fn page(&mut self, page: &PageRow<'_>) {
        self.see(page);
    }

    fn merge(&mut self, other: Self) {
        self.join(other);
    }

    fn finish(self) -> Filled {
        self.fill()
    }
}

impl Analyzer for Filling<'_, SiteRankRows> {
    const READS: Reads = Reads::SITES;
    type Finding = Filled;

    fn site(&mut self, site: &SiteRankRow<'_>) {
        self.see(site);
    }

    fn merge(&mut self, other: Self) {
        self.join(other);
    }

    fn finish(self) -> Filled {
        self.fill()
    }
}
