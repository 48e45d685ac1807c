//! Input of a report: one collection at one commit, with the statistics of its analysis.

use std::path::Path;

use store::{Statistic, StatisticValue, find_snapshot, read_statistics, read_statistics_of};

use crate::error::{Error, Result};

/// A collection at the commit that was analysed.
#[derive(Debug, Clone, Default)]
pub struct ReportInput {
    /// Name in legends.
    pub name: String,
    /// Generation of the analysed commit.
    pub generation: u64,
    /// Time of the commit in Unix milliseconds; `None` if the commit was deleted since.
    pub committed_ms: Option<i64>,
    /// Time of the commit, formatted.
    pub committed: String,
    /// Statistics of the analysis.
    pub statistics: Vec<Statistic>,
}

impl ReportInput {
    /// Reads the statistics of the last analysis of a collection.
    pub fn newest(dir: &Path, name: &str) -> Result<ReportInput> {
        let found = read_statistics(dir)?;
        let (generation, statistics) = found.ok_or_else(|| Error::NotAnalysed { dir: dir.to_owned() })?;
        let manifest = match find_snapshot(dir, Some(&generation.to_string())) {
            Ok(manifest) => Some(manifest),
            // A crawl has deleted the commit since.
            Err(store::Error::SnapshotNotFound { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let committed_ms = manifest.map(|manifest| manifest.committed_ms);
        Ok(ReportInput {
            name: name.to_owned(),
            generation,
            committed_ms,
            committed: String::new(),
            statistics,
        })
    }

    /// Reads the statistics of a snapshot, by name or generation. It must have been analysed while it was the last
    /// commit.
    pub fn snapshot(dir: &Path, name: &str) -> Result<ReportInput> {
        let manifest = find_snapshot(dir, Some(name))?;
        let generation = manifest.generation;
        let missing = || Error::SnapshotNotAnalysed { dir: dir.to_owned(), name: name.to_owned() };
        let statistics = read_statistics_of(dir, generation)?.ok_or_else(missing)?;
        let committed_ms = Some(manifest.committed_ms);
        Ok(ReportInput {
            name: name.to_owned(),
            generation,
            committed_ms,
            committed: String::new(),
            statistics,
        })
    }

    /// One-line description: name, commit and time.
    pub(crate) fn description(&self) -> String {
        let ReportInput { name, generation, committed: when, .. } = self;
        let when = if when.is_empty() { String::new() } else { format!(" of {when}") };
        format!("{name}, commit {generation}{when}")
    }

    /// A statistic that is not empty.
    pub(crate) fn statistic(&self, name: &str) -> Option<&Statistic> {
        self.statistics.iter().find(|statistic| statistic.name == name && !statistic.rows.is_empty())
    }
}

/// Values of a column; none if there is no such column.
pub(crate) fn column<'s>(
    statistic: &'s Statistic,
    name: &str,
) -> Option<impl Iterator<Item = &'s StatisticValue>> {
    let index = statistic.columns.iter().position(|column| column == name)?;
    Some(statistic.rows.iter().map(move |row| row.get(index).unwrap_or(&StatisticValue::Null)))
}
