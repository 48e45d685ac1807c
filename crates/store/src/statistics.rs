//! What is the collection like, in numbers? The statistics of the last analysis, each a small table, ready to be drawn.
//!
//! They are one file, `graph/statistics-GENERATION.json`, an array of [`Statistic`]s. GENERATION is the commit that was
//! analysed. Like the columns of [`crate::RankColumn`] they follow from a commit, and are no part of one; those of a snapshot
//! that is kept by name stay when a later commit is analysed, so that the two can be compared.
//!
//! This module does not know what the numbers mean: whoever computes a statistic names it (docs/statistics.md).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::directory::sync_folder;
use crate::error::{Context, Result, damaged};
use crate::layout;
use crate::snapshot::list_snapshots;

const FOLDER: &str = "graph";
const PREFIX: &str = "statistics-";
const EXTENSION: &str = ".json";
const UNFINISHED: &str = "unfinished";

/// A small table with a name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Statistic {
    /// In kebab-case: `status-codes`.
    pub name: String,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// A value for each column; the rows are in the order in which they are to be shown.
    pub rows: Vec<Vec<Value>>,
    /// The power law that describes the tail of a distribution best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<PowerLaw>,
    /// Numbers about all of it: `n`, `mean`, `median`, `max`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub notes: BTreeMap<String, f64>,
}

/// What stands in a cell: in JSON nothing but `null`, a number or a string.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Nothing, or unknown.
    Null,
    /// A count.
    Integer(i64),
    /// A real number; never one that is not finite.
    Number(f64),
    /// Words.
    Text(String),
}

/// A power law p(x) ~ x^-alpha for x >= x_min.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PowerLaw {
    /// The exponent.
    pub alpha: f64,
    /// Where the tail begins that it describes.
    pub x_min: f64,
    /// The Kolmogorov-Smirnov distance between the law and the tail.
    pub ks: f64,
    /// How many values are in the tail.
    pub tail: u64,
    /// How many values there are above 0.
    pub n: u64,
    /// Some values up to the largest, each with the share of the tail that the law has from there on.
    pub line: Vec<(f64, f64)>,
}

impl Value {
    /// The number, if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Integer(count) => Some(*count as f64),
            Value::Number(number) => Some(*number),
            Value::Null | Value::Text(_) => None,
        }
    }

    /// The words, if it is some.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Value {
        Value::Integer(count.cast_signed())
    }
}

