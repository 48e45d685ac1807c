//! Statistics of the last analysis: small named tables, the input of a report.
//!
//! They are one file, `graph/statistics-GENERATION.json`, an array of [`Statistic`]s; GENERATION is the analysed commit.
//! Like the columns of [`crate::RankColumn`] they are derived from a commit and not part of one. Those of a named
//! snapshot stay when a later commit is analysed, so that the two can be compared.
//!
//! This module does not interpret the numbers; docs/statistics.md describes each statistic.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::collection_dir::sync_dir;
use crate::disk::{self, DirEntry, File};
use crate::error::{Context, Result, corrupt};
use crate::layout;
use crate::snapshot::list_snapshots;

const DIR: &str = "graph";
const PREFIX: &str = "statistics-";
const EXTENSION: &str = ".json";
const UNFINISHED: &str = "unfinished";
/// Maximum size of a file of statistics; each value takes a few bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Small table with a name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Statistic {
    /// Name in kebab-case: `status-codes`.
    pub name: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows in display order, with one value per column.
    pub rows: Vec<Vec<StatisticValue>>,
    /// Power law fitted to the tail of a distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_law_fit: Option<PowerLaw>,
    /// Summary of all values: `n`, `mean`, `median`, `max`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub summary: BTreeMap<String, f64>,
}

/// Value of a cell; in JSON `null`, a number or a string.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StatisticValue {
    /// Unknown or not applicable.
    Null,
    /// Count.
    Integer(i64),
    /// Finite real number.
    Number(f64),
    /// Text.
    Text(String),
}

/// Power law p(x) ~ x^-alpha for x >= x_min.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PowerLaw {
    /// Exponent.
    pub alpha: f64,
    /// Start of the tail.
    pub x_min: f64,
    /// Kolmogorov-Smirnov distance between the law and the tail.
    pub ks: f64,
    /// Number of values in the tail.
    pub tail: u64,
    /// Number of values above 0.
    pub n: u64,
    /// Points of the law for drawing: a value, and the share of the tail at or above it.
    pub line: Vec<(f64, f64)>,
}

impl StatisticValue {
    /// Number, if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            StatisticValue::Integer(count) => Some(*count as f64),
            StatisticValue::Number(number) => Some(*number),
            StatisticValue::Null | StatisticValue::Text(_) => None,
        }
    }

    /// Text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            StatisticValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl From<u64> for StatisticValue {
    fn from(count: u64) -> StatisticValue {
        StatisticValue::Integer(count.cast_signed())
    }
}

impl From<f64> for StatisticValue {
    fn from(number: f64) -> StatisticValue {
        if number.is_finite() { StatisticValue::Number(number) } else { StatisticValue::Null }
    }
}

impl From<&str> for StatisticValue {
    fn from(text: &str) -> StatisticValue {
        StatisticValue::Text(text.to_owned())
    }
}

impl From<String> for StatisticValue {
    fn from(text: String) -> StatisticValue {
        StatisticValue::Text(text)
    }
}

impl<V: Into<StatisticValue>> From<Option<V>> for StatisticValue {
    fn from(value: Option<V>) -> StatisticValue {
        value.map_or(StatisticValue::Null, Into::into)
    }
}

/// Writes the statistics of a commit. Deletes those of other commits, except of named snapshots.
pub fn write_statistics(collection: &Path, generation: u64, statistics: &[Statistic]) -> Result<()> {
    let dir = collection.join(DIR);
    disk::create_dir_all(&dir).context("create", &dir)?;
    sync_dir(collection)?;
    let path = path_of(collection, generation);
    let unfinished = path.with_extension(UNFINISHED);
    let text = serde_json::to_vec(statistics).map_err(|error| corrupt(&path, "", error.to_string()))?;
    let mut file = File::create(&unfinished).context("create", &unfinished)?;
    file.write_all(&text).context("write", &unfinished)?;
    file.sync().context("sync", &unfinished)?;
    disk::rename(&unfinished, &path).context("rename", &path)?;
    // Before the old ones are deleted, so that a power failure leaves at least one of them.
    sync_dir(&dir)?;
    let snapshots = list_snapshots(collection)?;
    let is_named =
        |known: u64| snapshots.iter().any(|entry| entry.generation == known && entry.name.is_some());
    for old in analysed(collection)?.into_iter().filter(|old| *old != generation && !is_named(*old)) {
        let path = path_of(collection, old);
        disk::remove_file(&path).context("remove", &path)?;
    }
    sync_dir(&dir)
}

