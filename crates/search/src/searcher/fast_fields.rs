//! Fast fields (columns) of a segment.

use std::sync::Arc;

use tantivy::columnar::{Column, ColumnValues, StrColumn};
use tantivy::{DocId, SegmentReader};

use crate::error::Result;
use crate::index::text_index::TextIndex;

/// Open fast fields of a segment.
pub(super) struct FastFields {
    pub(super) page: Arc<dyn ColumnValues<u64>>,
    pub(super) site: Arc<dyn ColumnValues<u64>>,
    pub(super) size: Arc<dyn ColumnValues<u64>>,
    pub(super) date: Column<i64>,
    pub(super) language: Option<StrColumn>,
    pub(super) mime_type: Option<StrColumn>,
}

impl FastFields {
    pub(super) fn open(reader: &SegmentReader, index: &TextIndex) -> Result<FastFields> {
        let (fields, schema, columns) = (&index.fields, reader.schema(), reader.fast_fields());
        Ok(FastFields {
            page: columns.column_first_or_default(schema.get_field_name(fields.page_id))?,
            site: columns.column_first_or_default(schema.get_field_name(fields.site_id))?,
            size: columns.column_first_or_default(schema.get_field_name(fields.size))?,
            date: columns.i64(schema.get_field_name(fields.date))?,
            language: columns.str(schema.get_field_name(fields.language))?,
            mime_type: columns.str(schema.get_field_name(fields.mime_type))?,
        })
    }

    /// Date of the page, in Unix seconds.
    pub(super) fn date_s(&self, doc: DocId) -> Option<i64> {
        self.date.first(doc)
    }

    pub(super) fn language(&self, doc: DocId) -> Result<Option<String>> {
        text(self.language.as_ref(), doc)
    }

    pub(super) fn mime_type(&self, doc: DocId) -> Result<String> {
        Ok(text(self.mime_type.as_ref(), doc)?.unwrap_or_default())
    }
}

fn text(column: Option<&StrColumn>, doc: DocId) -> Result<Option<String>> {
    let Some(column) = column else { return Ok(None) };
    let Some(number) = column.ords().first(doc) else { return Ok(None) };
    ordinal_text(column, number)
}

/// Text of a term ordinal.
pub(super) fn ordinal_text(column: &StrColumn, number: u64) -> Result<Option<String>> {
    let mut text = String::new();
    let is_there = column.ord_to_str(number, &mut text).map_err(tantivy::TantivyError::from)?;
    Ok(is_there.then_some(text))
}
