//! What can others ask of the collection with their own tools? Four tables of Parquet files: fetches, documents, links
//! and sites; and those that an analysis adds ([`derived`]).
//!
//! Each commit adds a file to each table that has new rows; files are merged as they gather, so that a table is a
//! handful of files. DuckDB, Spark or pandas read them as they are, in `parquet/TABLE/`: every file of a table has the
//! same columns.
//! The rows are written once and never changed; what the crawler needs to look up or update is in `state/`.

mod anchors;
mod check;
mod column;
mod components;
mod derived;
mod documents;
mod domains;
mod durations;
mod fetches;
mod files;
mod find;
mod links;
mod listing;
mod outside;
mod pages;
mod ranks;
mod reader;
mod rows;
mod site_ranks;
mod sites;
mod view;

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::{RecordBatch, new_null_array};
use arrow_schema::{ArrowError, DataType, FieldRef, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

pub use anchors::{AnchorRow, AnchorRows};
pub(crate) use check::check_file;
pub use check::count_rows;
pub use components::{ComponentRow, ComponentRows};
pub use derived::{DerivedEntry, DerivedTable, list_derived};
pub use documents::{DocumentRow, DocumentRows};
pub use domains::{DomainRow, DomainRows};
pub use durations::for_each_duration;
pub use fetches::{FetchRow, FetchRows};
pub use files::{FileRow, FileRows};
pub use find::{InLink, LastParses, Visit, links_outside, links_to, visits_of};
pub use links::{LinkRow, LinkRows};
pub use listing::{TableFiles, list_tables};
pub use outside::{OutsideRow, OutsideRows};
pub use pages::{PageRow, PageRows};
pub use ranks::{RankRow, RankRows};
pub use reader::{TableBatch, TableReader};
pub use rows::Rows;
pub use site_ranks::{SiteRankRow, SiteRankRows};
pub use sites::{SiteRow, SiteRows};
pub(crate) use view::shown_at;

use crate::error::{Context, Error, Result, damaged};
use crate::failpoint::failpoint;
use crate::manifest::{FileEntry, Manifest};
use crate::tiers;
use crate::whole_file::WholeFile;

/// The tables that commits write; all others follow from them.
const COMMITTED: [&str; 4] = [FetchRows::NAME, DocumentRows::NAME, LinkRows::NAME, SiteRows::NAME];

/// Rows of one group of a file: what a reader that looks for one page has to unpack.
const GROUP_ROWS: usize = 100_000;
/// Rows that are merged at a time.
const MERGE_ROWS: usize = 8_192;

/// The four tables, open for writing.
#[derive(Debug)]
pub struct Tables {
    /// One row for each fetch.
    pub fetches: Table<FetchRows>,
    /// One row for each document that was parsed.
    pub documents: Table<DocumentRows>,
    /// One row for each link of such a document.
    pub links: Table<LinkRows>,
    /// One row for each site, as it was when the crawl last said so.
    pub sites: Table<SiteRows>,
}

impl Tables {
    /// Goes on from a commit.
    pub fn open(folder: &Path, manifest: &Manifest) -> Tables {
        Tables {
            fetches: Table::open(folder, manifest),
            documents: Table::open(folder, manifest),
            links: Table::open(folder, manifest),
            sites: Table::open(folder, manifest),
        }
    }

    /// Makes `parquet/` show the tables of the newest commit, for people and their tools.
    pub(crate) fn show(folder: &Path, manifest: &Manifest) -> Result<()> {
        view::refresh(folder, manifest, &COMMITTED)
    }

    /// Writes the new rows and says which files the tables now are.
    pub fn commit(&mut self, generation: u64) -> Result<Vec<FileEntry>> {
        let mut files = self.fetches.commit(generation)?;
        files.extend(self.documents.commit(generation)?);
        files.extend(self.links.commit(generation)?);
        files.extend(self.sites.commit(generation)?);
        Ok(files)
    }
}

/// One table: its files, and the rows that are new since the last commit.
#[derive(Debug)]
pub struct Table<R> {
    folder: PathBuf,
    /// From old to new.
    files: Vec<FileEntry>,
    /// Rows since the last commit; push to it.
    pub rows: R,
}

impl<R: Rows> Table<R> {
    fn open(folder: &Path, manifest: &Manifest) -> Table<R> {
        let files = manifest.files_in("tables").filter(|file| file.name.starts_with(&prefix::<R>()));
        Table { folder: folder.to_owned(), files: files.cloned().collect(), rows: R::default() }
    }

    fn commit(&mut self, generation: u64) -> Result<Vec<FileEntry>> {
        if !self.rows.is_empty() {
            let mut writer = self.create(generation, "")?;
            let batch = self.rows.take().map_err(|error| self.failed(&error.into()))?;
            writer.write(&batch).map_err(|error| self.failed(&error))?;
            let file = self.finish(writer)?;
            self.files.push(file);
        }
        let sizes: Vec<u64> = self.files.iter().map(FileEntry::length).collect();
        if let Some(range) = tiers::choose_merge(&sizes) {
            failpoint("merge of a table: begins");
            let merged = self.merge(&self.files[range.clone()], generation)?;
            self.files.splice(range, [merged]);
            failpoint("merge of a table: ends");
        }
        Ok(self.files.clone())
    }

    fn merge(&self, files: &[FileEntry], generation: u64) -> Result<FileEntry> {
        let mut writer = self.create(generation, "-merged")?;
        for entry in files {
            let path = self.folder.join(&entry.name);
            let file = File::open(&path).context("open", &path)?;
            let wrong = |error: &dyn std::fmt::Display| damaged(&path, "as a table", error.to_string());
            let reader = ParquetRecordBatchReaderBuilder::try_new(file)
                .and_then(|builder| builder.with_batch_size(MERGE_ROWS).build())
                .map_err(|error| wrong(&error))?;
            for batch in reader {
                let batch = batch.map_err(|error| wrong(&error))?;
                let batch = widened(&batch, &R::schema()).map_err(|error| wrong(&error))?;
                writer.write(&batch).map_err(|error| self.failed(&error))?;
            }
        }
        self.finish(writer)
    }

    fn create(&self, generation: u64, mark: &str) -> Result<ArrowWriter<WholeFile>> {
        let name = format!("{}{generation:010}{mark}.parquet", prefix::<R>());
        let file = WholeFile::create(&self.folder, &name)?;
        let schema = R::schema();
        let properties = properties(&schema);
        ArrowWriter::try_new(file, schema, Some(properties)).map_err(|error| self.failed(&error))
    }

    fn finish(&self, writer: ArrowWriter<WholeFile>) -> Result<FileEntry> {
        writer.into_inner().map_err(|error| self.failed(&error))?.finish()
    }

    fn failed(&self, error: &ParquetError) -> Error {
        failed(&self.folder.join("tables").join(R::NAME), error)
    }
}

/// The same rows with all columns of this version: a column that came later is empty in rows of before.
fn widened(batch: &RecordBatch, schema: &SchemaRef) -> std::result::Result<RecordBatch, ArrowError> {
    let column = |field: &FieldRef| match batch.column_by_name(field.name()) {
        Some(column) => column.clone(),
        None => new_null_array(field.data_type(), batch.num_rows()),
    };
    RecordBatch::try_new(schema.clone(), schema.fields().iter().map(column).collect())
}

fn failed(path: &Path, error: &ParquetError) -> Error {
    let source = std::io::Error::other(error.to_string());
    Error::Io { operation: "write", path: path.to_owned(), source }
}

/// How the columns are written. Texts repeat and get dictionaries; their smallest and largest values tell nobody
/// anything, for rows are in the order of the crawl. Numbers are written as differences, which is less work and less
/// space than a dictionary of them.
fn properties(schema: &Schema) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_created_by("weir".to_owned());
    for field in schema.fields() {
        let column = ColumnPath::from(field.name().as_str());
        properties = match field.data_type() {
            DataType::Utf8 => properties.set_column_statistics_enabled(column, EnabledStatistics::None),
            DataType::Boolean => properties,
            DataType::Float32 => properties.set_column_dictionary_enabled(column, false),
            _ => properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED),
        };
    }
    properties.build()
}

