//! Which tables follow from a commit? Those that an analysis writes for people and their tools, in `parquet/TABLE/` beside
//! the ones of the collection itself.
//!
//! Such a table is one file, `parquet/TABLE/TABLE-GENERATION.parquet`; GENERATION is the commit that was analysed. It is
//! written under another name and put in place by a rename; the one before it goes then. No manifest names it, and it may
//! be deleted.

use std::fs;
use std::path::{Path, PathBuf};

use parquet::arrow::ArrowWriter;

use super::rows::Rows;
use super::view::VIEW;
use super::{COMMITTED, failed, properties};
use crate::directory::sync_folder;
use crate::error::{Context, Result};
use crate::layout;
use crate::whole_file::WholeFile;

/// Rows that are gathered before they are written.
const BATCH_ROWS: usize = 8_192;

/// A table under construction.
pub struct DerivedTable<R> {
    folder: PathBuf,
    file_name: String,
    rows: R,
    writer: ArrowWriter<WholeFile>,
}

/// A table that is there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DerivedEntry {
    /// Its name.
    pub table: String,
    /// The commit that it describes.
    pub generation: u64,
    /// Its file.
    pub path: PathBuf,
}

impl<R: Rows> DerivedTable<R> {
    /// Begins the table for a commit.
    pub fn create(collection: &Path, generation: u64) -> Result<DerivedTable<R>> {
        let folder = collection.join(VIEW).join(R::NAME);
        fs::create_dir_all(&folder).context("create", &folder)?;
        let file = WholeFile::create(&folder, &unfinished(R::NAME))?;
        let schema = R::schema();
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties(&schema)))
            .map_err(|error| failed(&folder, &error))?;
        Ok(DerivedTable { folder, file_name: file_name(R::NAME, generation), rows: R::default(), writer })
    }

    /// Adds a row.
    pub fn push(&mut self, row: &R::Row<'_>) -> Result<()> {
        self.rows.add(row);
        if self.rows.len() >= BATCH_ROWS { self.write() } else { Ok(()) }
    }

    /// Puts the table in place of the one before.
    pub fn finish(mut self) -> Result<()> {
        self.write()?;
        let DerivedTable { folder, file_name, writer, .. } = self;
        writer.into_inner().map_err(|error| failed(&folder, &error))?.finish()?;
        // First the old one goes: who is killed in between leaves no table rather than two, which would count rows twice.
        for entry in fs::read_dir(&folder).context("list", &folder)? {
            let entry = entry.context("list", &folder)?;
            if generation_of(R::NAME, &entry.file_name().to_string_lossy()).is_some() {
                fs::remove_file(entry.path()).context("remove", &entry.path())?;
            }
        }
        sync_folder(&folder)?;
        let path = folder.join(&file_name);
        fs::rename(folder.join(unfinished(R::NAME)), &path).context("rename", &path)?;
        sync_folder(&folder)
    }

    fn write(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let batch = self.rows.take().map_err(|error| failed(&self.folder, &error.into()))?;
        self.writer.write(&batch).map_err(|error| failed(&self.folder, &error))
    }
}

/// The tables that there are, by name; of each the newest.
pub fn list_derived(collection: &Path) -> Result<Vec<DerivedEntry>> {
    let view = collection.join(VIEW);
    let mut entries = Vec::new();
    if !view.exists() {
        return Ok(entries);
    }
    for folder in fs::read_dir(&view).context("list", &view)? {
        let folder = folder.context("list", &view)?.path();
        let table = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if COMMITTED.contains(&table.as_str()) || !folder.is_dir() {
            continue;
        }
        for file in fs::read_dir(&folder).context("list", &folder)? {
            let path = file.context("list", &folder)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if let Some(generation) = generation_of(&table, &name) {
                entries.push(DerivedEntry { table: table.clone(), generation, path });
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
    use super::*;
    use crate::tables::{DomainRow, DomainRows, TableReader};

    fn write(collection: &Path, generation: u64, domains: u32) {
        let mut table = DerivedTable::<DomainRows>::create(collection, generation).unwrap();
        for number in 0..domains {
            let registered_domain = &format!("d{number}.test");
            let row = DomainRow {
                registered_domain,
                tld: number.is_multiple_of(2).then_some("test"),
                sites: 1,
                pages: i64::from(number),
                pages_fetched: 0,
                bytes: 1 << 40,
                pagerank: Some(0.5),
            };
            table.push(&row).unwrap();
        }
        table.finish().unwrap();
    }

    fn pages(collection: &Path) -> Vec<(String, Option<String>, i64)> {
        let reader = TableReader::<DomainRows>::derived(collection).unwrap().unwrap();
        let mut found = Vec::new();
        for group in 0..reader.groups() {
            reader
                .for_each(group, |row| {
                    found.push((row.registered_domain.to_owned(), row.tld.map(str::to_owned), row.pages));
                })
                .unwrap();
        }
        found
    }

    #[test]
    fn a_new_table_takes_the_place_of_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let collection = folder.path();
        assert_eq!(list_derived(collection).unwrap(), []);
        assert!(TableReader::<DomainRows>::derived(collection).unwrap().is_none());
        write(collection, 3, 9_000);
        let found = pages(collection);
        assert_eq!(found.len(), 9_000);
        assert_eq!(found[8_999], ("d8999.test".to_owned(), None, 8_999));
        // Somebody died while he wrote.
        fs::write(collection.join("parquet/domains/domains.unfinished"), "half").unwrap();
        write(collection, 4, 0);
        assert_eq!(pages(collection), []);
        let listed: Vec<_> =
            list_derived(collection).unwrap().into_iter().map(|e| (e.table, e.generation)).collect();
        assert_eq!(listed, [("domains".to_owned(), 4)]);
        assert_eq!(fs::read_dir(collection.join("parquet/domains")).unwrap().count(), 1);
    }

    #[test]
    fn tables_of_the_commit_are_none_of_them_and_stay() {
        let folder = tempfile::tempdir().unwrap();
        let mut collection =
            crate::Collection::create(folder.path(), crate::StoreSettings::default()).unwrap();
        write(folder.path(), 1, 5);
        collection.commit(0).unwrap();
        drop(collection);
        crate::Collection::open(folder.path(), crate::StoreSettings::default()).unwrap();
        assert!(folder.path().join("parquet/links").is_dir());
        assert_eq!(list_derived(folder.path()).unwrap().len(), 1);
        assert_eq!(pages(folder.path()).len(), 5);
    }
}
