//! Which pages link to which, and with which words?

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::column::{Flag, Id, Kind, MaybeId, MaybeText, Real, Text, Time};
use super::rows::{Rows, described, table};

table! {
    /// One link of a document.
    "links", LinkRow, LinkRows {
        /// The page that has the link.
        source_page_id: Id,
        /// The page it leads to; nothing if that was refused.
        target_page_id: MaybeId,
        /// Where it leads, canonical; or as written if it is no URL.
        target_url: Text,
        /// When the source was fetched.
        fetch_time: Time,
        /// The element: `a`, `img`, `canonical`.
        kind: Text,
        /// The relation that the page states.
        rel: MaybeText,
        /// The words of the link.
        anchor: MaybeText,
        /// Whether it stays on the host.
        internal: Flag,
        /// Where in the text: 0 at the start, 1 at the end.
        position: Real,
        /// Why it is not followed: `out-of-scope`, `nofollow`; nothing if it is.
        reason: MaybeText,
    }
}
