//! Parquet tables for external tools: four that grow with every commit ([`committed`]), and those of an analysis
//! ([`derived`]).
//!
//! Each commit adds a file to each table with new rows; files are merged, so that a table has few. DuckDB, Spark or pandas
//! read them in `parquet/TABLE/`; all files of a table have the same columns. Rows are written once; only a compaction changes
//! them, where they name records that it moves or drops. What the crawler looks up or updates is in `state/`.

mod check;
mod column;
mod committed;
mod derived;
mod listing;
mod lookup;
mod newest_rows;
mod parquet_panics;
mod reader;
mod relocation;
mod response_times;
mod rows;
mod view;

use std::path::{Path, PathBuf};

use arrow_array::{RecordBatch, new_null_array};
use arrow_schema::{ArrowError, DataType, FieldRef, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

pub(crate) use check::check_file;
pub use check::count_rows;
pub use committed::documents::{DocumentRow, DocumentRows};
pub use committed::fetches::{FetchRow, FetchRows};
pub use committed::links::{LinkRow, LinkRows};
pub use committed::site_log::{SiteLogRow, SiteLogRows};
pub use derived::anchors::{AnchorRow, AnchorRows};
pub use derived::components::{ComponentRow, ComponentRows};
pub use derived::domains::{DomainRow, DomainRows};
pub use derived::linked_files::{LinkedFileRow, LinkedFileRows};
pub use derived::pages::{PageRow, PageRows};
pub use derived::ranks::{RankRow, RankRows};
pub use derived::rejected_links::{RejectedLinkRow, RejectedLinkRows};
pub use derived::sites::{SiteRow, SiteRows};
pub use derived::{DerivedTable, DerivedTableInfo, list_derived};
pub use listing::{TableInfo, list_tables};
pub use lookup::{FetchHistoryEntry, Inlink, LastParses, fetch_history, for_each_unresolved_link, inlinks};
pub use newest_rows::NewestRows;
pub use parquet_panics::read_metadata as read_parquet_metadata;
use reader::SharedFile;
pub use reader::{TableBatch, TableReader};
pub(crate) use relocation::record_location;
pub use response_times::for_each_response_time;
pub use rows::Rows;
pub(crate) use view::view_path;

use crate::error::{Error, Result, corrupt};
use crate::failpoint::failpoint;
use crate::file::immutable_file::ImmutableFileWriter;
use crate::file::merge_policy;
use crate::manifest::{FileEntry, Manifest};

/// Names of the tables that commits write; all others are derived from them.
const COMMITTED: [&str; 4] = [FetchRows::NAME, DocumentRows::NAME, LinkRows::NAME, SiteLogRows::NAME];

/// Whether commits write a table of this name.
pub(crate) fn is_committed(table: &str) -> bool {
    COMMITTED.contains(&table)
}

/// Number of rows per row group: the unit that a lookup of one page has to decode.
const GROUP_ROWS: usize = 100_000;
/// Number of rows merged at a time.
const MERGE_ROWS: usize = 8_192;

/// Committed tables, open for writing.
#[derive(Debug)]
pub struct Tables {
    /// One row for each fetch.
    pub fetches: Table<FetchRows>,
    /// One row for each parsed document.
    pub documents: Table<DocumentRows>,
    /// One row for each link of a parsed document.
    pub links: Table<LinkRows>,
    /// One row for each recorded state of a site.
    pub site_log: Table<SiteLogRows>,
}

impl Tables {
    /// Opens the tables at a commit.
    pub fn open(dir: &Path, manifest: &Manifest) -> Tables {
        Tables {
            fetches: Table::open(dir, manifest),
            documents: Table::open(dir, manifest),
            links: Table::open(dir, manifest),
            site_log: Table::open(dir, manifest),
        }
    }

    /// Refreshes `parquet/` for the newest commit.
    pub(crate) fn refresh_view(dir: &Path, manifest: &Manifest) -> Result<()> {
        view::refresh(dir, manifest, &COMMITTED)
    }

    /// Writes the new rows; returns all files of the tables.
    pub fn commit(&mut self, generation: u64) -> Result<Vec<FileEntry>> {
        let mut files = self.fetches.commit(generation)?;
        files.extend(self.documents.commit(generation)?);
        files.extend(self.links.commit(generation)?);
        files.extend(self.site_log.commit(generation)?);
        Ok(files)
    }
}

/// Table with its files, and the rows since the last commit.
#[derive(Debug)]
pub struct Table<R> {
    dir: PathBuf,
    /// Oldest first.
    files: Vec<FileEntry>,
    /// Number of files rewritten since the table was opened, for unique names.
    rewritten_files: u32,
    /// Rows since the last commit.
    pub rows: R,
}

impl<R: Rows> Table<R> {
    fn open(dir: &Path, manifest: &Manifest) -> Table<R> {
        let files = manifest.files_in("tables").filter(|file| file.name.starts_with(&prefix::<R>()));
        Table { dir: dir.to_owned(), files: files.cloned().collect(), rewritten_files: 0, rows: R::default() }
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
        if let Some(range) = merge_policy::choose_merge(&sizes) {
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
            self.copy(entry, &mut writer, Ok)?;
        }
        self.finish(writer)
    }

    /// Copies the rows of a file, changed by `change`.
    fn copy(
        &self,
        entry: &FileEntry,
        writer: &mut ArrowWriter<ImmutableFileWriter>,
        change: impl Fn(RecordBatch) -> std::result::Result<RecordBatch, ArrowError>,
    ) -> Result<()> {
        let path = self.dir.join(&entry.name);
        let file = SharedFile::open(&path)?;
        let wrong = |error: &dyn std::fmt::Display| corrupt(&path, "", error.to_string());
        let reader = parquet_panics::open(file)
            .and_then(|builder| parquet_panics::batches(builder.with_batch_size(MERGE_ROWS)))
            .map_err(|error| wrong(&error))?;
        for batch in reader {
            let batch = batch.map_err(|error| wrong(&error))?;
            let batch = with_current_columns(&batch, &R::schema())
                .and_then(&change)
                .map_err(|error| wrong(&error))?;
            writer.write(&batch).map_err(|error| self.failed(&error))?;
        }
        Ok(())
    }

    fn create(&self, generation: u64, mark: &str) -> Result<ArrowWriter<ImmutableFileWriter>> {
        let name = format!("{}{generation:010}{mark}.parquet", prefix::<R>());
        let file = ImmutableFileWriter::create(&self.dir, &name)?;
        let schema = R::schema();
        let properties = properties(&schema);
        ArrowWriter::try_new(file, schema, Some(properties)).map_err(|error| self.failed(&error))
    }

    fn finish(&self, writer: ArrowWriter<ImmutableFileWriter>) -> Result<FileEntry> {
        writer.into_inner().map_err(|error| self.failed(&error))?.finish()
    }

    fn failed(&self, error: &ParquetError) -> Error {
        failed(&self.dir.join("tables").join(R::NAME), error)
    }
}

/// Adds missing columns, which were introduced after the rows were written, as nulls.
fn with_current_columns(
    batch: &RecordBatch,
    schema: &SchemaRef,
) -> std::result::Result<RecordBatch, ArrowError> {
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

/// Encoding of the columns. Texts repeat and get dictionaries; their minimum and maximum are useless, because rows are in
/// crawl order. Integers are delta-encoded, which is faster and smaller than a dictionary.
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
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;

    fn row(page: u32) -> LinkRow<'static> {
        LinkRow {
            source_page_id: page,
            target_page_id: page.is_multiple_of(3).then_some(page + 1),
            target_url: "http://a.test/",
            fetch_time: 1_700_000_000_000 + i64::from(page),
            element: "a",
            rel: None,
            anchor: Some("words"),
            is_internal: true,
            text_position: 0.5,
            reason: None,
        }
    }

    fn count(dir: &Path, files: &[FileEntry]) -> usize {
        let rows = |file: &FileEntry| {
            let file = SharedFile::open(&dir.join(&file.name)).unwrap();
            ParquetRecordBatchReaderBuilder::try_new(file).unwrap().metadata().file_metadata().num_rows()
                as usize
        };
        files.iter().map(rows).sum()
    }

    #[test]
    fn the_embedded_arrow_schema_of_a_file_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("tables")).unwrap();
        let mut tables = Tables::open(dir.path(), &Manifest::empty());
        tables.links.rows.push(&row(7));
        let manifest = Manifest { files: tables.commit(1).unwrap(), ..Manifest::empty() };
        let file = manifest.files.iter().find(|file| file.name.starts_with("tables/links-")).unwrap();
        let path = dir.path().join(&file.name);
        let mut bytes = std::fs::read(&path).unwrap();
        let key = b"ARROW:schema";
        let start = bytes.windows(key.len()).position(|window| window == key).unwrap() + key.len() + 40;
        bytes[start..start + 200].fill(b'A');
        std::fs::write(&path, bytes).unwrap();
        check::check_file(dir.path(), file).unwrap();
        let mut sources = Vec::new();
        let reader = TableReader::<LinkRows>::open_committed(dir.path(), &manifest).unwrap();
        reader.for_each_row(|row| sources.push(row.source_page_id)).unwrap();
        assert_eq!(sources, [7]);
    }

    #[test]
    fn rows_of_many_commits_are_in_few_files() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("tables")).unwrap();
        let mut manifest = Manifest::empty();
        for generation in 1..=100 {
            // Opened again each time, as after a crash.
            let mut tables = Tables::open(dir.path(), &manifest);
            for page in 0..generation as u32 {
                tables.links.rows.push(&row(page));
            }
            manifest.files = tables.commit(generation).unwrap();
            Tables::refresh_view(dir.path(), &manifest).unwrap();
        }
        let view = std::fs::read_dir(dir.path().join("parquet/links")).unwrap();
        assert_eq!(view.count(), manifest.files.len(), "merged files are not in the view");
        assert_eq!(count(dir.path(), &manifest.files), 100 * 101 / 2);
        assert!(manifest.files.len() < 20, "{} files", manifest.files.len());
        assert!(manifest.files.iter().all(|file| file.name.starts_with("tables/links-")));
    }

    fn describe<R: Rows>(description: &str) -> String {
        let mut text =
            format!("\n## {}\n\n{description}\n\n| column | type | meaning |\n|---|---|---|\n", R::NAME);
        for field in R::schema().fields() {
            let nullable = if field.is_nullable() { ", nullable" } else { "" };
            let kind = match field.data_type() {
                DataType::Timestamp(..) => "timestamp, UTC".to_owned(),
                other => format!("{other}").to_lowercase(),
            };
            let meaning = &field.metadata()[rows::DESCRIPTION];
            text += &format!("| `{}` | {kind}{nullable} | {meaning} |\n", field.name());
        }
        text
    }

    /// `WEIR_WRITE_DOCS=1 cargo test -p store` updates the document.
    #[test]
    fn the_document_lists_every_column() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tables.md");
        let lists = [
            describe::<FetchRows>(
                "One row per fetch. Columns that Common Crawl's cc-index also has use its names.",
            ),
            describe::<DocumentRows>("One row per parsed document."),
            describe::<LinkRows>("One row per link of a parsed document."),
            describe::<SiteLogRows>(
                "One row per site and observation; the row with the newest `observed_time` is current.",
            ),
            describe::<PageRows>(
                "One row per known page, fetched or not, with the newest fetch and document. Written by `weir analyze`, \
                 like all tables below.",
            ),
            describe::<RankRows>("One row per page: the rank columns of `pages`, for joins that need only these."),
            describe::<ComponentRows>("One row per strongly connected component of the link graph."),
            describe::<SiteRows>("One row per site: aggregates over its rows of `pages`, and its ranks."),
            describe::<DomainRows>("One row per registered domain: aggregates over its rows of `sites`."),
            describe::<AnchorRows>(
                "One row per page and anchor text of links to it from other pages: the 20 texts used by most sites.",
            ),
            describe::<RejectedLinkRows>(
                "One row per domain and reason: links whose target is not a page of the collection.",
            ),
            describe::<LinkedFileRows>(
                "One row per extension: links to files that are counted, but not fetched (reason `file-extension`).",
            ),
        ]
        .concat();
        let text = std::fs::read_to_string(&path).unwrap();
        let introduction = text.split("\n## ").next().unwrap();
        let expected = format!("{introduction}{lists}");
        if std::env::var_os("WEIR_WRITE_DOCS").is_some() {
            std::fs::write(&path, &expected).unwrap();
        }
        assert!(text == expected, "docs/tables.md is out of date; update it with WEIR_WRITE_DOCS=1");
    }

    #[test]
    fn a_column_added_later_is_null_in_older_rows() {
        let mut rows = LinkRows::default();
        rows.push(&row(3));
        let new = rows.take().unwrap();
        let without = |name: &str| {
            let mut old = new.clone();
            old.remove_column(new.schema().index_of(name).unwrap());
            with_current_columns(&old, &LinkRows::schema())
        };
        let filled = without("anchor").unwrap();
        assert_eq!((filled.num_columns(), filled["anchor"].null_count()), (new.num_columns(), 1));
        assert_eq!(&filled["target_url"], &new["target_url"]);
        assert!(without("element").is_err(), "a column that is not nullable cannot be added");
    }

    #[test]
    fn a_commit_without_rows_writes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Tables::open(dir.path(), &Manifest::empty()).commit(1).unwrap(), []);
    }
}
