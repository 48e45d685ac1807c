//! Derived tables: written by an analysis for external tools, in `parquet/TABLE/` beside the committed ones.
//!
//! A derived table is one file, `parquet/TABLE/TABLE-GENERATION.parquet`; GENERATION is the analysed commit. It is written
//! under another name and renamed, after the previous one was deleted. No manifest references it, and it may be deleted.

pub(crate) mod anchors;
pub(crate) mod components;
pub(crate) mod domains;
pub(crate) mod linked_files;
pub(crate) mod pages;
pub(crate) mod ranks;
pub(crate) mod rejected_links;
pub(crate) mod sites;

use std::path::{Path, PathBuf};

use parquet::arrow::ArrowWriter;

use super::rows::Rows;
use super::view::VIEW;
use super::{COMMITTED, failed, properties};
use crate::collection_dir::sync_dir;
use crate::disk;
use crate::error::{Context, Result};
use crate::file::immutable_file::ImmutableFileWriter;
use crate::layout;

/// Number of rows written at a time.
const BATCH_ROWS: usize = 8_192;

/// Derived table under construction.
pub struct DerivedTable<R> {
    dir: PathBuf,
    file_name: String,
    rows: R,
    writer: ArrowWriter<ImmutableFileWriter>,
}

/// Description of an existing derived table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DerivedTableInfo {
    /// Name of the table.
    pub table: String,
    /// Generation of the analysed commit.
    pub generation: u64,
    /// Parquet file.
    pub path: PathBuf,
}

impl<R: Rows> DerivedTable<R> {
    /// Creates the table for a commit.
    pub fn create(collection: &Path, generation: u64) -> Result<DerivedTable<R>> {
        let dir = collection.join(VIEW).join(R::NAME);
        disk::create_dir_all(&dir).context("create", &dir)?;
        // Without this, a power failure could lose the directory with all tables of earlier analyses.
        sync_dir(&collection.join(VIEW))?;
        sync_dir(collection)?;
        let file = ImmutableFileWriter::create(&dir, &unfinished(R::NAME))?;
        let schema = R::schema();
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties(&schema)))
            .map_err(|error| failed(&dir, &error))?;
        Ok(DerivedTable { dir, file_name: file_name(R::NAME, generation), rows: R::default(), writer })
    }

    /// Appends a row.
    pub fn push(&mut self, row: &R::Row<'_>) -> Result<()> {
        self.rows.add(row);
        if self.rows.len() >= BATCH_ROWS { self.write() } else { Ok(()) }
    }

    /// Replaces the previous table by this one.
    pub fn finish(mut self) -> Result<()> {
        self.write()?;
        let DerivedTable { dir, file_name, writer, .. } = self;
        writer.into_inner().map_err(|error| failed(&dir, &error))?.finish()?;
        // The old file is deleted first: a crash in between leaves no table, instead of two whose rows would count twice.
        for entry in disk::list(&dir).context("list", &dir)? {
            if generation_of(R::NAME, &entry.text()).is_some() {
                let path = dir.join(entry.name);
                disk::remove_file(&path).context("remove", &path)?;
            }
        }
        sync_dir(&dir)?;
        let path = dir.join(&file_name);
        disk::rename(&dir.join(unfinished(R::NAME)), &path).context("rename", &path)?;
        sync_dir(&dir)
    }

    fn write(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let batch = self.rows.take().map_err(|error| failed(&self.dir, &error.into()))?;
        self.writer.write(&batch).map_err(|error| failed(&self.dir, &error))
    }
}