/// Reads the newest statistics of a collection, with the generation of their commit.
pub fn read_statistics(collection: &Path) -> Result<Option<(u64, Vec<Statistic>)>> {
    let Some(generation) = analysed(collection)?.into_iter().max() else { return Ok(None) };
    Ok(read_statistics_of(collection, generation)?.map(|statistics| (generation, statistics)))
}

/// Reads the statistics of a commit.
pub fn read_statistics_of(collection: &Path, generation: u64) -> Result<Option<Vec<Statistic>>> {
    let path = path_of(collection, generation);
    let bytes = match disk::read(&path, MAX_FILE_BYTES) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        bytes => bytes.context("read", &path)?,
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| corrupt(&path, "", error.to_string()))
}

fn path_of(collection: &Path, generation: u64) -> PathBuf {
    collection.join(DIR).join(format!("{PREFIX}{generation:010}{EXTENSION}"))
}

/// Generations that have statistics.
fn analysed(collection: &Path) -> Result<Vec<u64>> {
    let dir = collection.join(DIR);
    if !disk::exists(&dir).context("list", &dir)? {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for name in disk::list(&dir).context("list", &dir)?.iter().map(DirEntry::text) {
        let number = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(EXTENSION));
        found.extend(number.and_then(layout::generation));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::collection_dir::CollectionDir;
    use crate::snapshot::pin_generation;

    fn sample() -> Statistic {
        Statistic {
            name: "in-degree".to_owned(),
            columns: vec!["from".to_owned(), "to".to_owned(), "ccdf".to_owned(), "word".to_owned()],
            rows: vec![
                vec![0u64.into(), StatisticValue::Null, f64::NAN.into(), "é".into()],
                vec![4u64.into(), 4.75.into(), Some(0.25).into(), None::<String>.into()],
            ],
            power_law_fit: Some(PowerLaw {
                alpha: 2.1,
                x_min: 3.0,
                ks: 0.01,
                tail: 70,
                n: 100,
                line: vec![(3.0, 1.0), (30.0, 0.08)],
            }),
            summary: BTreeMap::from([("mean".to_owned(), 1.5)]),
        }
    }

    /// Creates a collection with `more` commits after the first.
    fn commits(collection: &Path, more: u64) -> CollectionDir {
        let mut directory = CollectionDir::create(collection).unwrap();
        for _ in 0..more {
            directory.commit(Vec::new(), Default::default(), 0).unwrap();
        }
        directory
    }

    #[test]
    fn statistics_are_read_back_and_old_ones_are_deleted() {
        let collection = tempfile::tempdir().unwrap();
        let collection = collection.path();
        assert_eq!(read_statistics(collection).unwrap(), None);
        let _directory = commits(collection, 2);
        pin_generation(collection, 2, "before").unwrap();
        for generation in 1..=3 {
            write_statistics(collection, generation, &[Statistic::default()]).unwrap();
            write_statistics(collection, generation, &[sample()]).unwrap();
            assert_eq!(read_statistics(collection).unwrap(), Some((generation, vec![sample()])));
        }
        assert_eq!(read_statistics_of(collection, 1).unwrap(), None, "deleted");
        assert_eq!(read_statistics_of(collection, 2).unwrap(), Some(vec![sample()]), "kept by its name");
    }

    #[test]
    fn the_format_is_plain_json() {
        let text = serde_json::to_string(&sample()).unwrap();
        assert_eq!(
            text,
            r#"{"name":"in-degree","columns":["from","to","ccdf","word"],"rows":[[0,null,null,"é"],[4,4.75,0.25,null]],"power_law_fit":{"alpha":2.1,"x_min":3.0,"ks":0.01,"tail":70,"n":100,"line":[[3.0,1.0],[30.0,0.08]]},"summary":{"mean":1.5}}"#
        );
    }

    #[test]
    fn a_corrupt_file_is_an_error() {
        let collection = tempfile::tempdir().unwrap();
        fs::create_dir_all(collection.path().join(DIR)).unwrap();
        fs::write(path_of(collection.path(), 1), "[{").unwrap();
        let error = read_statistics(collection.path()).unwrap_err();
        assert!(error.to_string().contains("statistics-0000000001.json"), "{error}");
    }
}
