//! What does the index tell of a page beside its words? The columns of one segment.

use std::sync::Arc;

use tantivy::columnar::{Column, ColumnValues, StrColumn};
use tantivy::{DocId, SegmentReader};

use crate::error::Result;
use crate::text_index::TextIndex;

/// Columns of a segment, open.
pub(super) struct Columns {
    pub(super) page: Arc<dyn ColumnValues<u64>>,
    pub(super) site: Arc<dyn ColumnValues<u64>>,
    pub(super) size: Arc<dyn ColumnValues<u64>>,
    pub(super) date: Column<i64>,
    pub(super) language: Option<StrColumn>,
    pub(super) mime: Option<StrColumn>,
}

impl Columns {
    pub(super) fn open(reader: &SegmentReader, index: &TextIndex) -> Result<Columns> {
        let (fields, schema, columns) = (&index.fields, reader.schema(), reader.fast_fields());
        Ok(Columns {
            page: columns.column_first_or_default(schema.get_field_name(fields.page_id))?,
            site: columns.column_first_or_default(schema.get_field_name(fields.site_id))?,
            size: columns.column_first_or_default(schema.get_field_name(fields.size))?,
            date: columns.i64(schema.get_field_name(fields.date))?,
            language: columns.str(schema.get_field_name(fields.language))?,
            mime: columns.str(schema.get_field_name(fields.mime))?,
        })
    }

    /// When the page was modified, in Unix seconds.
    pub(super) fn date_s(&self, doc: DocId) -> Option<i64> {
        self.date.first(doc)
    }

    pub(super) fn language(&self, doc: DocId) -> Result<Option<String>> {
        text(self.language.as_ref(), doc)
    }

    pub(super) fn mime(&self, doc: DocId) -> Result<String> {
        Ok(text(self.mime.as_ref(), doc)?.unwrap_or_default())
    }
}

fn text(column: Option<&StrColumn>, doc: DocId) -> Result<Option<String>> {
    let Some(column) = column else { return Ok(None) };
    let Some(number) = column.ords().first(doc) else { return Ok(None) };
    text_of(column, number)
}

/// The text that a number in a column stands for.
pub(super) fn text_of(column: &StrColumn, number: u64) -> Result<Option<String>> {
    let mut text = String::new();
    let is_there = column.ord_to_str(number, &mut text).map_err(tantivy::TantivyError::from)?;
    Ok(is_there.then_some(text))
}