/// A number that is not finite is none.
impl From<f64> for Value {
    fn from(number: f64) -> Value {
        if number.is_finite() { Value::Number(number) } else { Value::Null }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl<V: Into<Value>> From<Option<V>> for Value {
    fn from(value: Option<V>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

/// Writes the statistics of a commit. Those of other commits go, unless a name keeps their snapshot.
pub fn write_statistics(collection: &Path, generation: u64, statistics: &[Statistic]) -> Result<()> {
    let folder = collection.join(FOLDER);
    fs::create_dir_all(&folder).context("create", &folder)?;
    let path = path_of(collection, generation);
    let unfinished = path.with_extension(UNFINISHED);
    let text =
        serde_json::to_vec(statistics).map_err(|error| damaged(&path, "as a whole", error.to_string()))?;
    let mut file = File::create(&unfinished).context("create", &unfinished)?;
    file.write_all(&text).context("write", &unfinished)?;
    file.sync_data().context("sync", &unfinished)?;
    fs::rename(&unfinished, &path).context("rename", &path)?;
    let kept = list_snapshots(collection)?;
    let is_kept = |known: u64| kept.iter().any(|entry| entry.generation == known && entry.name.is_some());
    for old in analysed(collection)?.into_iter().filter(|old| *old != generation && !is_kept(*old)) {
        let path = path_of(collection, old);
        fs::remove_file(&path).context("remove", &path)?;
    }
    sync_folder(&folder)
}

/// The newest statistics of a collection and the commit that they describe; `None` if there are none.
pub fn read_statistics(collection: &Path) -> Result<Option<(u64, Vec<Statistic>)>> {
    let Some(generation) = analysed(collection)?.into_iter().max() else { return Ok(None) };
    Ok(read_statistics_of(collection, generation)?.map(|statistics| (generation, statistics)))
}

/// The statistics of a commit; `None` if there are none.
pub fn read_statistics_of(collection: &Path, generation: u64) -> Result<Option<Vec<Statistic>>> {
    let path = path_of(collection, generation);
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        bytes => bytes.context("read", &path)?,
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| damaged(&path, "as a whole", error.to_string()))
}

fn path_of(collection: &Path, generation: u64) -> PathBuf {
    collection.join(FOLDER).join(format!("{PREFIX}{generation:010}{EXTENSION}"))
}

/// The commits that there are statistics of.
fn analysed(collection: &Path) -> Result<Vec<u64>> {
    let folder = collection.join(FOLDER);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).context("list", &folder)? {
        let name = entry.context("list", &folder)?.file_name();
        let name = name.to_string_lossy();
        let number = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(EXTENSION));
        found.extend(number.and_then(layout::generation));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::Directory;
    use crate::snapshot::pin_snapshot;

    fn sample() -> Statistic {
        Statistic {
            name: "in-degree".to_owned(),
            columns: vec!["from".to_owned(), "to".to_owned(), "ccdf".to_owned(), "word".to_owned()],
            rows: vec![
                vec![0u64.into(), Value::Null, f64::NAN.into(), "é".into()],
                vec![4u64.into(), 4.75.into(), Some(0.25).into(), None::<String>.into()],
            ],
            fit: Some(PowerLaw {
                alpha: 2.1,
                x_min: 3.0,
                ks: 0.01,
                tail: 70,
                n: 100,
                line: vec![(3.0, 1.0), (30.0, 0.08)],
            }),
            notes: BTreeMap::from([("mean".to_owned(), 1.5)]),
        }
    }

    /// A collection with so many commits after the first.
    fn commits(collection: &Path, more: u64) -> Directory {
        let mut directory = Directory::create(collection).unwrap();
        for _ in 0..more {
            directory.commit(Vec::new(), Default::default(), 0).unwrap();
        }
        directory
    }

    #[test]
    fn statistics_come_back_and_the_newest_count() {
        let collection = tempfile::tempdir().unwrap();
        let collection = collection.path();
        assert_eq!(read_statistics(collection).unwrap(), None);
        let _directory = commits(collection, 2);
        pin_snapshot(collection, 2, "before").unwrap();
        for generation in 1..=3 {
            write_statistics(collection, generation, &[Statistic::default()]).unwrap();
            write_statistics(collection, generation, &[sample()]).unwrap();
            assert_eq!(read_statistics(collection).unwrap(), Some((generation, vec![sample()])));
        }
        assert_eq!(read_statistics_of(collection, 1).unwrap(), None, "nobody keeps it");
        assert_eq!(read_statistics_of(collection, 2).unwrap(), Some(vec![sample()]), "it is kept by name");
    }

    #[test]
    fn the_form_is_plain_json() {
        let text = serde_json::to_string(&sample()).unwrap();
        assert_eq!(
            text,
            r#"{"name":"in-degree","columns":["from","to","ccdf","word"],"rows":[[0,null,null,"é"],[4,4.75,0.25,null]],"fit":{"alpha":2.1,"x_min":3.0,"ks":0.01,"tail":70,"n":100,"line":[[3.0,1.0],[30.0,0.08]]},"notes":{"mean":1.5}}"#
        );
    }

    #[test]
    fn a_damaged_file_is_told() {
        let collection = tempfile::tempdir().unwrap();
        fs::create_dir_all(collection.path().join(FOLDER)).unwrap();
        fs::write(path_of(collection.path(), 1), "[{").unwrap();
        let error = read_statistics(collection.path()).unwrap_err();
        assert!(error.to_string().contains("statistics-0000000001.json"), "{error}");
    }
}
