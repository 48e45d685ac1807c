//! How does a table come to be from one list of its columns?

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Field, SchemaRef};

/// Rows of a table that are not written yet.
pub trait Rows: Default {
    /// The table's name, which its files begin with.
    const NAME: &'static str;
    /// One row.
    type Row<'a>;
    /// The columns of rows that are read.
    type Columns;

    /// The columns.
    fn schema() -> SchemaRef;
    /// How many there are.
    fn len(&self) -> usize;
    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Adds one.
    fn add(&mut self, row: &Self::Row<'_>);
    /// All rows; none are left.
    fn take(&mut self) -> Result<RecordBatch, ArrowError>;
    /// The columns of a batch; some may be missing.
    fn columns(batch: &RecordBatch) -> Self::Columns;
    /// A row of them; what is missing is empty, 0 or nothing.
    fn row(columns: &Self::Columns, row: usize) -> Self::Row<'_>;
}

/// A column that carries its meaning with it, into every file.
pub(super) fn described(field: Field, meaning: &str) -> Field {
    field.with_metadata(HashMap::from([(DESCRIPTION.to_owned(), meaning.trim().to_owned())]))
}

/// The key under which a column's meaning stands in the schema of a file.
pub(super) const DESCRIPTION: &str = "description";

/// Defines a table: the row that a caller gives and gets, the builders that gather rows and the columns that are read, from
/// one list.
macro_rules! table {
    (
        $(#[$doc:meta])* $name:literal, $Row:ident, $Rows:ident {
            $(#[doc = $column_doc:literal] $column:ident: $Kind:ident,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default)]
        pub struct $Row<'a> {
            $(#[doc = $column_doc] pub $column: <$Kind as Kind>::Value<'a>,)+
        }

        const _: () = {
            /// Columns that are read.
            pub struct Columns {
                $($column: Option<<$Kind as Kind>::Column>,)+
            }

            impl Rows for $Rows {
                const NAME: &'static str = $name;
                type Row<'a> = $Row<'a>;
                type Columns = Columns;

                fn schema() -> SchemaRef {
                    Arc::new(Schema::new(vec![
                        $(described(<$Kind as Kind>::field(stringify!($column)), $column_doc),)+
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
                    let columns = vec![$(<$Kind as Kind>::finish(&mut self.$column),)+];
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
                            .map(|column| <$Kind as Kind>::get(column, row))
                            .unwrap_or_default(),)+
                    }
                }
            }
        };

        /// Rows that are not written yet.
        #[derive(Debug, Default)]
        pub struct $Rows {
            $($column: <$Kind as Kind>::Builder,)+
            count: usize,
        }

        impl $Rows {
            /// Adds a row.
            pub fn push(&mut self, row: &$Row<'_>) {
                $(<$Kind as Kind>::append(&mut self.$column, row.$column);)+
                self.count += 1;
            }
        }
    };
}

pub(super) use table;
