//! Tables of a collection with their open files.
//!
//! The tables of the crawl are those of the newest commit, the others those of the last analysis. All files are opened
//! at once and stay open: a crawl or an analysis that runs at the same time may replace them, and the rows stay those
//! of one point in time.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use store::{
    AnchorRows, ComponentRows, DocumentRows, DomainRows, FetchRows, LinkRows, LinkedFileRows, PageRows,
    RankRows, RejectedLinkRows, Rows, SiteLogRows, SiteRows, find_snapshot, list_derived, list_tables,
};

use crate::error::{Error, Result};

/// Tables that `weir analyze` writes.
pub const ANALYSIS_TABLES: [&str; 8] =
    ["pages", "ranks", "components", "sites", "domains", "rejected_links", "linked_files", "anchors"];

/// Key of the description of a column in the schema of a file.
const DESCRIPTION_KEY: &str = "description";
/// Maximum number of attempts to open all files of a commit, because a crawl may delete it meanwhile.
const MAX_ATTEMPTS: usize = 10;

/// A table with its open files.
#[derive(Debug)]
pub struct Table {
    /// Name in queries.
    pub name: String,
    /// Number of rows.
    pub rows: u64,
    pub(crate) schema: SchemaRef,
    pub(crate) files: Vec<TableFile>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name.
    pub name: String,
    /// SQL type.
    pub kind: String,
    /// Whether it may be null.
    pub is_nullable: bool,
    /// Description.
    pub meaning: String,
}

/// A file of a table.
#[derive(Debug)]
pub(crate) struct TableFile {
    pub(crate) file: Arc<File>,
    pub(crate) path: PathBuf,
}

/// Opens the tables of a collection, sorted by name.
pub fn open_tables(collection: &Path) -> Result<Vec<Table>> {
    let mut attempt = 1;
    loop {
        match try_open(collection)? {
            Ok(mut tables) => {
                tables.sort_by(|one, other| one.name.cmp(&other.name));
                return Ok(tables);
            }
            // The commit or the analysis was deleted meanwhile; there is a newer one.
            Err(error) if error.kind() == io::ErrorKind::NotFound && attempt < MAX_ATTEMPTS => attempt += 1,
            Err(error) => return Err(file_error("open the tables of", collection, &error)),
        }
    }
}

/// All possible tables, without rows: enough to check a query.
pub fn empty_tables() -> Vec<Table> {
    fn table<R: Rows>() -> Table {
        Table { name: R::NAME.to_owned(), rows: 0, schema: R::schema(), files: Vec::new() }
    }
    vec![
        table::<AnchorRows>(),
        table::<ComponentRows>(),
        table::<DocumentRows>(),
        table::<DomainRows>(),
        table::<FetchRows>(),
        table::<LinkedFileRows>(),
        table::<LinkRows>(),
        table::<RejectedLinkRows>(),
        table::<PageRows>(),
        table::<RankRows>(),
        table::<SiteRows>(),
        table::<SiteLogRows>(),
    ]
}

/// Opens the tables once. The inner error is that of a file that could not be opened.
fn try_open(collection: &Path) -> Result<io::Result<Vec<Table>>> {
    let manifest = find_snapshot(collection, None)?;
    let crawled = list_tables(collection, &manifest).into_iter();
    let crawled = crawled.map(|table| (table.name.to_owned(), Some(table.schema), table.files));
    let known = empty_tables();
    let analysed = list_derived(collection)?.into_iter().map(|table| {
        let schema = known.iter().find(|known| known.name == table.table).map(|known| known.schema.clone());
        (table.table, schema, vec![table.path])
    });
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
    /// Counts the rows. Without a schema, the columns are those of the Parquet schema of the files; the Arrow schema that
    /// writers embed is not read, because the files may come from a stranger.
    fn read(name: String, mut schema: Option<SchemaRef>, files: Vec<TableFile>) -> Result<Table> {
        let mut rows = 0;
        for TableFile { file, path } in &files {
            let metadata = store::read_parquet_metadata(file.as_ref())
                .map_err(|error| file_error("read", path, &error))?;
            rows += u64::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or(0);
            schema.get_or_insert_with(|| metadata.schema().clone());
        }
        let schema = schema.unwrap_or_else(|| Arc::new(Schema::empty()));
        Ok(Table { name, rows, schema, files })
    }

    /// The columns.
    pub fn columns(&self) -> Vec<Column> {
        let column = |field: &Arc<Field>| Column {
            name: field.name().clone(),
            kind: kind(field.data_type()),
            is_nullable: field.is_nullable(),
            meaning: field.metadata().get(DESCRIPTION_KEY).cloned().unwrap_or_default(),
        };
        self.schema.fields().iter().map(column).collect()
    }
}

/// SQL name of a type; the Arrow name if there is none.
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

fn file_error(operation: &'static str, path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::File { operation, path: path.to_owned(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tables_have_an_empty_form() {
        let tables = empty_tables();
        let derived = ANALYSIS_TABLES.iter().filter(|name| tables.iter().any(|table| table.name == **name));
        assert_eq!((derived.count(), tables.len()), (ANALYSIS_TABLES.len(), ANALYSIS_TABLES.len() + 4));
    }
}
