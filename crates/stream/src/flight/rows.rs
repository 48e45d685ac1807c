//! Arrow schema and record batches of the rows.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, ListBuilder, StringBuilder, StructBuilder, TimestampMillisecondBuilder, UInt16Builder,
    UInt32Builder,
};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, TimeUnit};

use crate::page_view::PageView;
use crate::query::output::OutputColumn;

/// A batch is full when it reaches one of these limits; a row is never split.
const MAX_BATCH_ROWS: usize = 4_096;
const MAX_BATCH_BYTES: usize = 1 << 20;

/// Schema with these columns, in this order.
pub(super) fn schema(columns: &[OutputColumn]) -> Schema {
    let field = |column: &OutputColumn| {
        let is_required = matches!(
            column,
            OutputColumn::Url | OutputColumn::PageId | OutputColumn::FetchTime | OutputColumn::Cursor
        );
        Field::new(column.name(), data_type(*column), !is_required)
    };
    Schema::new(columns.iter().map(field).collect::<Vec<_>>())
}

fn data_type(column: OutputColumn) -> DataType {
    match column {
        OutputColumn::PageId => DataType::UInt32,
        OutputColumn::FetchTime => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        OutputColumn::Status => DataType::UInt16,
        OutputColumn::Body => DataType::Binary,
        OutputColumn::Links => {
            DataType::List(Arc::new(Field::new("item", DataType::Struct(link_fields()), true)))
        }
        _ => DataType::Utf8,
    }
}

fn link_fields() -> Fields {
    ["url", "anchor", "kind", "rel"].map(|name| Field::new(name, DataType::Utf8, true)).to_vec().into()
}

/// Record batch under construction.
pub(super) struct RowBatch {
    columns: Vec<OutputColumn>,
    builders: Vec<ColumnBuilder>,
    rows: usize,
    bytes: usize,
}

enum ColumnBuilder {
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    UInt32(UInt32Builder),
    UInt16(UInt16Builder),
    Time(TimestampMillisecondBuilder),
    Links(ListBuilder<StructBuilder>),
}

impl RowBatch {
    pub(super) fn new(columns: &[OutputColumn]) -> RowBatch {
        let builders = columns.iter().map(|column| ColumnBuilder::new(*column)).collect();
        RowBatch { columns: columns.to_vec(), builders, rows: 0, bytes: 0 }
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows >= MAX_BATCH_ROWS || self.bytes >= MAX_BATCH_BYTES
    }

    pub(super) fn push(&mut self, page: &PageView<'_>) {
        self.rows += 1;
        for (column, builder) in self.columns.iter().zip(&mut self.builders) {
            self.bytes += builder.push(*column, page);
        }
    }

    /// Returns the batch and starts a new one.
    pub(super) fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let arrays: Vec<ArrayRef> = self.builders.iter_mut().map(ColumnBuilder::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        (self.rows, self.bytes) = (0, 0);
        RecordBatch::try_new_with_options(Arc::new(schema(&self.columns)), arrays, &options)
    }
}

impl ColumnBuilder {
    fn new(column: OutputColumn) -> ColumnBuilder {
        match column {
            OutputColumn::PageId => ColumnBuilder::UInt32(UInt32Builder::new()),
            OutputColumn::Status => ColumnBuilder::UInt16(UInt16Builder::new()),
            OutputColumn::FetchTime => {
                ColumnBuilder::Time(TimestampMillisecondBuilder::new().with_timezone("UTC"))
            }
            OutputColumn::Body => ColumnBuilder::Bytes(BinaryBuilder::new()),
            OutputColumn::Links => {
                ColumnBuilder::Links(ListBuilder::new(StructBuilder::from_fields(link_fields(), 0)))
            }
            _ => ColumnBuilder::Text(StringBuilder::new()),
        }
    }

    /// Appends the value of a page; returns its approximate size in bytes.
    fn push(&mut self, column: OutputColumn, page: &PageView<'_>) -> usize {
        match self {
            ColumnBuilder::UInt32(builder) => builder.append_value(page.page.page.0),
            ColumnBuilder::UInt16(builder) => builder.append_option(page.stored.status()),
            ColumnBuilder::Time(builder) => builder.append_value(page.stored.fetched_at_ms()),
            ColumnBuilder::Bytes(builder) => {
                let body = page.body();
                builder.append_value(&body);
                return body.len();
            }
            ColumnBuilder::Links(builder) => return push_links(builder, page),
            ColumnBuilder::Text(builder) => {
                let document = page.document;
                let owned;
                let text: Option<&str> = match column {
                    OutputColumn::Url => Some(page.stored.url()),
                    OutputColumn::MimeType => page.mime_type(),
                    OutputColumn::Language => page.language(),
                    OutputColumn::Title => document.map(|document| document.title.as_str()),
                    OutputColumn::Text => document.map(|document| document.text.as_str()),
                    OutputColumn::Simplified => document.map(|document| document.simplified_html.as_str()),
                    OutputColumn::MainText => {
                        owned = page.main_text();
                        owned.as_deref()
                    }
                    _ => {
                        owned = Some(page.cursor.to_string());
                        owned.as_deref()
                    }
                };
                builder.append_option(text);
                return text.map_or(0, str::len);
            }
        }
        size_of::<u64>()
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            ColumnBuilder::Text(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Bytes(builder) => Arc::new(builder.finish()),
            ColumnBuilder::UInt32(builder) => Arc::new(builder.finish()),
            ColumnBuilder::UInt16(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Time(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Links(builder) => Arc::new(builder.finish()),
        }
    }
}

fn push_links(builder: &mut ListBuilder<StructBuilder>, page: &PageView<'_>) -> usize {
    let mut bytes = 0;
    for link in page.links() {
        let parts = [link.url.as_str(), &link.anchor, link.kind, &link.rel];
        for (index, part) in parts.into_iter().enumerate() {
            if let Some(texts) = builder.values().field_builder::<StringBuilder>(index) {
                texts.append_value(part);
            }
            bytes += part.len();
        }
        builder.values().append(true);
    }
    builder.append(true);
    bytes
}
