//! Which tables are there, and what is in them?
//!
//! The crawl's tables are those of the newest commit, the others those of the last analysis. All files are opened at
//! once and stay open: a crawl or an analysis that goes on beside it may replace them, and the rows stay those of one
//! moment.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use store::{
    AnchorRows, ComponentRows, DocumentRows, DomainRows, FetchRows, FileRows, LinkRows, OutsideRows,
    PageRows, RankRows, Rows, SiteRankRows, SiteRows, find_snapshot, list_derived, list_tables,
};

use crate::error::{Error, Result};

/// The tables that `weir analyze` writes.
pub const ANALYSIS_TABLES: [&str; 8] =
    ["pages", "ranks", "components", "site_ranks", "domains", "outside", "files", "anchors"];

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
    let mut attempt = 1;
    loop {
        match try_to_open(folder)? {
            Ok(mut tables) => {
                tables.sort_by(|one, other| one.name.cmp(&other.name));
                return Ok(tables);
            }
            // A commit or an analysis was let go of in between; there is a newer one.
            Err(error) if error.kind() == io::ErrorKind::NotFound && attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(wrong("open the tables of", folder, &error)),
        }
    }
}

/// All tables that there may be, without rows: enough to find out whether a query can be asked.
pub fn tables_without_rows() -> Vec<Table> {
    fn table<R: Rows>() -> Table {
        Table { name: R::NAME.to_owned(), rows: 0, schema: R::schema(), files: Vec::new() }
    }
    vec![
        table::<AnchorRows>(),
        table::<ComponentRows>(),
        table::<DocumentRows>(),
        table::<DomainRows>(),
        table::<FetchRows>(),
        table::<FileRows>(),
        table::<LinkRows>(),
        table::<OutsideRows>(),
        table::<PageRows>(),
        table::<RankRows>(),
        table::<SiteRankRows>(),
        table::<SiteRows>(),
    ]
}

/// The inner error is that of a file that could not be opened.
fn try_to_open(folder: &Path) -> Result<io::Result<Vec<Table>>> {
    let manifest = find_snapshot(folder, None)?;
    let crawled = list_tables(folder, &manifest).into_iter();
    let crawled = crawled.map(|table| (table.name.to_owned(), Some(table.schema), table.files));
    let analysed = list_derived(folder)?.into_iter().map(|table| (table.table, None, vec![table.path]));
    let mut tables = Vec::new();
    for (name, schema, paths) in crawled.chain(analysed) {
        let open = |path: PathBuf| Ok(TableFile { file: Arc::new(File::open(&path)?), path });
        match paths.into_iter().map(open).collect::<io::Result<Vec<_>>>() {
            Ok(files) => tables.push(Table::read(name, schema, files)?),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(tables))
}

impl Table {
    /// Counts the rows; the columns are those of the files, where nobody says.
    fn read(name: String, mut schema: Option<SchemaRef>, files: Vec<TableFile>) -> Result<Table> {
        let mut rows = 0;
        for TableFile { file, path } in &files {
            let metadata = ArrowReaderMetadata::load(file.as_ref(), Default::default())
                .map_err(|error| wrong("read", path, &error))?;
            rows += u64::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or(0);
            schema.get_or_insert_with(|| metadata.schema().clone());
        }
        let schema = schema.unwrap_or_else(|| Arc::new(Schema::empty()));
        Ok(Table { name, rows, schema, files })
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

/// What SQL calls a type; for what it has no name, what Arrow calls it.
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

fn wrong(operation: &'static str, path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::File { operation, path: path.to_owned(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_known_without_rows() {
        let tables = tables_without_rows();
        let derived = ANALYSIS_TABLES.iter().filter(|name| tables.iter().any(|table| table.name == **name));
        assert_eq!((derived.count(), tables.len()), (ANALYSIS_TABLES.len(), ANALYSIS_TABLES.len() + 4));
    }
}
