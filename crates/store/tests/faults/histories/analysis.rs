//! Results of an analysis, stored beside the commits: a rank column, statistics and a derived table.

use std::path::Path;

use store::{
    DerivedTable, DomainRow, DomainRows, RankColumn, RankTarget, Result, Statistic, TableReader,
    read_statistics, write_ranks, write_statistics,
};

/// Result of an analysis: the generation of the commit, and a number that determines everything else.
pub(super) type Analysis = (u64, u32);

/// Part of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Ranks,
    Statistics,
    Table,
}

pub(super) const PARTS: [Part; 3] = [Part::Ranks, Part::Statistics, Part::Table];

fn ranks((_, number): Analysis) -> impl Iterator<Item = u32> {
    (0..number % 9_000).map(move |index| index ^ number)
}

fn statistics((_, number): Analysis) -> Vec<Statistic> {
    let name = format!("statistic-{number}").repeat(1 + number as usize % 900);
    vec![Statistic { name, ..Statistic::default() }]
}

/// Number of rows of the table.
fn rows((_, number): Analysis) -> u64 {
    u64::from(number % 50)
}

impl Part {
    /// Stores the part.
    pub(super) fn write(self, dir: &Path, analysis: Analysis) -> Result<()> {
        match self {
            Part::Ranks => write_ranks(dir, RankTarget::Pages, "pagerank", analysis.0, ranks(analysis)),
            Part::Statistics => write_statistics(dir, analysis.0, &statistics(analysis)),
            Part::Table => {
                let mut table = DerivedTable::<DomainRows>::create(dir, analysis.0)?;
                for number in 0..rows(analysis) {
                    let name = format!("domain{number}.test");
                    table.push(&DomainRow { url_host_registered_domain: &name, ..DomainRow::default() })?;
                }
                table.finish()
            }
        }
    }

    /// Whether the collection has exactly this result, or none.
    pub(super) fn is_stored(self, dir: &Path, analysis: Option<Analysis>) -> bool {
        match self {
            Part::Ranks => {
                let column = RankColumn::<u32>::open(dir, RankTarget::Pages, "pagerank").unwrap();
                let found = column.map(|column| (column.generation(), column.read(0..u32::MAX).unwrap()));
                found == analysis.map(|analysis| (analysis.0, ranks(analysis).collect()))
            }
            Part::Statistics => {
                let found = read_statistics(dir).unwrap();
                found == analysis.map(|analysis| (analysis.0, statistics(analysis)))
            }
            Part::Table => {
                let table = TableReader::<DomainRows>::open_derived(dir).unwrap();
                let found = table.map(|table| {
                    let mut found = 0;
                    table.for_each_row(|_| found += 1).unwrap();
                    found
                });
                found == analysis.map(rows)
            }
        }
    }
}
