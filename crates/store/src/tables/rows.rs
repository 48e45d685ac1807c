//! How does a table come to be from one list of its columns?

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Field, SchemaRef};

/// Rows of a table that are not written yet.
pub trait Rows: Default {
    /// The table's name, which its files begin with.
    const NAME: &'static str;

    /// The columns.
    fn schema() -> SchemaRef;
    /// Whether there is none.
    fn is_empty(&self) -> bool;
    /// All rows; none are left.
    fn take(&mut self) -> Result<RecordBatch, ArrowError>;
}

/// A column that carries its meaning with it, into every file.
pub(super) fn described(field: Field, meaning: &str) -> Field {
    field.with_metadata(HashMap::from([(DESCRIPTION.to_owned(), meaning.trim().to_owned())]))
}

/// The key under which a column's meaning stands in the schema of a file.
pub(super) const DESCRIPTION: &str = "description";

/// Defines a table: the row that a caller gives, and the builders that gather rows, from one list of columns.
macro_rules! table {
    (
        $(#[$doc:meta])* $name:literal, $Row:ident, $Rows:ident {
            $(#[doc = $column_doc:literal] $column:ident: $Kind:ident,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $Row<'a> {
            $(#[doc = $column_doc] pub $column: <$Kind as Kind>::Value<'a>,)+
        }

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

        impl Rows for $Rows {
            const NAME: &'static str = $name;

            fn schema() -> SchemaRef {
                Arc::new(Schema::new(vec![$(described(<$Kind as Kind>::field(stringify!($column)), $column_doc),)+]))
            }

            fn is_empty(&self) -> bool {
                self.count == 0
            }

            fn take(&mut self) -> Result<RecordBatch, ArrowError> {
                self.count = 0;
                let columns = vec![$(<$Kind as Kind>::finish(&mut self.$column),)+];
                RecordBatch::try_new(Self::schema(), columns)
            }
        }
    };
}

pub(super) use table;