fn prefix<R: Rows>() -> String {
    format!("tables/{}-", R::NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(page: u32) -> LinkRow<'static> {
        LinkRow {
            source_page_id: page,
            target_page_id: page.is_multiple_of(3).then_some(page + 1),
            target_url: "http://a.test/",
            fetch_time: 1_700_000_000_000 + i64::from(page),
            kind: "a",
            rel: None,
            anchor: Some("words"),
            internal: true,
            position: 0.5,
            reason: None,
        }
    }

    fn count(folder: &Path, files: &[FileEntry]) -> usize {
        let rows = |file: &FileEntry| {
            let file = File::open(folder.join(&file.name)).unwrap();
            ParquetRecordBatchReaderBuilder::try_new(file).unwrap().metadata().file_metadata().num_rows()
                as usize
        };
        files.iter().map(rows).sum()
    }

    #[test]
    fn rows_of_many_commits_are_all_there_in_few_files() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("tables")).unwrap();
        let mut manifest = Manifest::empty();
        for generation in 1..=100 {
            // Opened anew each time, as after a crash.
            let mut tables = Tables::open(folder.path(), &manifest);
            for page in 0..generation as u32 {
                tables.links.rows.push(&row(page));
            }
            manifest.files = tables.commit(generation).unwrap();
            Tables::show(folder.path(), &manifest).unwrap();
        }
        let view = std::fs::read_dir(folder.path().join("parquet/links")).unwrap();
        assert_eq!(view.count(), manifest.files.len(), "no file that was merged is seen");
        assert_eq!(count(folder.path(), &manifest.files), 100 * 101 / 2);
        assert!(manifest.files.len() < 20, "{} files", manifest.files.len());
        assert!(manifest.files.iter().all(|file| file.name.starts_with("tables/links-")));
    }

    fn describe<R: Rows>(about: &str) -> String {
        let mut text = format!("\n## {}\n\n{about}\n\n| column | type | meaning |\n|---|---|---|\n", R::NAME);
        for field in R::schema().fields() {
            let nothing = if field.is_nullable() { ", or nothing" } else { "" };
            let kind = match field.data_type() {
                DataType::Timestamp(..) => "timestamp, UTC".to_owned(),
                other => format!("{other}").to_lowercase(),
            };
            let meaning = &field.metadata()[rows::DESCRIPTION];
            text += &format!("| `{}` | {kind}{nothing} | {meaning} |\n", field.name());
        }
        text
    }

    /// `WEIR_WRITE_DOCS=1 cargo test -p store` writes the lists anew.
    #[test]
    fn the_document_lists_every_column() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tables.md");
        let lists = [
            describe::<FetchRows>(
                "One row for each fetch. The columns of Common Crawl's cc-index have its names.",
            ),
            describe::<DocumentRows>("One row for each document that was parsed."),
            describe::<LinkRows>("One row for each link of such a document."),
            describe::<SiteRows>(
                "One row for each site whenever the crawl describes it; the newest `time` counts.",
            ),
            describe::<PageRows>(
                "One row for each page that is known, fetched or not. Of several fetches and documents the newest counts. \
                 Written by `weir analyze`, as are all below.",
            ),
            describe::<RankRows>("One row for each page: the ranks of `pages`, for joins that need no more."),
            describe::<ComponentRows>("One row for each strongly connected component of pages."),
            describe::<SiteRankRows>("One row for each site: sums over its rows of `pages`, and its ranks."),
            describe::<DomainRows>("One row for each registered domain: sums over its rows of `site_ranks`."),
            describe::<AnchorRows>(
                "One row for each page and the words of links to it from other pages: of a page the 20 of most sites.",
            ),
            describe::<OutsideRows>(
                "One row for each domain and reason: links that lead to no page of the collection.",
            ),
            describe::<FileRows>(
                "One row for each extension: links to files that are counted and not fetched (reason `not-a-page`).",
            ),
        ]
        .concat();
        let text = std::fs::read_to_string(&path).unwrap();
        let introduction = text.split("\n## ").next().unwrap();
        let wanted = format!("{introduction}{lists}");
        if std::env::var_os("WEIR_WRITE_DOCS").is_some() {
            std::fs::write(&path, &wanted).unwrap();
        }
        assert!(text == wanted, "docs/tables.md is not up to date; WEIR_WRITE_DOCS=1 writes it");
    }

    #[test]
    fn a_column_that_came_later_is_empty_in_rows_of_before() {
        let mut rows = LinkRows::default();
        rows.push(&row(3));
        let new = rows.take().unwrap();
        let without = |name: &str| {
            let mut old = new.clone();
            old.remove_column(new.schema().index_of(name).unwrap());
            widened(&old, &LinkRows::schema())
        };
        let filled = without("anchor").unwrap();
        assert_eq!((filled.num_columns(), filled["anchor"].null_count()), (new.num_columns(), 1));
        assert_eq!(&filled["target_url"], &new["target_url"]);
        assert!(without("kind").is_err(), "one that is never empty cannot be made up");
    }

    #[test]
    fn a_commit_without_rows_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Tables::open(folder.path(), &Manifest::empty()).commit(1).unwrap(), []);
    }
}