/// Lists the derived tables by name; of each the newest.
pub fn list_derived(collection: &Path) -> Result<Vec<DerivedTableInfo>> {
    let view = collection.join(VIEW);
    let mut entries = Vec::new();
    if !disk::exists(&view).context("list", &view)? {
        return Ok(entries);
    }
    for entry in disk::list(&view).context("list", &view)? {
        let (dir, table) = (view.join(&entry.name), entry.text());
        if COMMITTED.contains(&table.as_str()) || !entry.is_dir {
            continue;
        }
        for file in disk::list(&dir).context("list", &dir)? {
            if let Some(generation) = generation_of(&table, &file.text()) {
                entries.push(DerivedTableInfo {
                    table: table.clone(),
                    generation,
                    path: dir.join(file.name),
                });
            }
        }
    }
    entries.sort_unstable_by(|a, b| (&a.table, b.generation).cmp(&(&b.table, a.generation)));
    entries.dedup_by(|later, first| later.table == first.table);
    Ok(entries)
}

fn file_name(table: &str, generation: u64) -> String {
    format!("{table}-{generation:010}.parquet")
}

fn generation_of(table: &str, file_name: &str) -> Option<u64> {
    layout::generation(file_name.strip_prefix(table)?.strip_prefix('-')?.strip_suffix(".parquet")?)
}

fn unfinished(table: &str) -> String {
    format!("{table}.unfinished")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::tables::{DomainRow, DomainRows, TableReader};

    fn write(collection: &Path, generation: u64, domains: u32) {
        let mut table = DerivedTable::<DomainRows>::create(collection, generation).unwrap();
        for number in 0..domains {
            let registered_domain = &format!("d{number}.test");
            let row = DomainRow {
                url_host_registered_domain: registered_domain,
                url_host_tld: number.is_multiple_of(2).then_some("test"),
                sites: 1,
                pages_known: i64::from(number),
                pages_fetched: 0,
                content_bytes: 1 << 40,
                pagerank_sum: Some(0.5),
            };
            table.push(&row).unwrap();
        }
        table.finish().unwrap();
    }

    fn pages(collection: &Path) -> Vec<(String, Option<String>, i64)> {
        let reader = TableReader::<DomainRows>::open_derived(collection).unwrap().unwrap();
        let mut found = Vec::new();
        for group in 0..reader.groups() {
            reader
                .for_each(group, |row| {
                    found.push((
                        row.url_host_registered_domain.to_owned(),
                        row.url_host_tld.map(str::to_owned),
                        row.pages_known,
                    ));
                })
                .unwrap();
        }
        found
    }

    #[test]
    fn a_new_table_replaces_the_old_one() {
        let dir = tempfile::tempdir().unwrap();
        let collection = dir.path();
        assert_eq!(list_derived(collection).unwrap(), []);
        assert!(TableReader::<DomainRows>::open_derived(collection).unwrap().is_none());
        write(collection, 3, 9_000);
        let found = pages(collection);
        assert_eq!(found.len(), 9_000);
        assert_eq!(found[8_999], ("d8999.test".to_owned(), None, 8_999));
        // The previous writer crashed mid-write.
        fs::write(collection.join("parquet/domains/domains.unfinished"), "half").unwrap();
        write(collection, 4, 0);
        assert_eq!(pages(collection), []);
        let listed: Vec<_> =
            list_derived(collection).unwrap().into_iter().map(|e| (e.table, e.generation)).collect();
        assert_eq!(listed, [("domains".to_owned(), 4)]);
        assert_eq!(fs::read_dir(collection.join("parquet/domains")).unwrap().count(), 1);
    }

    #[test]
    fn tables_of_the_commit_are_not_derived_tables_and_remain() {
        let dir = tempfile::tempdir().unwrap();
        let mut collection = crate::Collection::create(dir.path(), crate::StoreSettings::default()).unwrap();
        write(dir.path(), 1, 5);
        collection.commit(0).unwrap();
        drop(collection);
        crate::Collection::open(dir.path(), crate::StoreSettings::default()).unwrap();
        assert!(dir.path().join("parquet/links").is_dir());
        assert_eq!(list_derived(dir.path()).unwrap().len(), 1);
        assert_eq!(pages(dir.path()).len(), 5);
    }
}
