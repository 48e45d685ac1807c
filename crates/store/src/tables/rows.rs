//! Definition of a table from one list of its columns: the row type, the builders and the reader.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Field, SchemaRef};

/// Rows of a table that are not yet written.
pub trait Rows: Default {
    /// Name of the table; prefix of its files.
    const NAME: &'static str;
    /// Row of the table.
    type Row<'a>;
    /// Columns of a batch that was read.
    type Columns;

    /// Schema of the table.
    fn schema() -> SchemaRef;
    /// Number of rows.
    fn len(&self) -> usize;
    /// Whether there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Appends a row.
    fn add(&mut self, row: &Self::Row<'_>);
    /// Removes and returns all rows.
    fn take(&mut self) -> Result<RecordBatch, ArrowError>;
    /// Columns of a batch; some may be missing.
    fn columns(batch: &RecordBatch) -> Self::Columns;
    /// Row of a batch; missing columns are empty, 0 or null.
    fn row(columns: &Self::Columns, row: usize) -> Self::Row<'_>;
}

/// Adds the description of a column to its field, and so to the schema of every file.
pub(super) fn described(field: Field, meaning: &str) -> Field {
    field.with_metadata(HashMap::from([(DESCRIPTION.to_owned(), meaning.trim().to_owned())]))
}

/// Key of the description of a column in the schema of a file.
pub(super) const DESCRIPTION: &str = "description";

/// Defines a table from one list of columns: the row type, the builders and the columns for reading.
macro_rules! table {
    (
        $(#[$doc:meta])* $name:literal, $Row:ident, $Rows:ident {
            $(#[doc = $column_doc:literal] $column:ident: $ColumnType:ident,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default)]
        pub struct $Row<'a> {
            $(#[doc = $column_doc] pub $column: <$ColumnType as ColumnType>::Value<'a>,)+
        }

        const _: () = {
            /// Columns of a batch that was read.
            pub struct Columns {
                $($column: Option<<$ColumnType as ColumnType>::Column>,)+
            }

            impl Rows for $Rows {
                const NAME: &'static str = $name;
                type Row<'a> = $Row<'a>;
                type Columns = Columns;

                fn schema() -> SchemaRef {
                    Arc::new(Schema::new(vec![
                        $(described(<$ColumnType as ColumnType>::field(stringify!($column)), $column_doc),)+
                    ]))
                }

                fn len(&self) -> usize {
                    self.count
                }

                fn add(&mut self, row: &$Row<'_>) {
                    self.push(row);
                }

                fn take(&mut self) -> Result<RecordBatch, ArrowError> {
                    self.count = 0;
                    let columns = vec![$(<$ColumnType as ColumnType>::finish(&mut self.$column),)+];
                    RecordBatch::try_new(Self::schema(), columns)
                }

                fn columns(batch: &RecordBatch) -> Columns {
                    Columns {
                        $($column: batch
                            .column_by_name(stringify!($column))
                            .and_then(|column| column.as_any().downcast_ref().cloned()),)+
                    }
                }

                fn row(columns: &Columns, row: usize) -> $Row<'_> {
                    $Row {
                        $($column: columns
                            .$column
                            .as_ref()
                            .map(|column| <$ColumnType as ColumnType>::get(column, row))
                            .unwrap_or_default(),)+
                    }
                }
            }
        };

        /// Rows that are not yet written.
        #[derive(Debug, Default)]
        pub struct $Rows {
            $($column: <$ColumnType as ColumnType>::Builder,)+
            count: usize,
        }

        impl $Rows {
            /// Appends a row.
            pub fn push(&mut self, row: &$Row<'_>) {
                $(<$ColumnType as ColumnType>::append(&mut self.$column, row.$column);)+
                self.count += 1;
            }
        }
    };
}

pub(super) use table;
