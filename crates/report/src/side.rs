//! What is reported of? One collection at one commit, with the statistics that its analysis has found.

use std::path::Path;

use store::{Statistic, Value, find_snapshot, read_statistics, read_statistics_of};

use crate::error::{Error, Result};

/// A collection as it was when it was analysed.
#[derive(Debug, Clone, Default)]
pub struct Side {
    /// As it is called in legends.
    pub name: String,
    /// The commit that was analysed.
    pub generation: u64,
    /// When that was committed, in Unix milliseconds; `None` if the commit is gone.
    pub committed_ms: Option<i64>,
    /// The same as readers see it.
    pub when: String,
    /// What the analysis has found.
    pub statistics: Vec<Statistic>,
}

impl Side {
    /// The statistics of the last analysis of a collection.
    pub fn newest(folder: &Path, name: &str) -> Result<Side> {
        let found = read_statistics(folder)?;
        let (generation, statistics) =
            found.ok_or_else(|| Error::NotAnalysed { folder: folder.to_owned() })?;
        let manifest = match find_snapshot(folder, Some(&generation.to_string())) {
            Ok(manifest) => Some(manifest),
            // A crawl goes on, and has let go of the commit since.
            Err(store::Error::NoSnapshot { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let committed_ms = manifest.map(|manifest| manifest.committed_ms);
        Ok(Side { name: name.to_owned(), generation, committed_ms, when: String::new(), statistics })
    }

    /// The statistics of a snapshot that is kept, by its name or generation. It has to have been analysed when it was new.
    pub fn snapshot(folder: &Path, name: &str) -> Result<Side> {
        let manifest = find_snapshot(folder, Some(name))?;
        let generation = manifest.generation;
        let missing = || Error::SnapshotNotAnalysed { folder: folder.to_owned(), name: name.to_owned() };
        let statistics = read_statistics_of(folder, generation)?.ok_or_else(missing)?;
        let committed_ms = Some(manifest.committed_ms);
        Ok(Side { name: name.to_owned(), generation, committed_ms, when: String::new(), statistics })
    }

    /// What it is, in a line.
    pub(crate) fn what(&self) -> String {
        let Side { name, generation, when, .. } = self;
        let when = if when.is_empty() { String::new() } else { format!(" of {when}") };
        format!("{name}, commit {generation}{when}")
    }

    /// A statistic with something in it.
    pub(crate) fn statistic(&self, name: &str) -> Option<&Statistic> {
        self.statistics.iter().find(|statistic| statistic.name == name && !statistic.rows.is_empty())
    }
}

/// The values of a column; none if there is no such column.
pub(crate) fn column<'s>(statistic: &'s Statistic, name: &str) -> Option<impl Iterator<Item = &'s Value>> {
    let place = statistic.columns.iter().position(|column| column == name)?;
    Some(statistic.rows.iter().map(move |row| row.get(place).unwrap_or(&Value::Null)))
}
