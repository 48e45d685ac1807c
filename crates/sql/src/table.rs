//! Which tables are there, and what is in them?
//!
//! The crawl's tables are those of the newest commit. Whatever else has a folder below `parquet/` is a table of the last
//! analysis. All files are opened at once and stay open: a crawl or an analysis that goes on beside it may replace
//! them, and the rows stay those of one moment.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use store::{find_snapshot, list_tables};

use crate::error::{Error, Result};

/// The tables that `weir analyze` writes.
pub const ANALYSIS_TABLES: [&str; 7] =
    ["pages", "ranks", "components", "site_ranks", "domains", "outside", "anchors"];

/// The folder of all tables, below the collection's.
const VIEW: &str = "parquet";
const EXTENSION: &str = "parquet";
/// The key under which a column's meaning stands in the schema of a file.
const DESCRIPTION: &str = "description";
/// How often a commit may be let go of while its files are opened, before that is an error.
const ATTEMPTS: usize = 10;

/// A table with its files, which are open.
#[derive(Debug)]
pub struct Table {
    /// What queries call it.
    pub name: String,
    /// How many rows it has.
    pub rows: u64,
    pub(crate) schema: SchemaRef,
    pub(crate) files: Vec<TableFile>,
}

/// A column, for people who want to ask about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type, as SQL calls it.
    pub kind: String,
    /// Whether it may be empty.
    pub is_nullable: bool,
    /// What it tells.
    pub meaning: String,
}

/// A file of a table.
#[derive(Debug)]
pub(crate) struct TableFile {
    pub(crate) file: Arc<File>,
    pub(crate) path: PathBuf,
}

/// The tables of a collection as they are now, by name.
pub fn open_tables(folder: &Path) -> Result<Vec<Table>> {
    let mut tables = open_crawl_tables(folder)?;
    let view = folder.join(VIEW);
    for entry in failed("list", &view, fs::read_dir(&view))? {
        let entry = failed("list", &view, entry)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if tables.iter().all(|table| table.name != name) {
            tables.extend(open_analysis_table(&name, &entry.path())?);
        }
    }
    tables.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(tables)
}

fn open_crawl_tables(folder: &Path) -> Result<Vec<Table>> {
    let mut attempt = 1;
    loop {
        let manifest = find_snapshot(folder, None)?;
        let opened = list_tables(folder, &manifest)
            .into_iter()
            .map(|table| Table::open(table.name, Some(table.schema), table.files))
            .collect::<io::Result<Result<Vec<Table>>>>();
        match opened {
            Ok(tables) => return tables,
            // The commit was let go of in between; there is a newer one.
            Err(error) if error.kind() == io::ErrorKind::NotFound && attempt < ATTEMPTS => attempt += 1,
            Err(error) => return failed("open the tables of", folder, Err(error)),
        }
    }
}

/// Of the files of several analyses, which are there for a moment, the newest counts.
fn open_analysis_table(name: &str, folder: &Path) -> Result<Option<Table>> {
    let mut attempt = 1;
    loop {
        let Some(newest) = failed("list", folder, newest_file(folder))? else { return Ok(None) };
        match Table::open(name, None, vec![newest]) {
            Ok(table) => return table.map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound && attempt < ATTEMPTS => attempt += 1,
            Err(error) => return failed("open a table of", folder, Err(error)),
        }
    }
}

/// The names end with the commit that was analysed, in as many digits each.
fn newest_file(folder: &Path) -> io::Result<Option<PathBuf>> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    Ok(files.into_iter().filter(|path| path.extension().is_some_and(|found| found == EXTENSION)).max())
}

impl Table {
    /// Opens the files; without any there must be a schema. A file that is gone is the outer error.
    fn open(name: &str, schema: Option<SchemaRef>, paths: Vec<PathBuf>) -> io::Result<Result<Table>> {
        let files = paths
            .into_iter()
            .map(|path| Ok(TableFile { file: Arc::new(File::open(&path)?), path }))
            .collect::<io::Result<Vec<_>>>()?;
        Ok(Table::read(name, schema, files))
    }

    fn read(name: &str, mut schema: Option<SchemaRef>, files: Vec<TableFile>) -> Result<Table> {
        let mut rows = 0;
        for TableFile { file, path } in &files {
            let metadata = ArrowReaderMetadata::load(file.as_ref(), Default::default())
                .map_err(|error| wrong("read", path, &error))?;
            rows += u64::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or(0);
            schema.get_or_insert_with(|| metadata.schema().clone());
        }
        let schema = schema.unwrap_or_else(|| Arc::new(Schema::empty()));
        Ok(Table { name: name.to_owned(), rows, schema, files })
    }

    /// Its columns.
    pub fn columns(&self) -> Vec<Column> {
        let column = |field: &Arc<Field>| Column {
            name: field.name().clone(),
            kind: kind(field.data_type()),
            is_nullable: field.is_nullable(),
            meaning: field.metadata().get(DESCRIPTION).cloned().unwrap_or_default(),
        };
        self.schema.fields().iter().map(column).collect()
    }
}

/// The names that DuckDB and DataFusion both know, where there is one.
fn kind(data_type: &DataType) -> String {
    let name = match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "varchar",
        DataType::Boolean => "boolean",
        DataType::Int8 => "tinyint",
        DataType::Int16 => "smallint",
        DataType::Int32 => "integer",
        DataType::Int64 => "bigint",
        DataType::UInt8 => "tinyint unsigned",
        DataType::UInt16 => "smallint unsigned",
        DataType::UInt32 => "integer unsigned",
        DataType::UInt64 => "bigint unsigned",
        DataType::Float32 => "real",
        DataType::Float64 => "double",
        DataType::Timestamp(_, Some(_)) => "timestamp with time zone",
        DataType::Timestamp(_, None) => "timestamp",
        other => return other.to_string().to_lowercase(),
    };
    name.to_owned()
}

fn failed<T>(operation: &'static str, path: &Path, outcome: io::Result<T>) -> Result<T> {
    outcome.map_err(|error| wrong(operation, path, &error))
}

fn wrong(operation: &'static str, path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::File { operation, path: path.to_owned(), reason: error.to_string() }
}
