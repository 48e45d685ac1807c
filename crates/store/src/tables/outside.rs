//! Where do links lead that lead to no page of the collection?

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::column::{Int64, Kind, MaybeText, Text};
use super::rows::{Rows, described, table};

table! {
    /// Links to one domain that were not followed for one reason.
    "outside", OutsideRow, OutsideRows {
        /// The registered domain; the host, where there is none.
        domain: Text,
        /// The last label of the host name.
        tld: MaybeText,
        /// Why they are not followed, as in `links`.
        reason: Text,
        /// How many there are, as of the last parse of the pages that have them.
        links: Int64,
    }
}
